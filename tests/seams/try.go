package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// try is one program to build and run.
type try struct {
	seed     uint64
	kind     string
	dir      string // of its files
	subject  *subject
	machine  *machine
	numeric  []string   // options that determine what is computed
	planned  []string   // options that determine how
	level    string     // the pass after which the dump was edited; "" without edit
	meaning  bool       // the edit may have changed what is computed
	loosened []rounding // what the edit made round differently from the reference

	input string   // the file that ggmlc compiles
	args  []string // its options
}

// kinds are the kinds of tries: a model or graph on a random machine, without and with an edit.
var kinds = []string{"machine", "edit", "graph", "graph-edit"}

// drawn has each kind as often as it is to be drawn.
var drawn = []string{"machine", "machine", "machine", "machine", "edit", "edit", "edit", "edit", "edit", "graph", "graph", "graph-edit"}

// draw decides everything about the try of a seed except its edit.
func (f *fuzzer) draw(seed uint64) (*try, error) {
	d := newDraw(seed, 1)
	t := &try{seed: seed, kind: pick(d, drawn...), dir: filepath.Join(f.dir, fmt.Sprintf("try%d", seed))}
	if f.kinds != "" {
		t.kind = pick(d, strings.Split(f.kinds, ",")...)
	}
	if !slices.Contains(kinds, t.kind) {
		return nil, fmt.Errorf("-kinds %s: there are %s", t.kind, strings.Join(kinds, ", "))
	}
	var err error
	if t.subject, err = f.subjects.choose(d, t.kind); err != nil {
		return nil, err
	}
	t.machine = randomMachine(d)
	t.machine.leaveOut(f.without)
	if f.gpus != "" {
		t.machine.driven(f.gpus)
	}
	t.numeric, t.planned = t.subject.numeric(d), t.subject.planned(d, t.machine)
	if f.gpus != "" { // their kernels sum in another order, and do not round their operands
		t.loosened = []rounding{{f.gpus, t.subject.kernelBound(t.numeric)}}
	}
	if strings.HasSuffix(t.kind, "edit") {
		t.level = pick(d, f.passes...)
		if d.oneIn(2) { // drawn last, so that earlier draws stay the same
			t.level = pick(d, f.passes[len(f.passes)*2/3:]...)
		}
	}
	if err := os.MkdirAll(t.dir, 0o777); err != nil {
		return nil, err
	}
	targets := filepath.Join(t.dir, "machine.targets")
	t.input = t.subject.path
	t.args = slices.Concat(t.numeric, []string{"--target-file", targets}, t.planned)
	return t, os.WriteFile(targets, []byte(t.machine.text()), 0o666)
}

// edit dumps the module after a pass and edits the text. If ggmlc makes no dump, it returns false and the outcome.
func (f *fuzzer) edit(ctx context.Context, t *try) (outcome, bool, error) {
	plain, edited := filepath.Join(t.dir, "plain.ggir"), filepath.Join(t.dir, "edited.ggir")
	args := slices.Concat([]string{"dump", t.input, "--after", t.level, "-o", plain}, t.args)
	if t.level == "import" {
		args = slices.Concat([]string{"dump", t.input, "--before", f.passes[1], "-o", plain}, t.args)
	}
	o := execute(ctx, compileLimit, t.dir, f.env(), f.ggmlc, args...)
	if o.status != 0 {
		return o, false, nil
	}
	text, err := os.ReadFile(plain)
	if err != nil {
		return o, false, err
	}
	changed, meaning := editText(newDraw(t.seed, 2), string(text), editLimits{graph: t.subject.graph != nil, without: f.without})
	t.input, t.args, t.meaning = edited, nil, meaning
	t.loosened = append(t.loosened, t.subject.roundedByEdit(t.numeric, string(text), changed)...)
	return o, true, os.WriteFile(edited, []byte(changed), 0o666)
}

// command returns the options and the input of the try as words of a command line.
func (t *try) command() []string { return append(slices.Clone(t.args), t.input) }
