package irtest

import (
	"flag"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files that differ, and show how")

// Golden is a txtar file under test. Its comment begins with a sentence that describes what the file
// shows.
type Golden struct {
	t       *testing.T
	path    string
	archive *txtar.Archive
	used    map[string]bool
	changed bool
}

// RunGoldens runs a subtest for each .txtar file in a folder. Sections are the names of the sections
// that files may have, as patterns of path.Match ("want*"). These fail the test: a file without a
// comment, an unknown or duplicate section, a section that the test did not use, and a file that is not
// a .txtar file.
func RunGoldens(t *testing.T, dir string, sections []string, run func(t *testing.T, g *Golden)) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".txtar" {
			t.Errorf("%s: no test reads it", filepath.Join(dir, e.Name()))
			continue
		}
		found = true
		t.Run(strings.TrimSuffix(e.Name(), ".txtar"), func(t *testing.T) {
			g := openGolden(t, filepath.Join(dir, e.Name()))
			g.checkSections(sections)
			run(t, g)
			g.finish()
		})
	}
	if !found {
		t.Errorf("%s: no .txtar files", dir)
	}
}

func openGolden(t *testing.T, file string) *Golden {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return &Golden{t: t, path: file, archive: archive, used: make(map[string]bool)}
}

func (g *Golden) checkSections(allowed []string) {
	g.t.Helper()
	if strings.TrimSpace(string(g.archive.Comment)) == "" {
		g.t.Errorf("%s: does not begin with a sentence that describes what it shows", g.path)
	}
	seen := make(map[string]bool)
	for _, f := range g.archive.Files {
		if seen[f.Name] {
			g.t.Errorf("%s: section %q is doubled", g.path, f.Name)
		}
		seen[f.Name] = true
		known := slices.ContainsFunc(allowed, func(pattern string) bool {
			ok, err := path.Match(pattern, f.Name)
			return ok && err == nil
		})
		if !known {
			g.t.Errorf("%s: section %q is unknown: the known ones are %s", g.path, f.Name, strings.Join(allowed, ", "))
			g.used[f.Name] = true
		}
	}
}

// Path returns the file's path.
func (g *Golden) Path() string { return g.path }

// Has reports whether the file has a section. It does not count as use of the section.
func (g *Golden) Has(name string) bool { return g.find(name) != nil }

// Section returns the text of a section; empty if there is none.
func (g *Golden) Section(name string) string {
	g.used[name] = true
	if f := g.find(name); f != nil {
		return string(f.Data)
	}
	return ""
}

// Lines returns the lines of a section that are neither empty nor start with #.
func (g *Golden) Lines(name string) []string {
	var out []string
	for line := range strings.Lines(g.Section(name)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

func (g *Golden) find(name string) *txtar.File {
	for i := range g.archive.Files {
		if g.archive.Files[i].Name == name {
			return &g.archive.Files[i]
		}
	}
	return nil
}

// Want compares got with a section, except for a missing newline at the end. With -update it replaces
// the section by got.
func (g *Golden) Want(name, got string) {
	g.t.Helper()
	if got != "" && !strings.HasSuffix(got, "\n") {
		got += "\n"
	}
	had := g.Has(name)
	want := g.Section(name)
	if got == want && had {
		return
	}
	diff := cmp.Diff(strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n"))
	if !*update {
		g.t.Errorf("%s: section %q differs (-want +got); -update accepts it:\n%s", g.path, name, diff)
		return
	}
	g.t.Logf("%s: section %q updated (-before +now):\n%s", g.path, name, diff)
	g.set(name, got)
}

func (g *Golden) set(name, text string) {
	g.changed = true
	if f := g.find(name); f != nil {
		f.Data = []byte(text)
		return
	}
	g.archive.Files = append(g.archive.Files, txtar.File{Name: name, Data: []byte(text)})
}

// finish reports unused sections and writes the changes.
func (g *Golden) finish() {
	g.t.Helper()
	for _, f := range g.archive.Files {
		if !g.used[f.Name] && !g.t.Failed() {
			g.t.Errorf("%s: section %q has no effect: the test does not look at it", g.path, f.Name)
		}
	}
	if !g.changed {
		return
	}
	if err := os.WriteFile(g.path, txtar.Format(g.archive), 0o644); err != nil {
		g.t.Error(err)
	}
}
