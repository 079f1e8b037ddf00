package driver

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/check"
)

// TestEmitterBugNamesItsReproducer gives the emitter a module whose plan has no address for anything.
func TestEmitterBugNamesItsReproducer(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := ir.NewBuilder("broken")
	f := b.Func("f")
	f.Return("y", f.Neg(f.Param("x", ir.Type{DType: dtype.F32, Shape: ir.Dims(4)})))
	m, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	m.Props, m.Plan = ^ir.Props(0), &ir.Plan{} // not true
	_, err = emitSafely(m, codegen.Options{Package: "main", Name: "broken"})
	var bug *pass.InternalError
	if !errors.As(err, &bug) {
		t.Fatalf("got %v", err)
	}
	_, path, ok := strings.Cut(err.Error(), "reproduce with: ggmlc build -o FILE ")
	if !ok {
		t.Fatalf("no command in %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "neg %x") {
		t.Errorf("the module was not kept: %v", err)
	}
}

// TestRefutedBlamesTextOrCompiler decides for each violation whether the text is wrong or the compiler.
func TestRefutedBlamesTextOrCompiler(t *testing.T) {
	split := ir.PropImported | ir.PropShaped | ir.PropAssigned | ir.PropPacked | ir.PropSplit
	queued := split | ir.PropCopied | ir.PropQueued
	for _, tt := range []struct {
		came  ir.Props
		rules []string
		text  bool
	}{
		{ir.PropImported, []string{check.RuleKernel}, false},
		{split, []string{check.RuleKernel}, false},
		{queued, []string{check.RuleKernel, check.RuleQueue}, false},
		{split, []string{check.RuleReach}, false},
		{split, []string{check.RuleKernel, check.RuleReach}, false},
		{queued, []string{check.RuleQueue, check.RuleReach}, true},
		{queued, []string{check.RuleOverlap}, false},
		{queued | ir.PropPartitioned, []string{check.RuleOverlap}, true},
	} {
		wrong := &check.Error{}
		for _, rule := range tt.rules {
			wrong.Violations = append(wrong.Violations, &check.Violation{Rule: rule})
		}
		var bug *pass.InternalError
		err := refuted(&pass.InternalError{Pass: "check", Err: wrong}, tt.came)
		if ours := errors.As(err, &bug); ours == tt.text {
			t.Errorf("%v in a text that is %v: a bug of ours: %v", tt.rules, tt.came, ours)
		}
	}
}
