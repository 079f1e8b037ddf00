package cmd

import (
	"os"
	"strings"
	"testing"
)

// TestProgramFlagsAreThoseOfPrograms compares the table with the page of commands, on which the help of all commands of
// programs is what they print.
func TestProgramFlagsAreThoseOfPrograms(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	_, programs, ok := strings.Cut(string(page), "\n# The emitted program\n")
	if !ok {
		t.Fatal("the page has no part about programs")
	}
	shown := map[string]bool{"help": false}
	for line := range strings.Lines(programs) {
		name, value, isFlag := helpFlag(line)
		if isFlag {
			shown[name] = value
		}
	}
	for name, takesValue := range shown {
		if got, known := programFlags[name]; !known || got != takesValue {
			t.Errorf("--%s: known %v, takes a value %v, want %v", name, known, got, takesValue)
		}
	}
	for name := range programFlags {
		inText := strings.Contains(string(page), "`--"+name+" ") || strings.Contains(string(page), "`--"+name+"`")
		if _, ok := shown[name]; !ok && !inText {
			t.Errorf("--%s is no flag of programs", name)
		}
	}
	if len(shown) < 50 {
		t.Errorf("only %d flags were found on the page", len(shown))
	}
	for _, name := range programCommands {
		if !strings.Contains(programs, "\n  story "+name+" ") && !strings.Contains(programs, "story "+name) {
			t.Errorf("%s is no command of programs", name)
		}
	}
}

// helpFlag reads a line of the help of a program, which is "  --name VALUE   text".
func helpFlag(line string) (name string, takesValue, ok bool) {
	line, ok = strings.CutPrefix(line, "  -")
	if !ok || strings.HasPrefix(line, " ") {
		return "", false, false
	}
	head, rest, _ := strings.Cut(strings.TrimPrefix(line, "-"), " ")
	return head, !strings.HasPrefix(rest, " "), true
}
