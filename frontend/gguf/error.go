package gguf

import (
	"errors"
	"fmt"
)

// Error is a fault of a file: where it is, what is wrong and what to do about it.
type Error struct {
	File   string // as given to Open or Read
	Noun   string // what is wrong, such as `tensor "x"`; empty for the file itself
	Offset int64  // of the noun in the file
	Err    error
}

// Error formats as `model.gguf: tensor "x" (at 0x1a2b40): what is wrong: what to do`.
func (e *Error) Error() string {
	if e.Noun == "" {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s: %s (at 0x%x): %v", e.File, e.Noun, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrMissing is the cause of the error for a key or tensor that the file lacks.
var ErrMissing = errors.New("missing")

// errChanged says that a read which was checked against the file's size came back short.
var errChanged = errors.New("the file became shorter while it was read: leave it alone until the command is done")

// maxErrors bounds how many faults of one file are listed: a reader of the list learns
// nothing from the twentieth, and a bad file could have a million.
const maxErrors = 10

// faults collects errors about one file.
type faults struct {
	errs []error
	more int
}

// add keeps err, or counts it when there are enough already.
func (f *faults) add(err error) {
	if len(f.errs) == maxErrors {
		f.more++
		return
	}
	f.errs = append(f.errs, err)
}

// join returns all errors as one, nil if there are none.
func (f *faults) join() error {
	if f.more > 0 {
		return errors.Join(append(f.errs, fmt.Errorf("and %d more errors", f.more))...)
	}
	return errors.Join(f.errs...)
}
