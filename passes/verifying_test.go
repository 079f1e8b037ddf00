package passes

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

// TestLooking runs passes that begin with looking behind one that breaks the module: whatever
// they do, the error is that of the pass which broke it, and nothing after Change happens.
func TestLooking(t *testing.T) {
	for name, look := range map[string]func(c *Context, m *ir.Module) error{
		"changes nothing": doNothing,
		"is told":         func(c *Context, m *ir.Module) error { return c.Change() },
		"panics":          func(c *Context, m *ir.Module) error { panic(m.Funcs[0].Nodes[0].Args[0].String()) },
		"fails":           func(*Context, *ir.Module) error { return errors.New("this is no module") },
		"does not end":    func(*Context, *ir.Module) error { select {} },
		"would not end":   func(c *Context, m *ir.Module) error { <-c.Ctx.Done(); return c.Ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			changed, ran := false, false
			old := pipeline
			defer func() { pipeline = old }()
			pipeline = slices.Concat(old, []Pass{
				{Name: "break", Doc: "breaks", Run: func(_ *Context, m *ir.Module) error { m.Funcs[0].Nodes[0].Args = nil; return nil }},
				{Name: "look", Doc: "looks", Looks: true, Run: func(c *Context, m *ir.Module) error {
					err := look(c, m)
					changed = c.Change() == nil
					return err
				}},
				{Name: "late", Doc: "runs", Run: func(*Context, *ir.Module) error { ran = true; return nil }},
			})
			m := parse(t, "func @f(%x: f32[4]) -> f32[4] {\n  %y = neg %x\n  return %y\n}\n")
			dir := t.TempDir()
			_, err := Run(t.Context(), m, RunOptions{Targets: cpuOnly(t), Passes: []string{"shape", "break", "look", "late"}, ReproDir: dir})
			var bug *InternalError
			if !errors.As(err, &bug) || bug.Pass != "break" || !strings.Contains(err.Error(), "opt --passes break") {
				t.Errorf("error %v", err)
			}
			if changed || ran {
				t.Errorf("a pass went on with a broken module: changed it %v, the next one ran %v", changed, ran)
			}
		})
	}
}

// TestLookersOnlyLook holds the passes that begin with looking to it: until they call Change,
// the module is as it was.
func TestLookersOnlyLook(t *testing.T) {
	old := pipeline
	defer func() { pipeline = old }()
	pipeline = slices.Clone(old)
	lookers := 0
	for i := range pipeline {
		p, run := &pipeline[i], old[i].Run
		if !p.Looks {
			continue
		}
		lookers++
		p.Run = func(c *Context, m *ir.Module) error {
			before, settle, asked := m.String(), c.settle, false
			same := func() {
				if m.String() != before {
					t.Errorf("%s changes the module before it says so", p.Name)
				}
			}
			c.settle = func() error {
				if !asked {
					asked = true
					same()
				}
				return settle()
			}
			err := run(c, m)
			if !asked {
				same()
			}
			return err
		}
	}
	if lookers == 0 {
		t.Fatal("no pass looks")
	}
	const dead = "func @f(%x: f32[4,8]) -> f32[4,8] {\n  %d = neg %x\n  %y = exp %x\n  return %y\n}\n"
	for _, text := range []string{smallModule, crossing, dead} {
		for _, rules := range []string{"cost", "ggml-2026"} {
			runPasses(t, parse(t, text), twoSpaces(t), Options{Rules: rules}, "")
		}
	}
	runPasses(t, parse(t, smallLlama.text()), cpuOnly(t), Options{}, "") // from roll on
}
