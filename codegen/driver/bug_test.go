package driver

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes"
)

// TestEmitterBug gives the emitter a module whose plan has no address for anything.
func TestEmitterBug(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := ir.NewBuilder("broken")
	f := b.Func("f")
	f.Return("y", f.Neg(f.Param("x", ir.Type{DType: dtype.F32, Shape: ir.Dims(4)})))
	m, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	m.Props, m.Plan = ^ir.Props(0), &ir.Plan{} // a lie
	_, err = emitSafely(m, codegen.Options{Package: "main", Name: "broken"})
	var bug *passes.InternalError
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
