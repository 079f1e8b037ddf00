package tests

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

const seedPage = "docs/reference/seed.md"

// seedRow is a row of a table of the page: a function, its counterpart, and a remark.
var seedRow = regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\| (.*) \\| (.*) \\|$")

// TestSeedFunctionsHaveCounterparts compares the tables with the lists of functions of ggml's headers, and looks up
// each command, flag, field and declaration that they name.
func TestSeedFunctionsHaveCounterparts(t *testing.T) {
	root := needtest.Root(t)
	pages := pagesOf(t, root)
	c := &counterparts{commands: pages[commandsPage], names: &declarations{root: root, packages: make(map[string]map[string]bool)}}
	var shown []string
	for _, m := range seedRow.FindAllStringSubmatch(pages[seedPage], -1) {
		name, here, why := m[1], m[2], m[3]
		shown = append(shown, name)
		spans := codeSpan.FindAllStringSubmatch(here+" "+why, -1)
		if here == "-" && why == "" || here != "-" && len(spans) == 0 {
			t.Errorf("%s has neither a counterpart nor a reason", name)
		}
		for _, span := range spans {
			if err := c.find(span[1]); err != nil {
				t.Errorf("%s: `%s`: %v", name, span[1], err)
			}
		}
	}
	compareNamesOnce(t, shown, seedFunctions(t, root))
}

// seedFunctions returns the functions of ggml's headers without their common prefix.
func seedFunctions(t *testing.T, root string) (names []string) {
	files, err := filepath.Glob(filepath.Join(root, "tests", "testdata", "seed", "*.txt"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%d lists of functions, error %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "#") {
				names = append(names, strings.TrimPrefix(strings.TrimSpace(line), "ggml_backend_"))
			}
		}
	}
	return names
}

// compareNamesOnce demands that each wanted name is shown once, and no other.
func compareNamesOnce(t *testing.T, shown, want []string) {
	t.Helper()
	count := make(map[string]int)
	for _, name := range shown {
		count[name]++
	}
	for _, name := range want {
		if count[name] != 1 {
			t.Errorf("%s has %d rows for %s", seedPage, count[name], name)
		}
		delete(count, name)
	}
	for name := range count {
		t.Errorf("%s has a row for %s, which the headers lack", seedPage, name)
	}
}

// counterparts looks up what the page names.
type counterparts struct {
	commands string // the page of commands, which is compared with what commands print
	names    *declarations
}

var (
	seedCommand = regexp.MustCompile(`^(ggmlc|story)((?: [a-z]+)+)$`)
	seedFlag    = regexp.MustCompile(`^--[a-z-]+$`)
	seedField   = regexp.MustCompile(`^([a-z]+)=$`)
)

// find returns an error if there is nothing of that name.
func (c *counterparts) find(span string) error {
	if seedCommand.MatchString(span) {
		if !strings.Contains(c.commands, "\n$ "+span+" --help\n") {
			return errors.New("there is no such command")
		}
		return nil
	}
	if seedFlag.MatchString(span) {
		if !regexp.MustCompile(`(?m)^ +(?:-\w, +)?` + span + ` |^A program built with .*` + span + ` `).MatchString(c.commands) {
			return errors.New("there is no such flag")
		}
		return nil
	}
	if m := seedField.FindStringSubmatch(span); m != nil {
		if !slices.ContainsFunc(target.Fields(), func(f target.Field) bool { return f.Name == m[1] }) {
			return errors.New("targets have no such field")
		}
		return nil
	}
	if found, err := c.names.resolve(span); err != nil || found {
		return err
	}
	return fmt.Errorf("it is neither a command, a flag, a field of targets nor a declaration")
}

func TestMissingCounterpartsAreNoticed(t *testing.T) {
	root := needtest.Root(t)
	c := &counterparts{commands: pagesOf(t, root)[commandsPage], names: &declarations{root: root, packages: make(map[string]map[string]bool)}}
	for _, span := range []string{"ggmlc build", "story plan", "--pin", "--observe-to", "space=", "runtime.Session.Run", "passes/target.New"} {
		if err := c.find(span); err != nil {
			t.Errorf("%s: %v", span, err)
		}
	}
	for _, span := range []string{"ggmlc fly", "story fly", "--pinned", "spaces=", "runtime.Session.Fly", "passes/target.Fly", "Fly"} {
		if c.find(span) == nil {
			t.Errorf("%s: that it does not exist is not noticed", span)
		}
	}
}
