// Package ir_test tests the text form and the verifier on files.
package ir_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
)

// TestTextsAreReadVerifiedAndPrinted reads in.ggir of each file in testdata. The file has one more section:
//
//	err    what Parse, or else Verify, complains about, one violation a line, all of them
//	want   the lossless text of the module; absent where that is in.ggir itself
//	narrow the text with only the columns that the line in section show names
func TestTextsAreReadVerifiedAndPrinted(t *testing.T) {
	irtest.RunGoldens(t, "testdata", []string{"in.ggir", "err", "want", "show", "narrow"}, func(t *testing.T, g *irtest.Golden) {
		m, err := ir.Parse("in.ggir", []byte(g.Section("in.ggir")))
		if err == nil {
			err = ir.Verify(m)
		}
		if g.Has("err") || err != nil {
			g.Want("err", errorText(err))
			return
		}
		printed(t, g, m)
	})
}

func errorText(err error) string {
	var verify *ir.VerifyError
	switch {
	case err == nil:
		return "none\n"
	case errors.As(err, &verify):
		return verify.Error()
	}
	return err.Error()
}

// printed checks the lossless text and, where asked for, a narrow one.
func printed(t *testing.T, g *irtest.Golden, m *ir.Module) {
	text := m.String()
	if g.Has("want") {
		g.Want("want", text)
	} else if !g.Has("show") {
		g.Want("in.ggir", text)
	}
	back, err := ir.Parse("printed", []byte(text))
	if err != nil {
		t.Fatalf("the printed text cannot be read: %v\n%s", err, text)
	}
	if equal, diff := ir.Equal(m, back); !equal {
		t.Errorf("printing loses: %s", diff)
	}
	if !g.Has("show") {
		return
	}
	show, err := ir.ParseShow(strings.TrimSpace(g.Section("show")))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := ir.Print(&b, m, ir.PrintOptions{Show: show, Bare: true}); err != nil {
		t.Fatal(err)
	}
	g.Want("narrow", b.String())
}
