package passes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/check"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

func TestUnprovedPlanIsInternalError(t *testing.T) {
	list, err := target.Parse("targets", cpuTarget)
	if err != nil {
		t.Fatal(err)
	}
	m := irtest.Parse(t, irtest.SmallLlama.Text())
	run := func(passes ...string) error {
		_, err := Run(context.Background(), m, RunOptions{Targets: list, Passes: passes})
		return err
	}
	if err := run("pipeline", "roll", "order", "partition", "plan", "sync", "check"); err != nil || m.Props&ir.PropChecked == 0 {
		t.Fatalf("the plan as it is: %v, %v", m.Props, err)
	}
	for _, f := range m.AllFuncs() {
		f.HeadBarrier = false
	}
	m.Last, m.Props = "sync", m.Props&^ir.PropChecked
	err = run("check")
	var bug *pass.InternalError
	var wrong *check.Error
	if !errors.As(err, &bug) || !errors.As(err, &wrong) || wrong.Violations[0].Rule != check.RuleHazard {
		t.Errorf("without barriers at the heads of rounds: %v", err)
	}
	if m.Props&ir.PropChecked != 0 {
		t.Error("the plan counts as proved")
	}
}

// TestNeedlessCopiesAreBugsUnlessWanted lets elide-copy leave a needless copy: with the rules cost that is a bug. If
// the pass does not run, the user wants the copies.
func TestNeedlessCopiesAreBugsUnlessWanted(t *testing.T) {
	const text = `func @f(%x: f32[4,32]) -> f32[4,32] {
  %s = sqrt %x
  %e = exp %s
  return %e
}
`
	list, err := target.Parse("targets", "target npu space=npu,host ops=exp\ntarget cpu like=cpu")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		passes  string
		disable []string
		left    bool // elide-copy misses what it should remove
		apart   bool // elide-copy keeps all copies for a limit of memory
		noted   bool
	}{
		{"all passes", "shape,assign,pack,split,copy,elide-copy,pipeline,order,partition,plan,sync,check", nil, false, false, false},
		{"elide-copy misses one", "shape,assign,pack,split,copy,elide-copy,pipeline,order,partition,plan,sync,check", nil, true, false, false},
		{"an order without elide-copy", "shape,assign,pack,split,copy,pipeline,order,partition,plan,sync,check", nil, false, false, true},
		{"as the user says", "shape,assign,pack,split,copy,pipeline,order,partition,plan,sync,check", []string{"elide-copy"}, false, false, true},
		{"kept for a limit of memory", "shape,assign,pack,split,copy,elide-copy,pipeline,order,partition,plan,sync,check", nil, false, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			npu, err := pass.ParsePin("^e$=npu")
			if err != nil {
				t.Fatal(err)
			}
			table := table
			if tt.left {
				table = withoutWork("elide-copy")
			}
			if tt.apart {
				table = withWork("elide-copy", keepApart)
			}
			stats, err := Run(t.Context(), irtest.Parse(t, text), RunOptions{
				Targets: list, Passes: strings.Split(tt.passes, ","), Options: pass.Options{Disable: tt.disable, Pins: []pass.Pin{npu}}, table: table,
			})
			var bug *pass.InternalError
			switch {
			case tt.left && (!errors.As(err, &bug) || !strings.Contains(err.Error(), "needless: all readers can address host")):
				t.Errorf("a needless copy is not noticed: %v", err)
			case !tt.left && err != nil:
				t.Error(err)
			case !tt.left && (stats.Counter("check.needless") > 0) != tt.noted:
				t.Errorf("%d needless copies are noted", stats.Counter("check.needless"))
			}
		})
	}
}

// withoutWork returns the pipeline with a pass that does nothing.
func withoutWork(pass string) passTable { return withWork(pass, doNothing) }

// withWork returns the pipeline with a pass that does something else.
func withWork(name string, run func(*pass.Context, *ir.Module) error) passTable {
	t := slices.Clone(table)
	t.find(name).Run = run
	return t
}

// keepApart marks all copies as kept for a limit of memory.
func keepApart(c *pass.Context, m *ir.Module) error {
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Op == ir.OpCopy {
				c.Cause(n, pass.RuleCopyApart, n.Result().String())
			}
		}
	}
	return nil
}
