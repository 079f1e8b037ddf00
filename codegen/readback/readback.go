// Package readback proves that emitted Go does what the plan states.
//
// Package passes/check proves the plan, and package codegen writes the plan as Go. This package
// reads that Go back and compares it with the plan. It shares no code with codegen: it parses the
// text, runs it symbolically, and demands the events of the plan one by one. A difference is a
// bug of the emitter. A program that differs from its plan is never built.
//
//   - syntax: the files hold only declarations that an emitted package has (syntax.go)
//   - run: a step function becomes a sequence of events: kernel calls with their arguments,
//     barriers, submissions, waits, records, loops (run.go, expr.go, value.go)
//   - steps: a walk over the plan demands these events (steps.go, gap.go); a kernel's
//     arguments are those of its node (kernels.go, arguments.go), its ranges are what the partition gives a
//     worker (ranges.go), its pointers are where the plan places values (places.go)
//   - foreign: kernels of backends from other modules are called as these modules specify (foreign.go)
//   - comments: the comment after a call names its node (comments.go)
//   - tables: arenas, symbols, functions, devices, the language model (tables.go, inputs.go, language.go)
//   - face: exported methods pass their arguments to the right function (face.go)
//
// Numbers are symbolic: sizes are the module's symbols; the worker, the borders of its
// range, the instance of a step and the index of a loop are symbols of this package. Two
// numbers agree if they are equal as polynomials (ir.Dim), so they agree for all sizes and
// all numbers of workers. Iterations of a repeat are run one by one, so that strides and tables of
// offsets are compared by the addresses that they yield.
//
// Three things are trusted: kernels compute what their comments state, a backend of another module names the right
// kernel for a node (backend.Call), and the runtime does what its comments state. All have tests of their own.
package readback

import (
	"errors"
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// File is one file of an emitted package.
type File struct {
	Name string
	Data []byte
}

// Facts are what a program has to state besides what follows from its module. They come
// from the caller, not from the emitter.
type Facts struct {
	Package  string // name of the Go package; main is a program
	Compiler string // what emitted it, for `version`
	Name     string // of the model
	PlanID   string
	CPU      []string // the implementations that the program is limited to
	Profile  bool     // each call is preceded by a mark

	WeightsSize int64
	WeightsHash string // SHA-256 in lower-case hex
	Embedded    bool   // the weights are part of the program
	External    string // the default file of weights that are not part of the program; "" for none

	Tokenizer []byte // the vocabulary that the program carries; nil for none
	Chat      []byte // its chat templates; nil for none
	Grammar   []byte // the grammar that it carries; nil for none
}

// maxFindings bounds how many differences an error names.
const maxFindings = 20

// Error is the differences between a program and its plan.
type Error struct {
	Findings []error
	More     int // that are not listed
}

// Error returns the differences, a line for each.
func (e *Error) Error() string {
	text := "the emitted program differs from its plan:\n" + errors.Join(e.Findings...).Error()
	if e.More > 0 {
		text += fmt.Sprintf("\nand %d more", e.More)
	}
	return text
}

// Unwrap returns the differences.
func (e *Error) Unwrap() []error { return e.Findings }

// Check compares an emitted package with the plan of m, which has to be checked. The error
// is an *Error; nil means that every event and every table is the plan's.
func Check(m *ir.Module, targets *target.List, files []File, facts Facts) error {
	c := &checker{m: m, targets: targets, facts: facts, files: files, marked: make(map[int]bool), calls: make(map[line]*ir.Node)}
	c.recovering("the package", func() {
		c.number()
		p := c.parse(files)
		if c.failed() {
			return // what is missing would be reported once more for each use
		}
		c.full = c.tabled()
		c.tables(p)
		for _, f := range m.Funcs {
			c.recovering("@"+f.Name, func() { c.steps(p, f) })
		}
		if c.facts.Profile && !c.failed() {
			c.noted(p)
		}
		c.unused(p)
		c.comments(p)
	})
	if c.failed() {
		return &Error{c.findings, c.more}
	}
	return nil
}

// checker collects differences.
type checker struct {
	m       *ir.Module
	targets *target.List
	facts   Facts
	files   []File

	devices []device // in the order of the runtime's tables
	queues  []queue
	chunks  []chunk
	events  map[*ir.Func]map[int]int // queues that record the events of entry points
	full    map[int64]bool           // numbers of iterations of repeats with tables: see iterations
	marked  map[int]bool             // marks of the profile, by number

	calls   map[line]*ir.Node // nodes by the lines of their calls
	unnamed []error           // calls whose comments do not name their nodes

	findings []error
	more     int
}

func (c *checker) failed() bool { return len(c.findings) > 0 }

// report adds a difference.
func (c *checker) report(format string, args ...any) {
	if len(c.findings) == maxFindings {
		c.more++
		return
	}
	c.findings = append(c.findings, fmt.Errorf(format, args...))
}

// stop ends the reading of a function whose further events would all differ.
type stop struct{ err error }

// fail reports a difference and ends the reading of the function.
func fail(format string, args ...any) { panic(stop{fmt.Errorf(format, args...)}) }

// recovering runs do, which may fail. Code that arithmetic of dimensions refuses, such as a
// division by nothing, is a difference too.
func (c *checker) recovering(what string, do func()) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case stop:
			c.report("%s: %w", what, x.err)
		default:
			c.report("%s: %v", what, x)
		}
	}()
	do()
}
