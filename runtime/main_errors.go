package runtime

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/ggmlc/ggmlc/runtime/printable"
)

// errorKind is a class of errors with the code that --json prints and the exit status.
type errorKind struct {
	code   string
	status int
	is     func(error) bool
}

// errorKinds is searched in order. The first kind that matches determines code and status.
var errorKinds = []errorKind{
	{"usage", exitUsage, isError[usageError]},
	{"input", exitUsage, isErr(ErrInput)},
	{"internal", exitBug, func(err error) bool {
		var fault *FaultError
		return errors.As(err, &fault) && !fault.Surroundings()
	}},
	{"fault", exitFailed, isErr(ErrFault)},
	{"interrupted", exitFailed, isErr(ErrCancelled)},
	{"context-full", exitFailed, isErr(ErrContextFull)},
	{"weights", exitFailed, isErr(ErrWeights)},
	{"saved", exitFailed, isErr(ErrSaved)},
	{"numerics", exitFailed, isErr(ErrNumerics)},
	{"device", exitFailed, isError[*DeviceError]},
	{"file", exitFailed, isError[*fs.PathError]},
	{"file", exitFailed, isError[syscall.Errno]},
	{"failed", exitFailed, func(error) bool { return true }},
}

// isErr returns a function that reports whether want is in the chain of an error.
func isErr(want error) func(error) bool {
	return func(err error) bool { return errors.Is(err, want) }
}

// isError reports whether an error of type E is in the chain of err.
func isError[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func kindOf(err error) *errorKind {
	i := slices.IndexFunc(errorKinds, func(k errorKind) bool { return k.is(err) })
	return &errorKinds[i] // the last kind takes every error
}

// exit prints an error and returns the status for it.
func (c *cli) exit(err error) int {
	if err == nil {
		return exitDone
	}
	c.report(err)
	return kindOf(err).status
}

// report prints an error: lines, or with --json an object on a line for each part of a joined one.
func (c *cli) report(err error) {
	if parts, ok := err.(interface{ Unwrap() []error }); ok && err.Error() == errors.Join(parts.Unwrap()...).Error() {
		for _, part := range parts.Unwrap() {
			c.report(part)
		}
		return
	}
	text := printable.Text(err.Error()) // it may contain arbitrary names and paths
	if c.json {
		c.object("", kindOf(err).code, text)
		return
	}
	fmt.Fprintf(c.err, "%s: %s\n", c.name, strings.ReplaceAll(text, "\n", "\n"+c.name+": "))
}

// panicked prints the value of a panic, which is a bug.
func (c *cli) panicked(v any, stack []byte) {
	text := fmt.Sprintf("internal error: %s: please report it with this text\n%s", printable.Text(fmt.Sprint(v)), stack)
	if c.json {
		c.object("", "internal", text)
		return
	}
	fmt.Fprintf(c.err, "%s: %s", c.name, text)
}

// note prints what the user should know: a line, or with --json an object.
func (c *cli) note(code, format string, args ...any) {
	text := printable.Text(fmt.Sprintf(format, args...))
	if c.json {
		c.object("note", code, text)
		return
	}
	fmt.Fprintf(c.err, "%s: %s\n", c.name, text)
}

// object prints a fault or note in the form of ggmlc's.
func (c *cli) object(level, code, message string) {
	b := []byte{'{'}
	if level != "" {
		b = append(appendJSONString(append(b, `"level":`...), level), ',')
	}
	b = appendJSONString(append(b, `"code":`...), code)
	b = appendJSONString(append(b, `,"message":`...), message)
	c.err.Write(append(b, '}', '\n'))
}

// wantsJSON reports whether --json is among arguments that could not be parsed.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "-json")
}
