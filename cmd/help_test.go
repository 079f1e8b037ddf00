package cmd

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestHelpFitsOnATerminal looks at the texts of all commands. Flags are wrapped where a terminal shows them.
func TestHelpFitsOnATerminal(t *testing.T) {
	root := newRoot(0)
	for _, cmd := range append(root.Commands(), root) {
		columns := 80
		if cmd.Name() == "pack" {
			columns = 90 // for its table of techniques
		}
		for line := range strings.Lines(cmd.Long + "\n" + cmd.Example) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
				t.Errorf("%s: %d columns: %s", cmd.Name(), n, line)
			}
		}
		if n := len("  completion  ") + utf8.RuneCountInString(cmd.Short); n > columns {
			t.Errorf("%s: %d columns in the list of commands", cmd.Name(), n)
		}
		if cmd != root && cmd.GroupID == "" {
			t.Errorf("%s has no group", cmd.Name())
		}
	}
}

func TestHelpIsWrappedOnTerminalsOnly(t *testing.T) {
	for _, c := range []struct {
		width int
		wraps bool
	}{{0, false}, {80, true}} {
		root := newRoot(c.width)
		var b strings.Builder
		root.SetOut(&b)
		root.SetArgs([]string{"build", "--help"})
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		longest := 0
		for line := range strings.Lines(b.String()) {
			longest = max(longest, utf8.RuneCountInString(line))
		}
		if wraps := longest <= 81; wraps != c.wraps || !strings.Contains(b.String(), "--output") {
			t.Errorf("width %d: the longest line has %d columns", c.width, longest)
		}
	}
}
