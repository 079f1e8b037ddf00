// Package passtest runs tests of passes that are txtar files.
//
// A file begins with a sentence that describes what it shows. Its sections are
//
//	targets     the targets as target.Parse reads them; the cpu if the section is absent
//	in.ggir     the module before the passes
//	run         the passes, separated by commas, then options key=value
//	want        the module after the passes, as ir.Print prints it
//	err         instead of want: the errors, each on a line NODE: SUBSTRING
//	rules       lines "expect RULE ..." and "expect-not RULE ..."
//
// A file with several runs has the sections run, run.1, run.2 and so on, with want.1, err.1, rules.1 and so on. Each
// run starts with the module of the file. The option show of a run is a list of the columns that ir.Print prints. All
// other options are those of the command line: rules, pin, deny, disable, debug, allow-bf16, cpu, observe, pipeline,
// memory, group, shard and threads; pin, disable, debug, memory and shard may occur several times.
//
// With -update, the sections want are rewritten. See irtest.RunGoldens for what else is checked.
//
// # Example
//
//	A pin that matches a weight's name puts the nodes on the backend that read the weight.
//
//	-- targets --
//	target gpu space=dev0 ops=matmul,add
//	target cpu like=cpu
//	-- in.ggir --
//	func @f(%x: f32[1,32]) -> f32[1,32] {
//	  %w = weight "blk.0.attn_q.weight" : f32[32,32]
//	  %a = matmul %x, %w
//	  %c = add %a, %a
//	  return %c
//	}
//	-- run --
//	shape,assign pin=attn_q=cpu show=backend,cause
//	-- want --
//	func @f
//	  %a = matmul %x, %w   @cpu ; assign.pin "attn_q=cpu"
//	  %c = add %a, %a   @gpu ; assign.first
//	-- rules --
//	expect assign.pin
package passtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Coverage is the rules that test files expect to fire, and the rules that they expect not to fire, each with the
// paths of these files.
type Coverage struct{ Expect, ExpectNot map[string][]string }

// sections are the patterns of the names of sections.
var sections = []string{
	"targets", "in.ggir", "run", "run.*", "want", "want.*", "err", "err.*", "rules", "rules.*",
}

// Run runs the .txtar files in the folders below dir as subtests, and returns the rules that they name. Each folder
// has the name of the pass that its files test.
func Run(t *testing.T, dir string) *Coverage {
	t.Helper()
	cov := &Coverage{Expect: make(map[string][]string), ExpectNot: make(map[string][]string)}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if passes.Find(e.Name()) == nil {
			t.Errorf("%s: no pass has this name", filepath.Join(dir, e.Name()))
		}
		t.Run(e.Name(), func(t *testing.T) {
			irtest.RunGoldens(t, filepath.Join(dir, e.Name()), sections, func(t *testing.T, g *irtest.Golden) {
				runFile(t, g, cov)
			})
		})
	}
	return cov
}

// runFile runs all runs of a file and adds its rules to cov.
func runFile(t *testing.T, g *irtest.Golden, cov *Coverage) {
	targets, err := targetsOf(g.Section("targets"))
	if err != nil {
		t.Fatal(err)
	}
	module := []byte(g.Section("in.ggir"))
	suffixes := runSuffixes(g)
	if len(suffixes) == 0 {
		t.Fatal("the file has no section run")
	}
	for _, suffix := range suffixes {
		c, err := readCase(g, suffix)
		if err != nil {
			t.Fatal(err)
		}
		c.options.Targets = targets
		c.run(t, module)
		for _, r := range c.expect {
			cov.Expect[r] = append(cov.Expect[r], g.Path())
		}
		for _, r := range c.expectNot {
			cov.ExpectNot[r] = append(cov.ExpectNot[r], g.Path())
		}
	}
}

// targetsOf reads the section targets. If it is empty or absent, the only target is the cpu.
func targetsOf(section string) (*target.List, error) {
	if section == "" {
		section = "target cpu like=cpu"
	}
	return target.Parse("targets", section)
}

// runSuffixes returns the suffixes of the runs of a file: "", ".1", ".2" and so on.
func runSuffixes(g *irtest.Golden) []string {
	var suffixes []string
	for i := 0; ; i++ {
		suffix := ""
		if i > 0 {
			suffix = "." + strconv.Itoa(i)
		}
		if !g.Has("run" + suffix) {
			return suffixes
		}
		suffixes = append(suffixes, suffix)
	}
}

// testCase is one run of a file.
type testCase struct {
	g                 *irtest.Golden
	suffix            string // of its sections
	options           passes.RunOptions
	show              ir.Show  // columns to print
	expect, expectNot []string // rules
}

// readCase reads the sections run and rules with a suffix.
func readCase(g *irtest.Golden, suffix string) (*testCase, error) {
	c := &testCase{g: g, suffix: suffix}
	errs := []error{c.read(g.Section("run" + suffix))}
	for _, line := range g.Lines("rules" + suffix) {
		errs = append(errs, c.rule(strings.Fields(line)))
	}
	if !g.Has("want"+suffix) && !g.Has("err"+suffix) && !g.Has("rules"+suffix) {
		errs = append(errs, fmt.Errorf("run%s is compared with nothing", suffix))
	}
	return c, errors.Join(errs...)
}

// read reads a section run.
func (c *testCase) read(section string) error {
	var errs []error
	for i, w := range strings.Fields(section) {
		if i == 0 {
			c.options.Passes = strings.Split(w, ",")
			continue
		}
		key, value, _ := strings.Cut(w, "=")
		errs = append(errs, c.option(key, value))
	}
	return errors.Join(errs...)
}

// option sets an option of a run.
func (c *testCase) option(key, value string) (err error) {
	o := &c.options.Options
	switch key {
	case "rules":
		o.Rules = value
	case "pin":
		p, pinErr := pass.ParsePin(value)
		o.Pins, err = append(o.Pins, p), pinErr
	case "deny":
		o.Deny = strings.Split(value, ",")
	case "disable":
		o.Disable = append(o.Disable, strings.Split(value, ",")...)
	case "debug":
		settings, debugErr := passes.ParseDebug(value)
		o.Debug, err = append(o.Debug, settings...), debugErr
	case "allow-bf16":
		o.AllowBF16, err = strconv.ParseBool(value)
	case "cpu":
		o.CPU = strings.Split(value, ",")
	case "pipeline":
		o.Pipeline, err = strconv.Atoi(value)
	case "memory":
		err = c.memory(value)
	case "observe":
		o.Observe, err = regexp.Compile(value)
	case "group":
		o.Group, err = pass.ParseGroup(value)
	case "shard":
		r, shardErr := pass.ParseShardRule(value)
		o.Shard, err = append(o.Shard, r), shardErr
	case "threads":
		o.Threads, err = strconv.Atoi(value)
	case "show":
		c.show, err = ir.ParseShow(value)
	default:
		err = fmt.Errorf("unknown option %s=%s", key, value)
	}
	return err
}

// memory sets the memory of a backend from BACKEND=SIZE.
func (c *testCase) memory(value string) error {
	name, size, _ := strings.Cut(value, "=")
	n, err := target.ParseSize(size)
	o := &c.options.Options
	if o.MaxMemory == nil {
		o.MaxMemory = make(map[string]int64)
	}
	o.MaxMemory[name] = n
	return err
}

// rule reads the words of a line of a section rules.
func (c *testCase) rule(words []string) error {
	for _, r := range words[1:] {
		if pass, _ := passes.RuleDoc(r); pass == "" {
			return fmt.Errorf("rules%s: no pass declares %s", c.suffix, r)
		}
	}
	switch words[0] {
	case "expect":
		c.expect = append(c.expect, words[1:]...)
	case "expect-not":
		c.expectNot = append(c.expectNot, words[1:]...)
	default:
		return fmt.Errorf("rules%s: a line begins with expect or expect-not, not %q", c.suffix, words[0])
	}
	return nil
}

// run runs the passes and compares the results with the sections err, rules and want.
func (c *testCase) run(t *testing.T, module []byte) {
	t.Helper()
	m, err := ir.Parse("in.ggir", module)
	if err != nil {
		t.Fatal(err)
	}
	stats, err := passes.Run(context.Background(), m, c.options)
	if err != nil || c.g.Has("err"+c.suffix) {
		c.compareErrors(t, err)
		return
	}
	fired := firedRules(m, stats)
	for _, r := range c.expect {
		if !fired[r] {
			t.Errorf("run%s: rule %s did not fire", c.suffix, r)
		}
	}
	for _, r := range c.expectNot {
		if fired[r] {
			t.Errorf("run%s: rule %s fired", c.suffix, r)
		}
	}
	if c.g.Has("want" + c.suffix) {
		var b strings.Builder
		if err := ir.Print(&b, m, ir.PrintOptions{Show: c.show, Bare: true}); err != nil {
			t.Fatal(err)
		}
		c.g.Want("want"+c.suffix, b.String())
	}
}

// compareErrors compares an error of a run with the section err. Each line of the section has to match an error, and
// each error a line.
func (c *testCase) compareErrors(t *testing.T, err error) {
	t.Helper()
	section := "err" + c.suffix
	switch {
	case err == nil:
		t.Errorf("run%s: no error", c.suffix)
		return
	case !c.g.Has(section):
		t.Errorf("run%s: %v", c.suffix, err)
		return
	}
	got := strings.Split(strings.TrimSpace(err.Error()), "\n")
	matched := make([]bool, len(got))
	for _, line := range c.g.Lines(section) {
		node, text, _ := strings.Cut(line, ": ")
		i := slices.IndexFunc(got, func(g string) bool {
			return strings.Contains(g, node) && strings.Contains(g, text)
		})
		if i < 0 {
			t.Errorf("%s: no error matches %q in:\n%v", section, line, err)
			continue
		}
		matched[i] = true
	}
	for i, g := range got {
		if !matched[i] {
			t.Errorf("%s: no line matches the error %q", section, g)
		}
	}
}

// firedRules returns the rules that are in causes of nodes or have a counter that is not 0.
func firedRules(m *ir.Module, stats *pass.Stats) map[string]bool {
	fired := make(map[string]bool)
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			for _, c := range n.Causes() {
				fired[c.Rule] = true
			}
		}
	}
	for _, p := range stats.Passes {
		for _, c := range p.Counters {
			if c.Value > 0 {
				fired[strings.TrimPrefix(c.Name, p.Pass+".")] = true
			}
		}
	}
	return fired
}
