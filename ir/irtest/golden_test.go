package irtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoldenChild is no test of its own: TestGoldensFailOrUpdate runs it in a process of its own, as
// it is meant to fail there, on the folder that the environment names.
func TestGoldenChild(t *testing.T) {
	dir := os.Getenv("GGMLC_GOLDEN_DIR")
	if dir == "" {
		t.Skip("skip: runs within TestGoldensFailOrUpdate")
	}
	RunGoldens(t, dir, []string{"in", "want*"}, func(t *testing.T, g *Golden) {
		g.Want("want", strings.ToUpper(strings.Join(g.Lines("in"), ",")))
	})
}

func TestGoldensFailOrUpdate(t *testing.T) {
	const good = "Letters become large.\n-- in --\na\n# no line\nb\n-- want --\nA,B\n"
	tests := []struct {
		name, file, text string
		update           bool
		fails            string // a part of the output; empty for success
		after            string // the file afterwards
	}{
		{name: "good", file: "a.txtar", text: good, after: good},
		{name: "differs", file: "a.txtar", text: strings.Replace(good, "A,B", "A", 1), fails: `section "want" differs`},
		{name: "updated", file: "a.txtar", text: strings.Replace(good, "A,B", "A", 1), update: true, after: good},
		{name: "added", file: "a.txtar", text: strings.Replace(good, "-- want --\nA,B\n", "", 1), update: true, after: good},
		{name: "orphan", file: "a.txt", text: good, fails: "no test reads it"},
		{name: "no sentence", file: "a.txtar", text: "-- in --\n-- want --\n", fails: "does not begin with a sentence"},
		{name: "unknown section", file: "a.txtar", text: good + "-- out --\n", fails: `section "out" is unknown: the known ones are in, want*`},
		{name: "section without effect", file: "a.txtar", text: good + "-- want.2 --\n", fails: `section "want.2" has no effect`},
		{name: "doubled section", file: "a.txtar", text: good + "-- in --\n", fails: `section "in" is doubled`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, tt.file)
			if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := runChild(t, dir, tt.update)
			if (err != nil) != (tt.fails != "") || !strings.Contains(out, tt.fails) {
				t.Errorf("error %v, want output with %q:\n%s", err, tt.fails, out)
			}
			if got, _ := os.ReadFile(path); tt.after != "" && string(got) != tt.after {
				t.Errorf("the file is now\n%s\nwant\n%s", got, tt.after)
			}
		})
	}
}

func runChild(t *testing.T, dir string, update bool) (string, error) {
	args := []string{"-test.run=^TestGoldenChild$"}
	if update {
		args = append(args, "-update")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), "GGMLC_GOLDEN_DIR="+dir)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
