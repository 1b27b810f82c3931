package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/iokl/iokl/internal/base/soak"
)

var soakFor = flag.Duration("soak", 3*time.Second, "time for which TestSoak runs commands")

// soakLines are command lines over the files of writeData, in the order in which one reads what another wrote.
var soakLines = []string{
	"fit --x x.csv --y y.csv --kernel gaussian:all:1,2 --lambda 1e-2 --tol 1e-3 --interval-folds 3 --out m.iokl --json",
	"predict --model m.iokl --x x.csv --interval 0.9 --out p.csv",
	"predict --model m.iokl --x x.csv --std --out p.npy",
	"fit --stream --x x.csv --y y.csv --kernel rff:gaussian:all:1:40 --lambda 1e-2 --checkpoint sums " +
		"--checkpoint-rows 100 --json",
	"cv --x x.csv --y y.csv --kernel linear:all --lambdas 1e-1,1e-2 --folds 3 --json --report cv.html",
	"granger --series s.csv --lag 1 --lambda 0.1 --null 2 --out g.json --json",
	"info m.iokl --json",
	"report m.iokl g.json --out r.html",
	"fit --x x.csv --y absent.csv",
	"predict --model x.csv --x x.csv",
	"fit --x x.csv --y y.csv --kernel gaussian:all:1,2 --lambda 1e-2 --memory 1KB",
}

// A process that runs commands for hours, some of them cancelled, holds no more at the end than after its first minute.
func TestSoak(t *testing.T) {
	dir := t.TempDir()
	writeData(t, dir)
	t.Chdir(dir)
	soak.Run(t, *soakFor, func(seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		line := soakLines[int(seed)%len(soakLines)]
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if seed > uint64(len(soakLines)) && rng.IntN(4) == 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(int(100*time.Millisecond))))
			defer cancel()
		}
		var said bytes.Buffer
		status := run(ctx, strings.Fields(line), strings.NewReader(""), io.Discard, &said)
		if bad := int(seed)%len(soakLines) >= 8; ctx.Err() == nil && (status == exitOK) == bad ||
			strings.Contains(said.String(), "internal error") {
			t.Errorf("%s: status %d: %s", line, status, said.String())
		}
	})
}
