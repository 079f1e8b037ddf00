package driver_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

const spread = `ggir 1
module "spread"
props imported
symbol n 1 4
weight "w" : f32[4]

func @f(%x: f32[n,4]) -> (y: f32[n,4]) {
  %w = weight "w" : f32[4]
  %a = mul %x, %w : f32[n,4]
  %b = neg %a : f32[n,4]
  %c = exp %b : f32[n,4]
  return %c
}
`

// TestImpossibleTextsAreRefused edits dumps of a graph that two targets share, as a user does who tries another plan by
// hand may do. What cannot be is the text's fault, never a bug of ours.
func TestImpossibleTextsAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name, after string
		edit        func(text string) string
		want        string // part of the error; empty for none
	}{
		{"no edit", "assign", replace("", ""), ""},
		{"another backend", "assign", replace(`%b = neg %a : f32[n,4] in "fake:0" @"fake:0"`, `%b = neg %a : f32[n,4] in host @cpu`), ""},
		{"a result out of reach", "assign", replace(`%b = neg %a : f32[n,4] in "fake:0" @"fake:0"`, `%b = neg %a : f32[n,4] in host @"fake:0"`),
			"@f %b: runs on fake:0, which cannot address host, where its result %b is: there are [fake:0]"},
		{"a weight's split", "split", replace(`@"fake:0" split=0 ; assign/assign.place`, `@"fake:0" split=7 ; assign/assign.place`),
			"%w: is of split 7, and a node of split 0 follows"},
		{"no pass", "split", replace("after split\n", ""), `no line "after" names the pass that ran last`},
		{"a cast without a kernel", "pack", castTwice,
			"@f %e: cpu has no kernel for cast that reads these operands as they are: compile it again from before pass pack"},
		{"a copy less", "copy", replace("= copy %", "= neg %"), "the plan in the text does not hold"},
		{"another queue", "pipeline", replace(`queue="fake:0"`, `queue="fake:7"`), "the plan in the text does not hold"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := dumpAfter(t, tt.after)
			edited := tt.edit(text)
			if edited == text && tt.name != "no edit" {
				t.Fatalf("nothing to edit in\n%s", text)
			}
			repro := t.TempDir()
			_, err := compileText(t, edited, driver.CompileOptions{Repro: repro})
			var bug *pass.InternalError
			switch {
			case errors.As(err, &bug):
				t.Fatalf("a bug of ours: %v\n%s", err, edited)
			case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("the error is %v, want %q\n%s", err, tt.want, edited)
			}
			if left, _ := os.ReadDir(repro); len(left) > 0 {
				t.Errorf("%s is left", left[0].Name())
			}
		})
	}
}

// castTwice makes f16 of bf16, for which there is no kernel.
func castTwice(text string) string {
	return regexp.MustCompile(`(?m)^  %c = exp %b : f32\[n,4\](.*)$`).ReplaceAllString(text,
		"  %h = cast %b {to=bf16} : bf16[n,4]$1\n  %e = cast %h {to=f16} : f16[n,4]$1\n  %c = cast %e {to=f32} : f32[n,4]$1")
}

func replace(old, new string) func(string) string {
	return func(text string) string { return strings.Replace(text, old, new, 1) }
}

// dumpAfter returns the text of the graph after a pass.
func dumpAfter(t *testing.T, last string) string {
	t.Helper()
	o := driver.CompileOptions{To: last, Passes: pass.Options{Pins: []pass.Pin{
		{Match: regexp.MustCompile("^[ab]$"), Backend: "fake:0"}, {Match: regexp.MustCompile("^c$"), Backend: "cpu"},
	}}}
	m, err := compileText(t, spread, o)
	if err != nil {
		t.Fatal(err)
	}
	return m.String()
}

func compileText(t *testing.T, text string, o driver.CompileOptions) (*ir.Module, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.ggir")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	md, err := driver.Load(t.Context(), path, driver.LoadOptions{WithoutWeights: true})
	if err != nil {
		return nil, err
	}
	defer md.Close()
	if o.Targets, err = target.Select("fake:0,fake:1,cpu"); err != nil {
		t.Fatal(err)
	}
	_, err = driver.Compile(t.Context(), md, o)
	return md.Module, err
}
