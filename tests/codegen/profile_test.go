package codegen_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
)

// TestProfileNotesWaits checks that a program with a profile has a mark before every
// barrier, also before the one at the head of iterations. Without it the wait would be
// counted as time of the node before it.
func TestProfileNotesWaits(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/repeat.txtar")
	if err != nil {
		t.Fatal(err)
	}
	barriers := 0
	for _, f := range archive.Files {
		if f.Name != "in.ggir" {
			continue
		}
		m, err := ir.Parse(f.Name, f.Data)
		if err != nil {
			t.Fatal(err)
		}
		if err := compile(m); err != nil {
			t.Fatal(err)
		}
		p, err := codegen.Emit(m, codegen.Options{Package: "tiny", Compiler: "ggmlc test", Name: "tiny", PlanID: "test", Profile: true})
		if err != nil {
			t.Fatal(err)
		}
		barriers = wantNotes(t, p)
	}
	if barriers < 2 {
		t.Errorf("%d barriers, and the loop's rounds should begin with one", barriers)
	}
}

// wantNotes checks the line before each barrier, and returns how many there are.
func wantNotes(t *testing.T, p *codegen.Package) (barriers int) {
	before := ""
	for _, f := range p.Files {
		for line := range strings.Lines(string(f.Data)) {
			line = strings.TrimSpace(line)
			if line == "w.Barrier()" {
				if barriers++; before != "w.Mark(0)" {
					t.Errorf("%s: %q stands before a barrier, and not a note of the wait", f.Name, before)
				}
			}
			before = line
		}
	}
	return barriers
}
