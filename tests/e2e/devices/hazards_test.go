package devices

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// planFor compiles the small model for a machine, in this process, so that a test can change the finished plan. The
// changed plan is not proved.
func planFor(t *testing.T, m e2etest.Machine, pipeline int) *driver.Model {
	t.Helper()
	md, err := driver.Load(t.Context(), e2etest.AIDreams(t), driver.LoadOptions{Batch: 4, KV: dtype.F32})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { md.Close() })
	targets, err := target.Parse(m.Name, m.Targets)
	if err != nil {
		t.Fatal(err)
	}
	o := pass.Options{Rules: "cost", Pipeline: pipeline}
	for i := 1; i < len(m.Flags); i += 2 {
		pin, err := pass.ParsePin(m.Flags[i])
		if err != nil {
			t.Fatal(err)
		}
		o.Pins = append(o.Pins, pin)
	}
	if _, err := driver.Compile(t.Context(), md, driver.CompileOptions{Targets: targets, Passes: o}); err != nil {
		t.Fatal(err)
	}
	return md
}

// waiting is a node that waits for an event.
type waiting struct {
	node *ir.Node
	at   int // index of Submit.Waits
}

// waitsOf returns all waits of a plan.
func waitsOf(m *ir.Module) []waiting {
	var list []waiting
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Submit == nil {
				continue
			}
			for i := range n.Submit.Waits {
				list = append(list, waiting{n, i})
			}
		}
	}
	return list
}

// tellsWrong builds the plan. It reports whether any of several runs with different seeds fails or differs from the
// reference.
func tellsWrong(t *testing.T, md *driver.Model, runs int) bool {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "story")
	if err := driver.Build(t.Context(), md, driver.OutputOptions{Compiler: "ggmlc test", Out: exe}); err != nil {
		t.Fatal(err)
	}
	refs := e2etest.AIDreamsReferences(t)
	for seed := range runs {
		ref := refs[seed%len(refs)]
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, exe, "--prompt", ref.Prompt, "-n", "96", "--json", "--logits", "--ignore-eos",
			"--fake-seed", fmt.Sprint(seed), "--fake-delay", "300us")
		out, err := cmd.Output()
		if ctx.Err() != nil {
			t.Fatal("the program hangs")
		}
		cancel()
		if err != nil {
			return true
		}
		lines, err := e2etest.ParseTokens(out)
		if err != nil || ref.Compare(lines) != nil {
			return true
		}
	}
	return false
}

// TestHazardsShow removes the waits of a proved plan. The devices have to show that. TestDevicesTellTheSame checks
// that they show nothing for the unchanged plan.
func TestHazardsShow(t *testing.T) {
	md := planFor(t, twoDevices, 2)
	all := waitsOf(md.Module)
	if len(all) < 4 {
		t.Fatalf("only %d waits", len(all))
	}
	for _, w := range all {
		w.node.Submit.Waits = nil
	}
	if !tellsWrong(t, md, 20) {
		t.Error("without any wait nothing goes wrong in 20 runs")
	}
}

// TestEveryWaitMatters removes one wait at a time.
func TestEveryWaitMatters(t *testing.T) {
	needtest.Slow(t, "e2e")
	for _, m := range []e2etest.Machine{twoDevices, machines[3], machines[5]} {
		t.Run(m.Name, func(t *testing.T) { everyWait(t, m) })
	}
}

func everyWait(t *testing.T, m e2etest.Machine) {
	md := planFor(t, m, 2)
	shown, all := 0, waitsOf(md.Module)
	for _, w := range all {
		before := w.node.Submit.Waits
		w.node.Submit.Waits = slices.Delete(slices.Clone(before), w.at, w.at+1)
		wrong := tellsWrong(t, md, 12)
		t.Logf("@%s %v without its wait for %+v: goes wrong: %t", w.node.Func.Name, w.node, before[w.at], wrong)
		if wrong {
			shown++
		}
		w.node.Submit.Waits = before
	}
	t.Logf("%d of %d missing waits show in the results", shown, len(all))
	if 4*shown < 3*len(all) {
		t.Error("want at least three of four: a wait for the step before is idle where no steps overlap")
	}
}
