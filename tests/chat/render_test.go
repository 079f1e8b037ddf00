// Package chat compares rendered chat templates with those of Python's jinja2.
package chat

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/runtime/jinja"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

var published = flag.String("published", "", "compare the templates *.jinja of this folder, and print a table of them")

// now is the time that both print.
var now = time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)

// rendering is a template with variables.
type rendering struct {
	Template string          `json:"template"`
	Vars     json.RawMessage `json:"vars"`
}

// rendered is what Python made of it.
type rendered struct{ Text, Error string }

// python renders templates by jinja2.
func python(t *testing.T, cases []rendering) []rendered {
	t.Helper()
	if err := exec.Command("python3", "-c", "import jinja2").Run(); err != nil {
		needtest.Skip(t, "jinja2", "no python3 with jinja2: install Debian's python3-jinja2")
	}
	input, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-I", filepath.Join("testdata", "render.py"))
	cmd.Stdin = bytes.NewReader(input)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []rendered
	if err := json.Unmarshal(out, &list); err != nil || len(list) != len(cases) {
		t.Fatalf("%d results of %d: %v", len(list), len(cases), err)
	}
	return list
}

// render renders a template by this project.
func render(t *testing.T, c rendering) (string, error) {
	t.Helper()
	v, err := jinja.FromJSON(c.Vars)
	if err != nil {
		t.Fatalf("%v: %s", err, c.Vars)
	}
	tmpl, err := jinja.Parse(c.Template)
	if err != nil {
		return "", err
	}
	return tmpl.Render(v.(*jinja.Dict), jinja.Options{Now: now})
}

// differs returns what is different between the two, or "".
func differs(t *testing.T, c rendering, want rendered) string {
	t.Helper()
	got, err := render(t, c)
	switch {
	case err != nil && want.Error == "":
		return fmt.Sprintf("%v\nwant %q", err, want.Text)
	case err == nil && want.Error != "":
		return fmt.Sprintf("no error, but %q\nwant %s", got, want.Error)
	case err == nil && got != want.Text:
		return fmt.Sprintf("%q\nwant %q", got, want.Text)
	case err != nil && strings.HasPrefix(want.Error, "TemplateError: ") && !strings.HasPrefix(err.Error(), strings.TrimSpace(want.Error[len("TemplateError: "):])+" (raised at line "):
		return fmt.Sprintf("raises %q\nwant %s", err, want.Error)
	}
	return ""
}

// TestPublishedTemplates prints how many conversations of each published template are rendered as jinja2 does.
// Templates are texts of others, so that the repository has none of them.
func TestPublishedTemplates(t *testing.T) {
	if *published == "" {
		t.Skip("skip: give -published a folder of templates")
	}
	files, err := filepath.Glob(filepath.Join(*published, "*.jinja"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates in %s: %v", *published, err)
	}
	all := conversations()
	var cases []rendering
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			cases = append(cases, rendering{string(text), json.RawMessage(c.vars)})
		}
	}
	results := python(t, cases)
	for i, file := range files {
		refused, equal := 0, 0
		for j, c := range all {
			want := results[i*len(all)+j]
			if what := differs(t, cases[i*len(all)+j], want); what != "" {
				t.Errorf("%s: %s: %s", filepath.Base(file), c.name, what)
				continue
			}
			if equal++; want.Error != "" {
				refused++
			}
		}
		fmt.Printf("| %s | %d | %d of %d |\n", strings.TrimSuffix(filepath.Base(file), ".jinja"), refused, equal, len(all))
	}
}
