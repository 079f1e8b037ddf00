package passes

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/assign"
	"github.com/ggmlc/ggmlc/passes/copies"
	"github.com/ggmlc/ggmlc/passes/order"
	"github.com/ggmlc/ggmlc/passes/pack"
	"github.com/ggmlc/ggmlc/passes/partition"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/pipeline"
	"github.com/ggmlc/ggmlc/passes/plan"
	"github.com/ggmlc/ggmlc/passes/roll"
	"github.com/ggmlc/ggmlc/passes/shard"
	"github.com/ggmlc/ggmlc/passes/simplify"
)

// passTable is a list of passes in the order in which they run.
type passTable []pass.Pass

// table is the pipeline. It is only written here.
var table = passTable{
	simplify.Shape, simplify.Inline, simplify.Fold, simplify.CSE, simplify.DCE, simplify.Narrow, simplify.Canonicalize, shard.Pass, shard.SpreadPass,
	simplify.Fuse, simplify.DCE.As("dce-fuse"),
	assign.Pass, simplify.Unfuse, pack.Pass, simplify.FuseLate, simplify.DCE.As("dce-late"), simplify.Observe,
	copies.Split, copies.Copy, copies.ElideCopy, simplify.DCE.As("dce-copy"),
	pipeline.Pass, roll.Pass, simplify.Chain, order.Pass, partition.Pass, plan.Pass, pipeline.Sync, checkPass,
}

func init() {
	if err := checkTable(table, mustPrecede); err != nil {
		panic("passes: internal error: " + err.Error())
	}
}

// Constraint states that one pass has to run before another, and why.
type Constraint struct{ Before, After, Why string }

// mustPrecede holds the reasons for the order of the table. It names passes of the table only.
var mustPrecede = []Constraint{
	{"shape", "inline", "a callee's types are those of its parameters"},
	{"inline", "cse", "what two calls compute alike is computed once"},
	{"shape", "fold", "folding needs final shapes"},
	{"fold", "cse", "equal constants become one value"},
	{"cse", "dce", "what was merged is dead"},
	{"dce", "narrow", "a reader that nothing needs would ask for rows"},
	{"narrow", "canonicalize", "slices of slices become one, and slices of all rows vanish"},
	{"narrow", "fuse", "a fused node has readers of all of its pieces"},
	{"canonicalize", "fuse", "the patterns know one spelling of views and operand order"},
	{"canonicalize", "shard", "reshapes of reshapes divide fewer axes than one"},
	{"shard", "spread", "only values with states can be written out"},
	{"cse", "spread", "it would merge views of what several devices have alike"},
	{"spread", "fuse", "a fused product has rows of several weights, and what is fused belongs to one device"},
	{"spread", "dce-fuse", "what devices other than the first gather for results is dead"},
	{"spread", "assign", "the devices of a group are backends that assign does not choose"},
	{"fuse", "dce-fuse", "the pieces of what was fused are dead"},
	{"dce-fuse", "assign", "nothing dead gets a backend or pulls others to it"},
	{"fuse", "assign", "a backend is asked about the op that will run"},
	{"assign", "unfuse", "only then is it known which backend has to run the fused op"},
	{"unfuse", "pack", "the formats are those of the ops that will run"},
	{"assign", "pack", "the layout is that of the chosen kernel"},
	{"pack", "fuse-late", "norms join the quantize nodes that pack made"},
	{"fuse-late", "dce-late", "the norms that joined are dead"},
	{"dce-late", "observe", "a value that is observed cannot be fused away, and what is observed is what runs"},
	{"observe", "split", "the nodes that it adds need a split, and values on devices a copy to the host"},
	{"fuse-late", "split", "a fused node has one split"},
	{"pack", "split", "the nodes it adds need a split, and copies move packed sizes"},
	{"unfuse", "split", "its pieces may run elsewhere"},
	{"split", "copy", "a copy belongs to the inputs of a split"},
	{"copy", "elide-copy", "copies are inserted for correctness, removed for speed"},
	{"elide-copy", "dce-copy", "views of removed copies are dead"},
	{"elide-copy", "roll", "copies are part of what repeats"},
	{"dce-copy", "pipeline", "nothing dead gets a queue or several instances"},
	{"pipeline", "roll", "layers are equal only if their queues are"},
	{"pipeline", "partition", "the host waits for queues where an epoch begins"},
	{"pipeline", "plan", "the instances of a value are adjacent in the arena"},
	{"roll", "chain", "layers are equal node by node, and chains are within a layer"},
	{"chain", "order", "a chain is one node, which makes one value"},
	{"roll", "order", "a body is ordered once"},
	{"order", "partition", "epochs follow the order"},
	{"order", "plan", "the order defines lifetimes"},
	{"partition", "plan", "bytes live until the end of the epoch of their last reader"},
	{"plan", "sync", "memory that is used again orders queues"},
	{"sync", "check", "the checker reads events"},
}

// Passes returns the pipeline in order. The caller must not change it.
func Passes() []pass.Pass { return table }

// Constraints returns which pass has to precede which, with the reasons. The caller must not change it.
func Constraints() []Constraint { return mustPrecede }

// Find returns the pass of that name, or nil.
func Find(name string) *pass.Pass { return table.find(name) }

// RuleDoc returns the pass that declares a rule and the rule's sentence. Both are empty if no pass declares it.
func RuleDoc(rule string) (pass, doc string) { return table.ruleDoc(rule) }

func (t passTable) find(name string) *pass.Pass {
	if i := t.index(name); i >= 0 {
		return &t[i]
	}
	return nil
}

// index returns the position of the pass of that name, or -1.
func (t passTable) index(name string) int {
	return slices.IndexFunc(t, func(p pass.Pass) bool { return p.Name == name })
}

func (t passTable) ruleDoc(rule string) (pass, doc string) {
	for _, p := range t {
		for _, r := range p.Rules {
			if string(r.Name) == rule {
				return p.Name, r.Doc
			}
		}
	}
	return "", ""
}

// names returns the names of all passes.
func (t passTable) names() []string {
	names := make([]string, len(t))
	for i := range t {
		names[i] = t[i].Name
	}
	return names
}

// giver returns the name of the first pass that gives any of the properties.
func (t passTable) giver(props ir.Props) string {
	i := slices.IndexFunc(t, func(p pass.Pass) bool { return p.Gives&props != 0 })
	return t[max(i, 0)].Name
}

// checkTable reports every contradiction between a table of passes and the constraints.
func checkTable(table passTable, constraints []Constraint) error {
	return errors.Join(checkNames(table), checkRules(table), checkProps(table), checkOrder(table, constraints))
}

func checkNames(table passTable) error {
	var errs []error
	seen := make(map[string]bool)
	for _, p := range table {
		switch {
		case p.Name == "" || p.Doc == "" || p.Run == nil:
			errs = append(errs, fmt.Errorf("pass %q lacks a name, a doc or a function", p.Name))
		case seen[p.Name]:
			errs = append(errs, fmt.Errorf("pass %s is listed twice", p.Name))
		}
		seen[p.Name] = true
	}
	return errors.Join(errs...)
}

func checkRules(table passTable) error {
	var errs []error
	owner := make(map[pass.RuleName]string)
	for _, p := range table {
		for _, r := range p.Rules {
			if other, taken := owner[r.Name]; taken {
				errs = append(errs, fmt.Errorf("rule %s is declared by %s and by %s", r.Name, other, p.Name))
			}
			if r.Name == "" || r.Doc == "" {
				errs = append(errs, fmt.Errorf("pass %s: rule %q lacks a name or a doc", p.Name, r.Name))
			}
			owner[r.Name] = p.Name
		}
	}
	return errors.Join(errs...)
}

// checkProps walks the table with the properties that hold before each pass. It reports a pass whose needs no
// earlier pass gives, one whose needs come from a pass that can be disabled, and one that breaks what an earlier
// pass has given.
func checkProps(table passTable) error {
	var errs []error
	have := ir.PropImported
	var optional ir.Props // given by passes that can be disabled
	for _, p := range table {
		if missing := p.Needs &^ have; missing != 0 {
			errs = append(errs, fmt.Errorf("pass %s needs %v, which no earlier pass gives", p.Name, missing))
		}
		if loose := p.Needs & optional; loose != 0 {
			errs = append(errs, fmt.Errorf("pass %s needs %v, which comes from a pass that can be disabled", p.Name, loose))
		}
		if broken := p.Breaks & have; broken != 0 {
			errs = append(errs, fmt.Errorf("pass %s breaks %v, which an earlier pass gives", p.Name, broken))
		}
		if !p.Required {
			optional |= p.Gives &^ have
		}
		have |= p.Gives
	}
	return errors.Join(errs...)
}

func checkOrder(table passTable, constraints []Constraint) error {
	var errs []error
	for _, c := range constraints {
		before, after := table.index(c.Before), table.index(c.After)
		switch {
		case before < 0 || after < 0:
			errs = append(errs, fmt.Errorf("constraint %s before %s names a pass that is not in the table", c.Before, c.After))
		case before >= after:
			errs = append(errs, fmt.Errorf("pass %s has to precede %s: %s", c.Before, c.After, c.Why))
		}
		if c.Why == "" {
			errs = append(errs, fmt.Errorf("constraint %s before %s gives no reason", c.Before, c.After))
		}
	}
	return errors.Join(errs...)
}
