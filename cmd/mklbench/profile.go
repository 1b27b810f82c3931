// This file writes profiles and traces of a run.

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof" // serves --pprof
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"

	"github.com/spf13/pflag"
)

// profiles are the flags that watch a run from inside.
type profiles struct{ cpu, mem, trace, addr string }

func (p *profiles) add(fl *pflag.FlagSet) {
	fl.StringVar(&p.cpu, "cpuprofile", "", "")
	fl.StringVar(&p.mem, "memprofile", "", "")
	fl.StringVar(&p.trace, "trace", "", "")
	fl.StringVar(&p.addr, "pprof", "", "")
}

// start begins what was asked for; the function it returns ends it.
func (p *profiles) start(log io.Writer) (stop func() error, err error) {
	var ends []func() error
	stop = func() error {
		var errs []error
		for i := len(ends) - 1; i >= 0; i-- {
			errs = append(errs, ends[i]())
		}
		return errors.Join(errs...)
	}
	begin := func(name string, start func(w io.Writer) error, end func(w io.Writer) error) error {
		if name == "" {
			return nil
		}
		w, err := os.Create(name)
		if err != nil {
			return err
		}
		if err := start(w); err != nil {
			return errors.Join(err, w.Close())
		}
		ends = append(ends, func() error { return errors.Join(end(w), w.Close()) })
		return nil
	}
	nothing := func(io.Writer) error { return nil }
	err = errors.Join(
		p.serve(log),
		begin(p.mem, nothing, func(w io.Writer) error {
			runtime.GC()
			return pprof.Lookup("allocs").WriteTo(w, 0)
		}),
		begin(p.trace, trace.Start, func(io.Writer) error { trace.Stop(); return nil }),
		begin(p.cpu, pprof.StartCPUProfile, func(io.Writer) error { pprof.StopCPUProfile(); return nil }),
	)
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

func (p *profiles) serve(log io.Writer) error {
	if p.addr == "" {
		return nil
	}
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(log, "profiles at http://%s/debug/pprof/\n", l.Addr())
	go func() { _ = http.Serve(l, nil) }() // until the program ends
	return nil
}
