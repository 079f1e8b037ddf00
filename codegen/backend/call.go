package backend

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// Kernel returns the call that computes a node, or an error if no method does.
type Kernel func(n *ir.Node) (Call, error)

// call returns the call of a node, checked. A panic of the kernel is an error: it is code of another module.
func (k Kernel) call(n *ir.Node) (c Call, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("its function panics: %v", v)
		}
	}()
	if c, err = k(n); err != nil {
		return c, err
	}
	for i, a := range c.Args {
		if a.Kind == AddressArg && a.Value != nil && !slices.Contains(n.Args, a.Value) && !slices.Contains(n.Results, a.Value) {
			return c, fmt.Errorf("argument %d is the address of %v, which is neither an operand nor a result", i, a.Value)
		}
		if a.Kind > BoolArg {
			return c, fmt.Errorf("argument %d is of the kind %d, which there is not", i, a.Kind)
		}
	}
	return c, nil
}

// Call is a call of a method of the run-time package's Env.
type Call struct {
	Method string
	Args   []Arg
}

// Arg is an argument of a Call. Address, Size, Int, Float and Bool make them.
type Arg struct {
	Kind  ArgKind
	Value *ir.Value // of an Address
	Dim   ir.Dim    // of a Size
	Float float32
	Bool  bool
}

// ArgKind is the kind of an argument, which decides its Go type.
type ArgKind uint8

// The kinds.
const (
	AddressArg ArgKind = iota // runtime.Span
	SizeArg                   // int
	FloatArg                  // float32
	BoolArg                   // bool
)

// Address passes where the bytes of an operand or result begin, as a runtime.Span. That of nil, for an operand that is
// not there, has the memory -1.
func Address(v *ir.Value) Arg { return Arg{Kind: AddressArg, Value: v} }

// Size passes an extent, as an int: a constant, or what it is in the step.
func Size(d ir.Dim) Arg { return Arg{Kind: SizeArg, Dim: d} }

// Int passes an int.
func Int(n int64) Arg { return Size(ir.Const(n)) }

// Float passes a float32, with its bits.
func Float(f float32) Arg { return Arg{Kind: FloatArg, Float: f} }

// Bool passes a bool.
func Bool(b bool) Arg { return Arg{Kind: BoolArg, Bool: b} }
