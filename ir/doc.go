// Package ir is the typed intermediate representation of a model, with its text form, its parser and its verifier.
// Passes record their decisions in it, and code is generated from it.
//
// A [Module] has weights, persistent states and functions that share them. A [Func] has nodes in
// execution order. A [Node] applies an [Op] to values and defines its results. A [Value] is defined
// once (SSA) and has a [Type]: dtype, layout, shape, strides and memory space. Extents are [Dim]s:
// constants, or expressions over bounded symbols. Memory is planned for the bounds; programs run with
// the actual sizes.
//
// Weights, states and constants enter a function as nodes (weight, state, constant), so that every
// operand is a value. A view (reshape, permute, slice) names the bytes of its operand. A node whose op
// has an alias operand (state_write) yields the next version of that operand's bytes. Reads name a
// version, so that data flow alone determines the order.
//
// A module carries the properties that passes have established ([Props]); [Verify] checks what they
// promise. The text form (.ggir) of a module is printed and parsed without loss at any stage; see
// [Parse] for its grammar.
//
// Frontends build modules with a [Builder]. Afterwards passes change them, one at a time. Nothing in
// this package may be used by several goroutines while it is changed.
package ir
