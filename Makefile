# make run, make test: the two commands most people need. make help lists all.

GO      ?= go
OUT     ?= out
BACKEND ?= native
TAGS    ?=
CASES   ?= all
FLAGS   ?=
TIME    ?= 1m
LONG    ?= no
TARGETS ?= .

.DEFAULT_GOAL := help
.PHONY: help build run test fuzz check bench profile pictures capi python release clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  OUT=$(OUT)  results go here      BACKEND=$(BACKEND)  or openblas, gonum (TAGS=openblas for the first)"

build: ## compile the commands into ./bin
	$(GO) build -tags '$(TAGS)' -o bin/ ./cmd/...

run: ## learn handwritten digits: JSON and pictures in ./out
	@mkdir -p $(OUT)
	$(GO) run -tags '$(TAGS)' ./cmd/mklbench run digits --backend $(BACKEND) --out $(OUT)/digits.json --plots $(OUT)

test: ## run the tests on this machine (LONG=yes: every test it can run, as CI does)
	@GO='$(GO)' LONG='$(LONG)' ./scripts/test

fuzz: ## feed random input to every reader and kernel (TIME=1m for each, TARGETS=regexp)
	@GO='$(GO)' TIME='$(TIME)' TARGETS='$(TARGETS)' ./scripts/fuzz

check: ## format, vet, static analysis, cross-compilation, layout, go.mod
	@GO='$(GO)' ./scripts/check

bench: ## measure the machine and the cases (CASES=..., FLAGS=--quick or --resume): ./out/report.html
	@mkdir -p $(OUT)
	$(GO) run -tags '$(TAGS)' ./cmd/mklbench run $(CASES) $(FLAGS) --backend $(BACKEND) --out $(OUT)/bench.json --plots $(OUT)
	$(GO) run -tags '$(TAGS)' ./cmd/mklbench report $(OUT)/bench.json --out $(OUT)/report.html

profile: ## CPU profile of the digits case in ./out: the top functions, by phase
	@mkdir -p $(OUT)
	$(GO) run -tags '$(TAGS)' ./cmd/mklbench run digits --backend $(BACKEND) --cpuprofile $(OUT)/cpu.pprof --out $(OUT)/profiled.json
	$(GO) tool pprof -top -nodecount 25 $(OUT)/cpu.pprof
	@echo "flame graph, its first row the phases: $(GO) tool pprof -tagroot phase -http localhost:8080 $(OUT)/cpu.pprof"

pictures: ## measure gemm and operator beside OpenBLAS; draw docs/pictures/roofline.png anew
	@mkdir -p $(OUT)
	$(GO) run -tags openblas ./cmd/mklbench run gemm operator --out $(OUT)/pictures.json --plots $(OUT)
	cp $(OUT)/roofline.png docs/pictures/

capi: ## the C library and its header in ./out
	@mkdir -p $(OUT)
	CGO_ENABLED=1 $(GO) build -trimpath -ldflags '-s -w' -tags '$(TAGS)' -buildmode=c-shared -o $(OUT)/libiokl.so ./capi
	cp capi/iokl.h $(OUT)/iokl.h && rm -f $(OUT)/libiokl.h

python: ## a Python wheel in ./out
	@GO='$(GO)' TAGS='$(TAGS)' ./scripts/wheel '$(OUT)'

release: ## archives of both commands for each platform, Debian packages, checksums: ./out/release
	@GO='$(GO)' OUT='$(OUT)' ./scripts/release

clean: ## remove ./bin and ./out
	rm -rf bin $(OUT)
