package gguf

import (
	"errors"
	"fmt"

	"github.com/ggmlc/ggmlc/runtime/printable"
)

// Error is a fault of a file: its place, what is wrong and what to do.
type Error struct {
	File   string // as given to Open or Read
	Noun   string // what is wrong, such as `tensor "x"`; empty for the file itself
	Offset int64  // of the noun in the file
	Err    error
}

// Error formats the fault as `model.gguf: tensor "x" (at 0x1a2b40): what is wrong: what to do`. A text that is too
// long loses its middle.
func (e *Error) Error() string {
	text := printable.Cut(e.Err.Error(), maxErrorBytes)
	if e.Noun == "" {
		return fmt.Sprintf("%s: %s", e.File, text)
	}
	return fmt.Sprintf("%s: %s (at 0x%x): %s", e.File, e.Noun, e.Offset, text)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrMissing is the cause of the error for a key or tensor that is not in the file.
var ErrMissing = errors.New("missing")

// errChanged means that a read within the file's recorded size came back short.
var errChanged = errors.New("the file became shorter while it was read: leave it alone until the command is done")

// Limits of a report. The twentieth fault tells a user nothing new, and a bad file could have a million, with names
// of 64 KiB.
const (
	maxErrors     = 10   // of one file
	maxReport     = 3800 // bytes of all of them; a line with the count of the rest may follow
	maxErrorBytes = 1000 // of one, without the file's name
)

// maxName is the most bytes of a name or text that an error shows.
const maxName = 200

// Quote quotes a name or text from a file for an error message. Long ones are cut.
func Quote(s string) string { return printable.Quote(s, maxName) }

// Faults collects the faults of a file: the first ones, and the number of all others. The zero value is empty.
type Faults struct {
	errs  []error
	bytes int // of their texts
	more  int
}

// Add keeps err, unless it is nil, or only counts it if there are enough already.
func (f *Faults) Add(err error) {
	if err == nil {
		return
	}
	if f.more > 0 || len(f.errs) == maxErrors {
		f.more++
		return
	}
	n := len(err.Error()) + 1
	if len(f.errs) > 0 && f.bytes+n > maxReport {
		f.more++
		return
	}
	f.errs, f.bytes = append(f.errs, err), f.bytes+n
}

// Any reports whether there are faults.
func (f *Faults) Any() bool { return len(f.errs) > 0 }

// Err returns all faults as one error, or nil if there are none. rest makes the error for the faults that were not
// kept, from a text such as "and 7 more errors".
func (f *Faults) Err(rest func(text string) error) error {
	if f.more > 0 {
		return errors.Join(append(f.errs, rest(fmt.Sprintf("and %d more errors", f.more)))...)
	}
	return errors.Join(f.errs...)
}

// FileError makes an error about the file as a whole.
func (f *File) FileError(text string) error { return f.fault("", 0, errors.New(text)) }

// changed returns the error for a failed second read of something that was read before.
func changed(err error) error {
	if err == nil || errors.Is(err, errChanged) {
		return errChanged
	}
	return fmt.Errorf("%w (%w)", errChanged, err)
}
