package phase

import (
	"bytes"
	"context"
	"runtime/pprof"
	"runtime/trace"
	"testing"
)

// TestDo looks for the label inside, in what was started there, and after.
func TestDo(t *testing.T) {
	label := func(ctx context.Context) string { s, _ := pprof.Label(ctx, "phase"); return s }
	ctx := context.Background()
	var inner, outer string
	Do(ctx, FormK, func(ctx context.Context) {
		Do(ctx, CSolve, func(ctx context.Context) { inner = label(ctx) })
		outer = label(ctx)
	})
	if inner != CSolve || outer != FormK || label(ctx) != "" {
		t.Errorf("inside %q, around %q, after %q", inner, outer, label(ctx))
	}
}

// TestGoroutines checks that the label reaches goroutines started inside, whose
// stacks the goroutine profile shows with their labels.
func TestGoroutines(t *testing.T) {
	var buf bytes.Buffer
	Do(context.Background(), LStep, func(context.Context) {
		started, end := make(chan struct{}), make(chan struct{})
		go func() {
			close(started)
			<-end
		}()
		<-started
		if err := pprof.Lookup("goroutine").WriteTo(&buf, 1); err != nil {
			t.Error(err)
		}
		close(end)
	})
	if n := bytes.Count(buf.Bytes(), []byte(`"phase":"l-step"`)); n < 2 {
		t.Errorf("%d stacks have the label, want that of the phase and of its goroutine:\n%s", n, buf.String())
	}
}

// TestTrace checks that an execution trace names the phase.
func TestTrace(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the tests themselves are being traced")
	}
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	Do(context.Background(), Certificate, func(context.Context) {})
	trace.Stop()
	if !bytes.Contains(buf.Bytes(), []byte(Certificate)) {
		t.Error("the trace has no region of the name")
	}
}

// TestApart checks that the caller keeps its own labels and sees a panic of f.
func TestApart(t *testing.T) {
	var inside, after bytes.Buffer
	show := func(buf *bytes.Buffer) {
		if err := pprof.Lookup("goroutine").WriteTo(buf, 1); err != nil {
			t.Error(err)
		}
	}
	Do(context.Background(), FormK, func(context.Context) {
		Apart(Predict, func() { show(&inside) })
		show(&after)
	})
	if !bytes.Contains(inside.Bytes(), []byte(`"phase":"predict"`)) ||
		!bytes.Contains(after.Bytes(), []byte(`"phase":"form-k"`)) {
		t.Errorf("inside:\n%s\nafter:\n%s", inside.String(), after.String())
	}
	defer func() {
		if got := recover(); got != "broken" {
			t.Errorf("recovered %v", got)
		}
	}()
	Apart(Predict, func() { panic("broken") })
}
