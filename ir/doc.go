// Package ir is the typed intermediate representation of a model: what passes decide
// about and what emitters read.
//
// A [Module] holds weights, persistent states and functions that share them. A [Func]
// holds nodes in execution order. A [Node] applies an [Op] to values and defines its
// results; a [Value] is defined once (SSA) and has a [Type]: dtype, layout, shape,
// strides, memory space. Extents are [Dim]s: constants or expressions over bounded
// symbols; memory is planned for the bounds, programs run with the actual sizes.
//
// Weights, states and constants enter a function as nodes (weight, state, constant), so
// that every operand is a value. A view (reshape, permute, slice) names the bytes of its
// operand. A node whose op has an alias operand (state_write) yields the next version of
// that operand's bytes; reads name a version, so order is data flow only.
//
// A module carries the properties that passes have established ([Props]); [Verify]
// checks all that the properties promise. The text form (.ggir) of any module, at any
// level, prints and parses without loss; the grammar stands at [Parse].
//
// Frontends build modules with a [Builder]; afterwards only passes change them, one at a
// time. Nothing in this package is safe for use from several goroutines while it is
// changed.
package ir
