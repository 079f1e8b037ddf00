package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ggmlc/ggmlc/runtime/sample"
)

// Errors that a service can test with errors.Is. A step that fails leaves the session as it was before the step, so
// that the caller may continue or repeat it.
var (
	// ErrContextFull means that a step would pass the context bound. The error is a
	// *ContextError.
	ErrContextFull = errors.New("the context is full")

	// ErrCancelled means that the caller's context ended before or during a step. The error also matches
	// context.Canceled or context.DeadlineExceeded, according to the cause.
	ErrCancelled = errors.New("cancelled")

	// ErrClosed means that the model was closed.
	ErrClosed = errors.New("the model is closed")

	// ErrBusy means that a session was used from two goroutines at once. One session is
	// one conversation; open another one with NewSession.
	ErrBusy = errors.New("the session is in use by another goroutine")

	// ErrWeights means that weights are missing, cut or not the ones that the program was compiled with. The error is a
	// *WeightsError.
	ErrWeights = errors.New("wrong weights")

	// ErrInput means that an argument (a token id, a shape, a size) is outside of what
	// the program was compiled for.
	ErrInput = errors.New("bad input")

	// ErrFault means that a step was abandoned because a worker failed: a page of the weights file is gone, or there
	// is a bug. The error is a *FaultError.
	ErrFault = errors.New("the step was given up")

	// ErrSaved means that a saved sequence is damaged or of another program. The error is a *SavedError.
	ErrSaved = errors.New("wrong saved sequence")

	// ErrNumerics means that a step produced NaN where a number is needed.
	ErrNumerics = sample.ErrNumerics
)

// ContextError reports by how much a context is too small.
type ContextError struct {
	Used, Wanted, Limit int // positions taken, asked for in addition, and the bound
}

func (e *ContextError) Error() string {
	return fmt.Sprintf("the context is full: %d positions are taken and %d more wanted, the program was compiled for %d: "+
		"shorten the prompt, begin a new session, or compile with a larger --ctx", e.Used, e.Wanted, e.Limit)
}

// Is makes errors.Is(err, ErrContextFull) true.
func (e *ContextError) Is(target error) bool { return target == ErrContextFull }

// TextLengthError reports that a text is too short for its perplexity.
type TextLengthError struct {
	Tokens, Wanted int
	Chunk          int
}

func (e *TextLengthError) Error() string {
	return fmt.Sprintf("the text has %d tokens, and two chunks of %d need %d: give a longer text, or use shorter chunks", e.Tokens, e.Chunk, e.Wanted)
}

// CancelError is the error of a step whose context ended.
type CancelError struct {
	Cause error // context.Cause of the context
	err   error // its Err
}

func cancelled(ctx context.Context) error {
	return &CancelError{Cause: context.Cause(ctx), err: ctx.Err()}
}

func (e *CancelError) Error() string { return "cancelled: " + e.Cause.Error() }

// Is makes errors.Is true for ErrCancelled and for the context's own error.
func (e *CancelError) Is(target error) bool { return target == ErrCancelled || target == e.err }

// Unwrap returns the cause.
func (e *CancelError) Unwrap() error { return e.Cause }

// WeightsError reports what is wrong with the weights of a program.
type WeightsError struct {
	File string // "" when the executable could not be found
	Why  string // what is wrong and what to do
	Err  error  // the system's error, or nil
}

func (e *WeightsError) Error() string {
	s := "weights"
	if e.File != "" {
		s = e.File
	}
	if e.Err != nil {
		return s + ": " + e.Err.Error() + ": " + e.Why
	}
	return s + ": " + e.Why
}

// Is makes errors.Is(err, ErrWeights) true.
func (e *WeightsError) Is(target error) bool { return target == ErrWeights }

// Unwrap returns the system's error.
func (e *WeightsError) Unwrap() error { return e.Err }

// DeviceError reports that a device of a program cannot be opened, or lacks what the program needs.
type DeviceError struct{ Err error }

func (e *DeviceError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *DeviceError) Unwrap() error { return e.Err }

// FaultError reports why the workers abandoned a step.
type FaultError struct {
	Func    string // the function that was running
	Part    int    // the worker that failed first
	Addr    uintptr
	Weights string // the weights file, if Addr is in its mapping
	Value   any    // the value of the worker's panic

	// For a device's failure: the backend and the failed command, named as in plans. The model returns this error
	// from now on and has to be opened again.
	Device, Command string
}

func (e *FaultError) Error() string {
	if e.Weights != "" {
		return fmt.Sprintf("%s: a page of the weights could not be read while %q ran: "+
			"the file was cut or its disk failed: restore it and start again", e.Weights, cmp.Or(e.Func, e.Command))
	}
	if e.Surroundings() {
		return fmt.Sprintf("%s failed on %s: %v", e.Command, e.Device, e.Value)
	}
	if e.Device != "" {
		return fmt.Sprintf("%s failed on %s: %v: this is a bug of ggmlc, please report it", e.Command, e.Device, e.Value)
	}
	return fmt.Sprintf("%q failed in worker %d: %v: this is a bug of ggmlc, please report it", e.Func, e.Part, e.Value)
}

// Surroundings reports whether the reason is not in the program: the weights file, a device or its driver. A device
// reports that by a method of that name of Value.
func (e *FaultError) Surroundings() bool {
	s, ok := e.Value.(interface{ Surroundings() bool })
	return e.Weights != "" || ok && s.Surroundings()
}

// Is makes errors.Is(err, ErrFault) true.
func (e *FaultError) Is(target error) bool { return target == ErrFault }

// inputError wraps ErrInput with what is wrong.
func inputError(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInput, fmt.Errorf(format, args...))
}
