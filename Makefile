# make help lists what there is.

GO ?= go

.DEFAULT_GOAL := help
.PHONY: help test check

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: ## run every test this machine can run
	@GO='$(GO)' ./scripts/test

check: ## format, vet, static analysis, cross-compilation, layout, go.mod
	@GO='$(GO)' ./scripts/check
