package tests

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

const commandsPage = "docs/reference/commands.md"

// outputPages show whole outputs of commands, in blocks that begin with the command.
var outputPages = []string{commandsPage, "docs/reference/targets.md"}

// compiling are the commands whose common flags the page lists once.
var compiling = []string{"run", "build", "gen", "dump", "explain", "compare", "view", "diff"}

const (
	sharedHead = "# flags of all commands that compile"
	sharedLine = "      (and the flags of all commands that compile)"
)

var consoleBlock = regexp.MustCompile("(?ms)^```console\n(.*?)\n(.*?)^```")

// TestOutputPagesAreCurrent compares pages with what both programs print. Each command of ggmlc has to be
// on the page of commands.
func TestOutputPagesAreCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: compiles a program")
	}
	h := newHelper(t)
	var shown []string
	for _, page := range outputPages {
		shown = append(shown, h.compare(page)...)
	}
	for _, command := range h.commands() {
		if !slices.Contains(shown, "$ ggmlc "+command+" --help") {
			t.Errorf("%s does not show ggmlc %s --help", commandsPage, command)
		}
	}
}

// compare compares the blocks of a page, or rewrites them under -update, and returns their first lines.
func (h *helper) compare(name string) (shown []string) {
	path := filepath.Join(needtest.Root(h.t), filepath.FromSlash(name))
	old, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	page := consoleBlock.ReplaceAllStringFunc(string(old), func(block string) string {
		head := consoleBlock.FindStringSubmatch(block)[1]
		shown = append(shown, head)
		return "```console\n" + head + "\n" + h.text(head) + "```"
	})
	switch {
	case page == string(old):
	case flag.Lookup("update").Value.String() == "true": // declared by ir/irtest
		if err := os.WriteFile(path, []byte(page), 0o666); err != nil {
			h.t.Fatal(err)
		}
	default:
		h.t.Errorf("%s is not what commands print: go test ./tests -run TestOutputPages -update", name)
	}
	return shown
}

// helper runs ggmlc, and the program that it makes of the demo model.
type helper struct {
	t      *testing.T
	dir    string
	env    []string
	shared []string // lines of flags that all compiling commands have
}

func newHelper(t *testing.T) *helper {
	h := &helper{t: t, dir: readmeFolder(t)}
	h.env = append(os.Environ(), needtest.CacheEnv(t, filepath.Join(h.dir, "cache"))...)
	h.run("./ggmlc", "build", "model.gguf", "-o", "story")
	for i, command := range compiling {
		lines := strings.Split(h.run("./ggmlc", command, "--help"), "\n")
		lines = slices.DeleteFunc(lines, func(s string) bool { return !strings.Contains(s, "--") || !strings.HasPrefix(s, "  ") })
		for j := range lines {
			lines[j] = unaligned(lines[j])
		}
		if i > 0 {
			lines = slices.DeleteFunc(h.shared, func(s string) bool { return !slices.Contains(lines, s) })
		}
		h.shared = lines
	}
	if len(h.shared) < 10 {
		t.Fatalf("only %d flags are shared: does the test still read --help?", len(h.shared))
	}
	return h
}

func (h *helper) run(name string, args ...string) string {
	h.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = h.dir, h.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// text returns what follows the first line of a block.
func (h *helper) text(head string) string {
	command, isCommand := strings.CutPrefix(head, "$ ")
	switch {
	case head == sharedHead:
		lines := strings.Split(h.run("./ggmlc", compiling[0], "--help"), "\n")
		lines = slices.DeleteFunc(lines, func(s string) bool { return !slices.Contains(h.shared, unaligned(s)) })
		return strings.Join(lines, "\n") + "\n"
	case !isCommand:
		h.t.Errorf("%s: a block begins with %q", commandsPage, head)
		return ""
	}
	words := strings.Fields(command)
	return h.shortened(h.run("./"+words[0], words[1:]...))
}

// shortened replaces the shared flags by one line, where there are all of them.
func (h *helper) shortened(text string) string {
	var kept []string
	left := len(h.shared)
	for line := range strings.SplitSeq(text, "\n") {
		if slices.Contains(h.shared, unaligned(line)) {
			left--
		} else {
			kept = append(kept, line)
		}
	}
	if left > 0 {
		return text
	}
	return strings.TrimRight(strings.Join(kept, "\n"), "\n") + "\n" + sharedLine + "\n"
}

var alignment = regexp.MustCompile(`(\S)   +`)

// unaligned joins the columns of a line of flags, whose distance depends on the other flags.
func unaligned(line string) string { return alignment.ReplaceAllString(line, "$1   ") }

// commands returns the commands that ggmlc --help lists.
func (h *helper) commands() (names []string) {
	_, list, _ := strings.Cut(h.run("./ggmlc", "--help"), "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		if name := strings.Fields(line)[0]; name != "completion" && name != "help" {
			names = append(names, name)
		}
	}
	return names
}
