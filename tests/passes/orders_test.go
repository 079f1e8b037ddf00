package passes

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/passtest"
)

var all = flag.Bool("all", false, "every pass, and many random orders of passes, on every dump, which takes minutes")

// TestAnyOrder runs passes in orders of one's own on dumps, as ggmlc opt --passes does. What
// comes out is a module, or an error that is not a bug of ours: who asks for a wrong order is told so.
// The rest of the usual order is never refused.
func TestAnyOrder(t *testing.T) {
	dumps, rng, times := allDumps(t), rand.New(rand.NewPCG(1, 2)), 1500
	if *all {
		times = 200_000
		for _, d := range dumps {
			for _, p := range passes.Passes() {
				d.try(t, []string{p.Name})
			}
		}
	}
	usual := 0
	for _, d := range dumps {
		if rest := d.rest(); d.compiles && len(rest) > 0 {
			usual++
			if err := d.run(t, rest); err != nil {
				t.Errorf("%s, after %s: opt --passes %s: %v", d.name, d.after, strings.Join(rest, ","), err)
			}
		}
	}
	if usual == 0 {
		t.Error("no dump goes on in the usual order")
	}
	refused := 0
	for range times {
		if d := dumps[rng.IntN(len(dumps))]; d.try(t, d.randomOrder(rng)) != nil {
			refused++
		}
	}
	t.Logf("%d dumps, %d of which go on in the usual order; %d random orders, %d refused", len(dumps), usual, times, refused)
}

// rest returns the names of the passes after the one that ran last.
func (d dump) rest() []string {
	names := []string{}
	for _, p := range passes.Passes() {
		names = append(names, p.Name)
	}
	return names[1+slices.Index(names, d.after):]
}

// randomOrder returns some passes in the usual order, most often the passes after the one that ran last, of which
// a few are left out or doubled; or pieces of the usual order, one after the other. Half of the orders end
// with the proof.
func (d dump) randomOrder(rng *rand.Rand) []string {
	table := passes.Passes()
	next := 1 + slices.IndexFunc(table, func(p pass.Pass) bool { return p.Name == d.after })
	order := some(table[min(next+rng.IntN(2), len(table)):], rng)
	if rng.IntN(3) == 0 {
		for range 1 + rng.IntN(4) {
			from := rng.IntN(len(table))
			order = append(order, some(table[from:min(from+1+rng.IntN(5), len(table))], rng)...)
		}
	}
	if rng.IntN(2) == 0 {
		order = append(order, "check")
	}
	return order
}

// some returns the names of passes, some left out, some twice.
func some(list []pass.Pass, rng *rand.Rand) []string {
	names := []string{}
	often := 4 << rng.IntN(4)
	for _, p := range list {
		switch rng.IntN(often) {
		case 0:
		case 1:
			names = append(names, p.Name, p.Name)
		default:
			names = append(names, p.Name)
		}
	}
	return names
}

// dump is the text of a module after a pass.
type dump struct {
	name, after, text string
	options           passes.RunOptions
	compiles          bool // all passes ran, as they do for ggmlc build
}

// allDumps returns the modules of this folder's tests, after each pass that changes them.
func allDumps(t *testing.T) []dump {
	var dumps []dump
	seen := make(map[string]bool)
	for _, in := range passtest.Inputs(t, ".") {
		m, err := ir.Parse(in.Name, []byte(in.Module))
		if err != nil {
			t.Fatal(err)
		}
		if seen[in.Module] {
			continue
		}
		seen[in.Module] = true
		o := in.Options
		o.Passes = nil
		first := len(dumps)
		d := dump{name: in.Name, after: m.Last, options: o, text: m.String()}
		dumps = append(dumps, d)
		o.After = func(s passes.Step, m *ir.Module) error {
			if s.Changed {
				d.after, d.text = s.Pass, m.String()
				dumps = append(dumps, d)
			}
			return nil
		}
		_, err = passes.Run(t.Context(), m, o)
		if isBug(err) { // other errors some tests are about
			t.Errorf("%s: %v", in.Name, err)
		}
		for i := range dumps[first:] {
			dumps[first+i].compiles = err == nil
		}
	}
	return dumps
}

// isBug reports whether an error says that the compiler is wrong.
func isBug(err error) bool {
	var bug *pass.InternalError
	return errors.As(err, &bug) || err != nil && strings.Contains(err.Error(), "internal error")
}

// try runs passes on the dump, and fails if that shows a bug.
func (d dump) try(t *testing.T, order []string) error {
	t.Helper()
	err := d.run(t, order)
	if isBug(err) {
		t.Errorf("%s, after %s: opt --passes %s: %v", d.name, d.after, strings.Join(order, ","), err)
	}
	return err
}

// run is what ggmlc opt does with a dump.
func (d dump) run(t *testing.T, order []string) error {
	m, err := ir.Parse(d.name, []byte(d.text))
	if err != nil {
		t.Fatal(err)
	}
	o := driver.CompileOptions{Targets: d.options.Targets, Passes: d.options.Options, Run: order}
	_, err = driver.Compile(context.Background(), &driver.Model{Module: m}, o)
	return err
}
