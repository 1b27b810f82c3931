package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/cg"
	"github.com/iokl/iokl/frankwolfe"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/sylvester"
)

// Status is how a call ended. The numbers are part of the C interface.
type Status int32

// The codes of Status, in the order of the header capi/iokl.h.
const (
	OK           Status = iota
	BadInput            // data, options or an argument make no sense
	NoMemory            // the matrices needed exceed the memory limit
	NotConverged        // the tolerance was not reached; there is a result
	Cancelled           // cancelled; there may be a result
	BadModel            // no model, a damaged one, or one of a newer version
	FileError           // a file could not be read or written
	NoSuchHandle        // never given out, freed, or of another kind
	SmallBuffer         // the buffer is too small
	Running             // the work has not ended
	Failed              // anything else
)

var (
	// ErrHandle says that a number stands for no object of the kind asked for.
	ErrHandle = errors.New("no such handle")
	// ErrRunning says that the work has not ended.
	ErrRunning = errors.New("still running")
	// ErrBuffer says that the caller's buffer is too small.
	ErrBuffer = errors.New("the buffer is too small")
)

// kinds says which errors have which status; the first that fits counts.
var kinds = []struct {
	status Status
	errs   []error
}{
	{NoSuchHandle, []error{ErrHandle}},
	{Running, []error{ErrRunning}},
	{SmallBuffer, []error{ErrBuffer}},
	{Cancelled, []error{context.Canceled}},
	{NoMemory, []error{iokl.ErrMemory}},
	{BadModel, []error{iokl.ErrModel}},
	{NotConverged, []error{iokl.ErrNotConverged}},
	{BadInput, []error{
		iokl.ErrInput, granger.ErrGap, granger.ErrConstant, granger.ErrShort, granger.ErrUnknown, granger.ErrDuplicate,
		granger.ErrOption, granger.ErrTime, sylvester.ErrNotFinite, sylvester.ErrNotSPD, sylvester.ErrSingular,
		cg.ErrNotFinite, cg.ErrNotSPD, lanczos.ErrNotFinite, frankwolfe.ErrNotFinite,
	}},
}

// StatusOf is the status that stands for err.
func StatusOf(err error) Status {
	if err == nil {
		return OK
	}
	for _, k := range kinds {
		for _, e := range k.errs {
			if errors.Is(err, e) {
				return k.status
			}
		}
	}
	if file := (*fs.PathError)(nil); errors.As(err, &file) {
		return FileError
	}
	return Failed
}

// Input is an error of status BadInput.
func Input(format string, args ...any) error {
	return fmt.Errorf("%w: %s", iokl.ErrInput, fmt.Sprintf(format, args...))
}

// Guard runs f and turns a panic into an error: none may reach a caller that is not written in Go.
func Guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	return f()
}
