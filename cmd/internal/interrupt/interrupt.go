// Package interrupt handles SIGINT and SIGTERM for the commands. The first signal
// cancels the context of the work, which then saves what it has. The second signal
// ends the process.
package interrupt

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/iokl/iokl/internal/files/atomicfile"
)

// Main runs the work of the command called name, with a context that the first
// signal cancels, and ends the process with the status that it returns. Work that
// goes on for longer than patience after that is said to be ending. The second
// signal ends it at once with status 1 and one line on standard error; files that
// are being written are then left as they were before.
func Main(name string, work func(ctx context.Context) (status int)) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-signals
		cancel()
		time.AfterFunc(patience, func() {
			fmt.Fprintf(os.Stderr,
				"%s: ending after a step that cannot be interrupted; a second signal ends it at once\n", name)
		})
		end(name, <-signals)
	}()
	os.Exit(work(ctx))
}

// patience is the time after the first signal in which most work has ended.
const patience = 2 * time.Second

// messageTime bounds the time in which the line of the second signal is written, to
// a pipe that nobody reads for example.
const messageTime = 100 * time.Millisecond

func end(name string, s os.Signal) {
	said := make(chan struct{})
	go func() {
		defer close(said)
		atomicfile.Abandon()
		fmt.Fprintf(os.Stderr, "%s: ended at once by a second signal (%v)\n", name, s)
	}()
	select {
	case <-said:
	case <-time.After(messageTime):
	}
	os.Exit(1)
}

// Do returns what f does, or ctx's error as soon as ctx ends, whatever f waits for.
// It is for work that has nothing to save and cannot look at ctx itself, such as
// reading from a pipe. f is then left running until the process ends, so it shares
// nothing with its caller but what it returns. A panic in f is raised in the caller.
func Do[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type outcome struct {
		value    T
		err      error
		panicked any
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			o.panicked = recover()
			done <- o
		}()
		o.value, o.err = f()
	}()
	select {
	case o := <-done:
		if o.panicked != nil {
			panic(o.panicked)
		}
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
