package driver

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/readback"
	"github.com/ggmlc/ggmlc/ir"
)

// emitSafely is codegen.Emit. A panic, and a program that differs from its plan, are bugs of this
// compiler. They become errors with the command that reproduces them.
func emitSafely(m *ir.Module, o codegen.Options) (p *codegen.Package, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = emitterBug(m, x, string(debug.Stack()))
		}
	}()
	p, err = codegen.Emit(m, o)
	var differs *readback.Error
	if errors.As(err, &differs) {
		return nil, emitterBug(m, err, "")
	}
	return p, err
}

// emitterBug returns the error for a panic. The module is kept in a file that shows it.
func emitterBug(m *ir.Module, x any, stack string) error {
	cause, ok := x.(error)
	if !ok {
		cause = fmt.Errorf("%v", x)
	}
	f, err := os.CreateTemp("", "ggmlc-emit-*.ggir")
	if err != nil {
		return errors.Join(&pass.InternalError{Pass: "emit", Module: m.Name, Err: cause, Stack: stack}, err)
	}
	_, err = f.WriteString(m.String())
	err = errors.Join(err, f.Close())
	cause = fmt.Errorf("%w\nreproduce with: ggmlc build -o FILE %s", cause, f.Name())
	return errors.Join(&pass.InternalError{Pass: "emit", Module: m.Name, Err: cause, Stack: stack}, err)
}
