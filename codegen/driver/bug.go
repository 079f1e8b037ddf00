package driver

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
)

// emitSafely is codegen.Emit; a panic, which is a bug of ours, becomes an error that says how
// to see it again.
func emitSafely(m *ir.Module, o codegen.Options) (p *codegen.Package, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = emitterBug(m, x, string(debug.Stack()))
		}
	}()
	return codegen.Emit(m, o)
}

// emitterBug returns the error for a panic. The module is kept in a file that shows it.
func emitterBug(m *ir.Module, x any, stack string) error {
	cause, ok := x.(error)
	if !ok {
		cause = fmt.Errorf("%v", x)
	}
	f, err := os.CreateTemp("", "ggmlc-emit-*.ggir")
	if err != nil {
		return errors.Join(&passes.InternalError{Pass: "emit", Module: m.Name, Err: cause, Stack: stack}, err)
	}
	_, err = f.WriteString(m.String())
	err = errors.Join(err, f.Close())
	cause = fmt.Errorf("%w\nreproduce with: ggmlc build -o FILE %s", cause, f.Name())
	return errors.Join(&passes.InternalError{Pass: "emit", Module: m.Name, Err: cause, Stack: stack}, err)
}
