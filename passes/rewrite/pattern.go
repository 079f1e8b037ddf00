package rewrite

import "github.com/ggmlc/ggmlc/ir"

// Pattern is a tree of ops that a [Rewrite] looks for. It describes a value by the node that defines it, and the node's
// operands by further patterns.
//
// Example: silu(gate) * up, where the product is the only reader of silu's result.
//
//	Pattern{Op: ir.OpMul, Args: []Pattern{
//		{Op: ir.OpSiLU, Args: []Pattern{AnyValue("gate")}, Once: true},
//		AnyValue("up"),
//	}}
//
//	%s = silu %g
//	%m = mul %s, %u    matches: the root is the mul, gate is %g, up is %u, and the root takes over the silu
//
// Operands match in their order. Canonicalize gives those of commutative ops one order, so one pattern is enough.
type Pattern struct {
	Op   ir.Op     // of the node; OpInvalid for any value
	Args []Pattern // of its first operands; the others may be anything
	Len  int       // number of operands that are present; 0 is any number
	Bind string    // name under which Where and Build get the value
	Once bool      // the value has one reader and is not a result of the function
}

// AnyValue returns the pattern of any value, bound to name.
func AnyValue(name string) Pattern { return Pattern{Bind: name} }
