package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/passes/mem"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// Exit statuses; see "Exit statuses" in docs/reference/commands.md.
const (
	exitModel  = 1 // the model, the source or the environment is wrong, or --check differs
	exitUsage  = 2 // flags, pins, target files
	exitBudget = 3 // a budget is not met
	exitBug    = 4 // a bug of ggmlc
)

// diagnostic is one fault or note as --json prints it.
type diagnostic struct {
	Level   string `json:"level,omitempty"` // note; empty for a fault
	Code    string `json:"code"`            // stable; see kinds
	Message string `json:"message"`
	File    string `json:"file,omitempty"` // if it is known
	Noun    string `json:"noun,omitempty"` // the key, tensor or node that is wrong
}

// kind is a class of errors with its stable code and its exit status.
type kind struct {
	code   string
	status int
	is     func(error) bool
}

// unknown is the code of errors without a class of their own.
const unknown = "failed"

// kinds is searched in order. The first kind that matches determines code and status.
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
	{"differs", exitModel, isA[*differError]},
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

// exitStatus returns the exit status for an error. Of several faults the most severe counts: a bug of ggmlc first,
// then wrong usage.
func exitStatus(err error) int { return kindOf(err).status }

// outputForm is the form in which a command prints diagnostics and results.
type outputForm int

const (
	asText   outputForm = iota // lines for people
	asJSON                     // objects, one on a line
	asErrors                   // lines for people, without notes
)

// formFor returns the form that --json selects.
func formFor(json bool) outputForm {
	if json {
		return asJSON
	}
	return asText
}

// form returns the form that the command's flags select.
func (f *compileFlags) form() outputForm {
	if f.quiet {
		return asErrors
	}
	return formFor(f.json)
}

// report writes a line, or an object, for each fault of an error.
func report(w io.Writer, err error, form outputForm) {
	ds := diagnose("", err)
	if bounded(kindOf(err)) {
		ds = bound(ds)
	}
	for _, d := range ds {
		d.print(w, form)
	}
}

// Limits in bytes of a report about a file of unknown origin.
const (
	maxReport = 4000
	maxLine   = 1200 // longer lines lose their middle
)

// bounded reports whether faults of this kind follow from an input, which could cause a million of them. Output of
// Go, differences and bugs are printed in full.
func bounded(k kind) bool {
	return k.status == exitUsage || k.status == exitBudget || k.status == exitModel && k.code != "go-build" && k.code != "stale"
}

// bound limits a report to its first faults and the number of the others.
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

// firstLines returns the first lines of a text that fit into room bytes, and the number of the others.
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

func (d diagnostic) print(w io.Writer, form outputForm) {
	if form != asJSON {
		fmt.Fprintf(w, "ggmlc: %s\n", printable.Text(d.Message)) // it may contain arbitrary names and paths
		return
	}
	line, _ := json.Marshal(d) // strings only: cannot fail
	fmt.Fprintf(w, "%s\n", printable.JSON(line))
}

// notice prints a note on one line, unless only errors are printed.
func notice(w io.Writer, form outputForm, code, format string, args ...any) {
	if form == asErrors {
		return
	}
	text := printable.Line(fmt.Sprintf(format, args...))
	diagnostic{Level: "note", Code: code, Message: text}.print(w, form)
}

// maxPinned is the most nodes that a note about a pin names.
const maxPinned = 6

// notePins reports the nodes that each pin has matched.
func notePins(w io.Writer, form outputForm, matches []driver.PinMatch) {
	for _, m := range matches {
		nodes, more, word := m.Nodes, "", "nodes"
		if len(nodes) == 1 {
			word = "node"
		}
		if len(nodes) > maxPinned {
			nodes, more = nodes[:maxPinned], fmt.Sprintf(" and %d more", len(nodes)-maxPinned)
		}
		notice(w, form, "pin", "pin %v puts %d %s on %s: %s%s", m.Pin, len(m.Nodes), word, m.Pin.Backend, strings.Join(nodes, ", "), more)
	}
}

// noteTargets reports what the user may not have meant by the targets of a program.
func noteTargets(w io.Writer, form outputForm, m *ir.Module, targets *target.List) {
	noteSimulated(w, form, m, targets)
	noteIdle(w, form, m, targets)
}

// noteIdle reports GPUs on which a program runs nothing: it is then a program for the other targets, which needs no
// driver.
func noteIdle(w io.Writer, form outputForm, m *ir.Module, targets *target.List) {
	for _, d := range targets.All() {
		if _, isGPU := gpu.Of(d.Kind); isGPU && !runsNodes(m, d.Name) {
			notice(w, form, "idle", "no node runs on %s: the rules, pins and --deny leave all of them to others, as small models are "+
				"predicted to be slower there: --rules ggml-2026, --pin or --deny cpu put nodes there", d.Name)
		}
	}
}

// noteSimulated reports the backends of a program that are simulated although their lines name no built-in target that
// is: fake is the default of kind, so the user need not have meant that.
func noteSimulated(w io.Writer, form outputForm, m *ir.Module, targets *target.List) {
	for _, d := range targets.All() {
		if d.Kind == "fake" && d.Like == "" && runsNodes(m, d.Name) {
			notice(w, form, "simulated", "target %s: its line has no like= and no kind= but fake, so it is a simulated device, and the program computes its nodes "+
				"with the processor's kernels: write like=fake if you mean that, or kind=%[1]s for plans only", d.Name)
		}
	}
}

// noteExpanded reports weights that take other bytes in the program than in the file.
func noteExpanded(w io.Writer, form outputForm, md *driver.Model) error {
	list, err := md.Expansions()
	for _, e := range list {
		values, why := "with the same values", "kernels read that"
		if e.Rounded {
			values, why = "and rounded", "a target has kernels for neither format: without it the values stay the same"
		}
		notice(w, form, "expanded", "%s of %v, %d bytes, stored as %v %s, %d bytes: %s",
			counted(e.Tensors, "tensor"), e.From, e.Source, e.To, values, e.Program, why)
	}
	return err
}

// noteModel reports what a user of the program should know about the model.
func noteModel(w io.Writer, form outputForm, model string, md *driver.Model) error {
	if text := md.LongContext(); text != "" {
		notice(w, form, "context", "%s: %s", model, text)
	}
	if text := md.LimitedContext(); text != "" {
		notice(w, form, "context", "%s: %s", model, text)
	}
	kept, err := md.KeptWeights()
	if err != nil {
		return err
	}
	if kept != "" {
		notice(w, form, "kept", "%s: %s", model, kept)
	}
	faults, err := md.TemplateFaults()
	for _, text := range faults {
		notice(w, form, "template", "%s: %s", model, text)
	}
	return err
}

// runsNodes reports whether a backend runs nodes of a module.
func runsNodes(m *ir.Module, backend string) bool {
	for _, f := range m.AllFuncs() {
		if slices.ContainsFunc(f.Nodes, func(n *ir.Node) bool { return n.Backend == backend }) {
			return true
		}
	}
	return false
}

// diagnose splits joined errors. The prefixes that callers have added to a joined error are added to each of its
// parts; prefix holds those added so far. The error of an option drops them, since the name of a model before it
// would mislead.
//
// For example, fmt.Errorf("m.ggir: %w", errors.Join(a, b)) becomes the diagnostics "m.ggir: a" and "m.ggir: b".
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

// optionFault returns the error of an option that err wraps, or nil.
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

// joined reports whether the text of err is the texts of its parts, one per line. This is true of errors.Join, and
// false for fmt.Errorf with several %w.
func joined(err error, parts []error) bool {
	return err.Error() == errors.Join(parts...).Error()
}

// inherit gives faults without a class or a file those of the error around them.
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

// continued appends a diagnostic that begins with a blank, as in lists of reasons, to the one before.
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

// textOf returns the text of an error that is not split. It escapes newlines, which are parts of names and paths,
// unless errors of this kind have several lines.
func textOf(err error) string {
	if several(err) || hasLines(err) {
		return err.Error()
	}
	return printable.Line(err.Error())
}

// hasLines reports whether errors of this kind have several lines.
func hasLines(err error) bool {
	k := kindOf(err)
	return k.status == exitBug || k.code == "go-build" || k.code == "stale" || k.code == "denied" || isA[*ir.VerifyError](err)
}

// nounOf returns the key or tensor that an error is about, or "" for one that the file does not have: the text names
// it.
func nounOf(err *gguf.Error) string {
	front, _, ok := strings.Cut(err.Err.Error(), `": `)
	if err.Noun == "" && ok && (strings.HasPrefix(front, `key "`) || strings.HasPrefix(front, `tensor "`)) {
		return front + `"`
	}
	return err.Noun
}
