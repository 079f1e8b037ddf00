// Package passtest runs tests of passes that are txtar files.
//
// A file begins with a sentence that says what it shows. Its sections are
//
//	targets     descriptors as target.Parse reads them; the cpu if absent
//	in.ggir     the module
//	run         passes, separated by commas, then options: key=value
//	want        what ir.Print shows of the module afterwards
//	err         or the errors: a line for each, NODE: SUBSTRING
//	rules       lines "expect RULE ..." and "expect-not RULE ..."
//
// Several runs are sections run.1, run.2, …, with want.1, err.1, rules.1 and so on; each
// starts from the module as it is in the file. The options of a run are rules, pin, deny,
// disable, debug, threads, pipeline (each as on the command line; pin and disable may occur again)
// and show: the columns that ir.Print shows, separated by commas.
//
// With -update, want sections are rewritten; irtest.RunGoldens says what else is checked.
package passtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// Coverage says which rules the tests of a folder expect, and which they expect not to
// fire, each with the files.
type Coverage struct{ Expect, ExpectNot map[string][]string }

// sections are the names that sections may have.
var sections = []string{"targets", "in.ggir", "run", "run.*", "want", "want.*", "err", "err.*", "rules", "rules.*"}

// Run runs the .txtar files in the folders below dir as subtests, and returns which rules
// they speak of. Each folder is named after the pass that its files are about.
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
			irtest.RunGoldens(t, filepath.Join(dir, e.Name()), sections, func(t *testing.T, g *irtest.Golden) { runFile(t, g, cov) })
		})
	}
	return cov
}

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

// targetsOf reads a section targets; an empty or absent one is the cpu.
func targetsOf(section string) (*target.List, error) {
	if section == "" {
		section = "target cpu like=cpu"
	}
	return target.Parse("targets", section)
}

// runSuffixes returns "", ".1", ".2" and so on, as far as there are runs.
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

// testCase is one run section and what belongs to it.
type testCase struct {
	g                 *irtest.Golden
	suffix            string
	options           passes.RunOptions
	show              ir.Show
	expect, expectNot []string
}

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

// read reads a run section.
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
	case "threads":
		o.Threads, err = strconv.Atoi(value)
	case "show":
		c.show, err = ir.ParseShow(value)
	default:
		err = fmt.Errorf("unknown option %s=%s", key, value)
	}
	return err
}

// memory reads BACKEND=SIZE.
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

// rule reads a line of a rules section.
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

// compareErrors demands that every wanted line is met by an error and every error by a
// line.
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
	used := make([]bool, len(got))
	for _, line := range c.g.Lines(section) {
		node, text, _ := strings.Cut(line, ": ")
		i := slices.IndexFunc(got, func(g string) bool { return strings.Contains(g, node) && strings.Contains(g, text) })
		if i < 0 {
			t.Errorf("%s: no error meets %q in:\n%v", section, line, err)
			continue
		}
		used[i] = true
	}
	for i, g := range got {
		if !used[i] {
			t.Errorf("%s: nothing expects the error %q", section, g)
		}
	}
}

// firedRules returns the rules that are named in causes or were counted.
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
