package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/mem"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// Exit statuses; see DESIGN.md, "Command line".
const (
	exitModel  = 1 // the model, the source or the surroundings are wrong, or --check differs
	exitUsage  = 2 // flags, pins, target files
	exitBudget = 3 // a budget is not met
	exitBug    = 4 // a bug of ours
)

// diagnostic is one fault or note as --json prints it.
type diagnostic struct {
	Level   string `json:"level,omitempty"` // note; empty for what makes the command fail
	Code    string `json:"code"`            // stable; see kinds
	Message string `json:"message"`
	File    string `json:"file,omitempty"` // where it is known
	Noun    string `json:"noun,omitempty"` // the key, tensor or node that is wrong
}

// kind is a class of errors: its stable code and the exit status that goes with it.
type kind struct {
	code   string
	status int
	is     func(error) bool
}

// unknown is the code of errors that have no class of their own.
const unknown = "failed"

// kinds are looked through in order; the first that fits says code and status.
var kinds = []kind{
	{"usage", exitUsage, isA[usageError]},
	{"usage", exitUsage, isA[*driver.OptionError]},
	{"usage", exitUsage, isA[*arch.OptionError]},
	{"rules", exitUsage, isA[*pass.RulesError]},
	{"internal", exitBug, isA[*pass.InternalError]},
	{"memory", exitBudget, isA[*pass.BudgetError]},
	{"memory", exitBudget, isA[*mem.CapacityError]},
	{"denied", exitBudget, isA[*driver.DeniedError]},
	{"stale", exitModel, isA[*staleError]},
	{"interrupted", exitModel, func(err error) bool { return errors.Is(err, context.Canceled) }},
	{"disk-full", exitModel, func(err error) bool { return errors.Is(err, syscall.ENOSPC) }},
	{"go-build", exitModel, isA[*codegen.BuildError]},
	{"missing", exitModel, func(err error) bool { return errors.Is(err, gguf.ErrMissing) }},
	{"model", exitModel, isA[*gguf.Error]},
	{"text", exitModel, isA[*driver.TextError]},
	{"invalid", exitModel, isA[*ir.VerifyError]},
	{"file", exitModel, isA[*codegen.FileError]},
	{"file", exitModel, isA[*fs.PathError]},
	{"file", exitModel, isA[syscall.Errno]},
	{unknown, exitModel, func(error) bool { return true }},
}

// isA reports whether an error of type E is in the chain of err.
func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func kindOf(err error) kind {
	for _, k := range kinds {
		if k.is(err) {
			return k
		}
	}
	panic("unreachable: the last kind takes every error")
}

// exitStatus maps an error to the exit status of the process. Of several faults the
// gravest counts: a bug of ours, then wrong usage.
func exitStatus(err error) int { return kindOf(err).status }

// report prints what went wrong to w: a line for each fault, or an object for each.
func report(w io.Writer, err error, asJSON bool) {
	ds := diagnose("", err)
	if bounded(kindOf(err)) {
		ds = bound(ds)
	}
	for _, d := range ds {
		d.print(w, asJSON)
	}
}

// Limits of a report about a file that somebody else may have made, in bytes.
const (
	maxReport = 4000
	maxLine   = 1200 // longer lines lose their middle
)

// bounded reports whether faults of this kind follow from an input, which could have a
// million of them. What Go, a difference or a bug says is printed as it is.
func bounded(k kind) bool {
	return k.status == exitUsage || k.status == exitModel && k.code != "go-build" && k.code != "stale"
}

// bound shortens a report to its first faults and the number of the rest.
func bound(ds []diagnostic) []diagnostic {
	room := maxReport - len("ggmlc: and 2147483647 more errors\n")
	for i := range ds {
		d := &ds[i]
		kept, more := firstLines(printable.Text(d.Message), room-len("ggmlc: "))
		if kept == "" {
			rest := diagnostic{Code: d.Code, File: d.File, Message: fmt.Sprintf("and %d more errors", len(ds)-i)}
			return append(ds[:i:i], rest)
		}
		d.Message, d.Noun = kept, printable.Cut(d.Noun, maxLine)
		if more > 0 {
			d.Message += fmt.Sprintf("\nand %d more lines", more)
		}
		room -= len("ggmlc: ") + len(d.Message) + 1
	}
	return ds
}

// firstLines returns those first lines of a text that have room, and the number of others.
func firstLines(text string, room int) (kept string, more int) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = printable.Cut(line, maxLine)
		left := len(lines) - i
		if room -= len(line) + 1; room < len("and 2147483647 more lines") && left > 1 || room < 0 {
			return kept, left
		}
		if i > 0 {
			kept += "\n"
		}
		kept += line
	}
	return kept, 0
}

func (d diagnostic) print(w io.Writer, asJSON bool) {
	if !asJSON {
		fmt.Fprintf(w, "ggmlc: %s\n", printable.Text(d.Message)) // with names and paths of any origin
		return
	}
	line, _ := json.Marshal(d) // strings only: cannot fail
	fmt.Fprintf(w, "%s\n", printable.JSON(line))
}

// notice prints what is no fault, on one line.
func notice(w io.Writer, asJSON bool, code, format string, args ...any) {
	text := printable.Line(fmt.Sprintf(format, args...))
	diagnostic{Level: "note", Code: code, Message: text}.print(w, asJSON)
}

// maxPinned is how many of the nodes that a pin matched are named.
const maxPinned = 6

// notePins says what each pin has matched.
func notePins(w io.Writer, asJSON bool, matches []driver.PinMatch) {
	for _, m := range matches {
		nodes, more, word := m.Nodes, "", "nodes"
		if len(nodes) == 1 {
			word = "node"
		}
		if len(nodes) > maxPinned {
			nodes, more = nodes[:maxPinned], fmt.Sprintf(" and %d more", len(nodes)-maxPinned)
		}
		notice(w, asJSON, "pin", "pin %v puts %d %s on %s: %s%s", m.Pin, len(m.Nodes), word, m.Pin.Backend, strings.Join(nodes, ", "), more)
	}
}

// diagnose takes joined errors apart. What callers put in front of them stands in front of
// each; prefix is that of the callers so far. Where an option is at fault, the name of a
// model in front would mislead.
func diagnose(prefix string, err error) []diagnostic {
	if o := optionFault(err); o != nil && (prefix != "" || o != err) {
		return diagnose("", o)
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok && joined(err, many.Unwrap()) {
		var ds []diagnostic
		for _, e := range many.Unwrap() {
			ds = append(ds, diagnose(prefix, e)...)
		}
		return continued(ds)
	}
	if inner := errors.Unwrap(err); inner != nil && several(inner) {
		if front, ok := strings.CutSuffix(err.Error(), inner.Error()); ok {
			return inherit(err, diagnose(prefix+printable.Line(front), inner))
		}
	}
	return []diagnostic{newDiagnostic(prefix, err)}
}

// optionFault returns the error of an option that err wraps; nil if it wraps another.
func optionFault(err error) error {
	for ; err != nil; err = errors.Unwrap(err) {
		switch err.(type) {
		case *driver.OptionError, *arch.OptionError:
			return err
		}
	}
	return nil
}

// several reports whether joined errors are in the chain of err.
func several(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			return joined(err, many.Unwrap())
		}
	}
	return false
}

// joined reports whether the text of err is those of its parts, a line each: what
// errors.Join makes, and fmt.Errorf with several %w does not.
func joined(err error, parts []error) bool {
	return err.Error() == errors.Join(parts...).Error()
}

// inherit gives faults that have no class or no file those of the error around them.
func inherit(outer error, ds []diagnostic) []diagnostic {
	around := newDiagnostic("", outer)
	for i := range ds {
		if ds[i].Code == unknown || kindOf(outer).status != exitModel {
			ds[i].Code = around.Code
		}
		ds[i].File = cmp.Or(ds[i].File, around.File)
	}
	return ds
}

// continued joins a diagnostic that begins with a blank, as lists of reasons do, to the
// one before.
func continued(ds []diagnostic) []diagnostic {
	var out []diagnostic
	for _, d := range ds {
		if len(out) > 0 && strings.HasPrefix(d.Message, " ") {
			out[len(out)-1].Message += "\n" + d.Message
			continue
		}
		out = append(out, d)
	}
	return out
}

func newDiagnostic(prefix string, err error) diagnostic {
	d := diagnostic{Code: kindOf(err).code, Message: prefix + textOf(err)}
	if strings.HasPrefix(err.Error(), " ") { // continues the one before
		d.Message = textOf(err)
	}
	if d.Code == "interrupted" {
		d.Message = "interrupted"
	}
	var in *gguf.Error
	var file *codegen.FileError
	var text *driver.TextError
	var path *fs.PathError
	switch {
	case errors.As(err, &in):
		d.File, d.Noun = in.File, nounOf(in)
	case errors.As(err, &file):
		d.File = file.File
	case errors.As(err, &text):
		d.File = text.File
	case errors.As(err, &path):
		d.File = path.Path
	}
	return d
}

// textOf returns the text of an error that is not taken apart. Its newlines are parts of names
// and paths, and are escaped, unless errors like it have several lines.
func textOf(err error) string {
	if several(err) || hasLines(err) {
		return err.Error()
	}
	return printable.Line(err.Error())
}

// hasLines reports whether the text of an error has several lines by itself.
func hasLines(err error) bool {
	k := kindOf(err)
	return k.status == exitBug || k.code == "go-build" || k.code == "stale" || k.code == "denied" || isA[*ir.VerifyError](err)
}

// nounOf returns the key or tensor that an error is about. One that the file lacks has no
// place in it and stands in the text.
func nounOf(err *gguf.Error) string {
	front, _, ok := strings.Cut(err.Err.Error(), `": `)
	if err.Noun == "" && ok && (strings.HasPrefix(front, `key "`) || strings.HasPrefix(front, `tensor "`)) {
		return front + `"`
	}
	return err.Noun
}
