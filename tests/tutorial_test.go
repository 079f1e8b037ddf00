package tests

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

// tutorialBlock is a block of commands with their output, or the one file that a page asks for.
var tutorialBlock = regexp.MustCompile("(?ms)^```(console|go)\n(.*?)^```")

// TestTutorialIsReal follows the tutorial: commands have to print what the page shows of them, where …
// matches any text.
func TestTutorialIsReal(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: compiles several programs")
	}
	dir := tourFolder(t)
	env := append(os.Environ(), needtest.CacheEnv(t, filepath.Join(t.TempDir(), "cache"))...)
	port := freePort(t)
	ran := 0
	for _, block := range tutorialBlock.FindAllStringSubmatch(pagesOf(t, needtest.Root(t))["docs/tutorial.md"], -1) {
		text := strings.ReplaceAll(block[2], "8080", port)
		if block[1] == "go" {
			if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, step := range strings.Split("\n"+text, "\n$ ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			if strings.HasPrefix(command, "./story --prompt") && ran == 0 {
				continue // the first block shows where the tutorial leads to
			}
			cmd := exec.Command("sh", "-ec", command)
			cmd.Dir, cmd.Env = dir, env
			out, err := cmd.CombinedOutput()
			if err != nil && !strings.Contains(command, "kill") {
				t.Fatalf("%s: %v\n%s", command, err, out)
			}
			if !printed(string(out), want) {
				t.Errorf("%s prints\n%s\nnot\n%s", command, out, want)
			}
			ran++
		}
	}
	if ran < 20 {
		t.Errorf("only %d commands were found", ran)
	}
}

// printed reports whether got consists of the pieces of want in their order, where … stands for any
// text; a want without … is all of got.
func printed(got, want string) bool {
	pieces := strings.Split(strings.TrimSpace(want), "…")
	for i, piece := range pieces {
		pieces[i] = regexp.QuoteMeta(strings.Trim(piece, "\n"))
	}
	return regexp.MustCompile(`(?s)^\s*` + strings.Join(pieces, ".*?") + `\s*$`).MatchString(got)
}

func TestPrinted(t *testing.T) {
	for _, tt := range []struct {
		got, want string
		is        bool
	}{
		{"a\nb\nc\n", "a\n…\nc\n", true}, {"a\nb\n", "a\nb\n", true}, {"abc\n", "a…\n", true},
		{"a\nb\n", "a\n", false}, {"b\na\n", "a\n…\nb\n", false}, {"a\n", "", false},
	} {
		if got := printed(tt.got, tt.want); got != tt.is {
			t.Errorf("printed(%q, %q) = %v", tt.got, tt.want, got)
		}
	}
}

// tourFolder is a folder with ggmlc and the demo model, beside a clone.
func tourFolder(t *testing.T) string {
	root, around := needtest.Root(t), t.TempDir()
	if err := os.Symlink(root, filepath.Join(around, "ggmlc")); err != nil {
		t.Skipf("skip: no links here: %v", err)
	}
	dir := filepath.Join(around, "tour")
	if err := os.Rename(readmeFolder(t), dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "model.gguf"), filepath.Join(dir, "stories.gguf")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
