package codegen

import (
	"fmt"
	"math"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/ir"
)

// Kernels with many arguments take a shape: a struct with the extents and constants that are the same in each call. A
// shape of constants is a variable of the package, which all calls with an equal shape share:
//
//	var (
//		attn     = cpu.AttentionShape{Heads: 32, KVHeads: 8, Context: 2048, KeyLen: 64, ValueLen: 64, Scale: 0.125}
//		attnRope = cpu.RopeShape{Heads: 32, HeadLen: 64, Pairs: 32, NeoX: false}
//	)
//
// A shape with an extent that the caller decides is written where it is used.

// shapeField is one field of a shape.
type shapeField struct {
	name  string
	value *jen.Statement
	text  string // of the value: equal values have equal texts
	sizes bool   // the value depends on the sizes of the call
}

// extent is a field that holds an extent.
func (e *funcEmitter) extent(name string, d ir.Dim) shapeField {
	_, isConst := d.IsConst()
	return shapeField{name: name, value: jen.Add(e.dim(d)), text: d.String(), sizes: !isConst}
}

// factor is a field that holds a constant.
func factor(name string, f float32) shapeField {
	return shapeField{name: name, value: jen.Add(float(f)), text: fmt.Sprint(math.Float32bits(f))}
}

// shape returns the expression for the shape of a node's call. kind is the name of its type without the ending Shape.
func (e *funcEmitter) shape(n *ir.Node, kind string, fields ...shapeField) jen.Code {
	var values []jen.Code
	key := kind
	sizes := false
	for _, f := range fields {
		values = append(values, jen.Id(f.name).Op(":").Add(f.value))
		key += " " + f.name + "=" + f.text
		sizes = sizes || f.sizes
	}
	literal := jen.Qual(e.g.cpuPath(), kind+"Shape").Values(values...)
	if sizes {
		return literal
	}
	name, declared := e.g.shapes[key]
	if !declared {
		name = e.g.top.pick(shapeName(n, kind))
		e.g.shapes[key] = name
		e.g.shapeVars = append(e.g.shapeVars, jen.Id(name).Op("=").Add(literal))
	}
	return jen.Id(name)
}

// declareShapes writes the variables of shapes before the functions that use them.
func (g *generator) declareShapes() {
	switch len(g.shapeVars) {
	case 0:
		return
	case 1:
		commentBefore(g.shapeDecl, "The shape of the kernels' calls.").Var().Add(g.shapeVars[0])
	default:
		commentBefore(g.shapeDecl, "Shapes of the kernels' calls. Equal shapes are one variable.").Var().Defs(g.shapeVars...)
	}
	g.shapeDecl.Line()
}

// shapeName returns the name of a variable after the layer part that a node belongs to: attnRope for a rope in
// blk.3.attn. That part is, foremost, attention.
func shapeName(n *ir.Node, kind string) string {
	name := lowerFirst(kind)
	if part := layerPart(n); part != "" {
		name = part
		if kind != "Attention" {
			name += kind
		}
	}
	if isReserved(name) || isMemory(name) {
		name += "Shape"
	}
	return name
}

// layerPart returns the last word of a node's origin as part of a name: attn for blk.3.attn. It is empty where that is
// no word.
func layerPart(n *ir.Node) string {
	part := n.Pos[strings.LastIndex(n.Pos, ".")+1:]
	if !isWord(part) {
		return ""
	}
	return lowerFirst(exportedName(part))
}

// longestWord is the length of the longest text that becomes part of a name.
const longestWord = 32

// isWord reports whether a text reads well as part of a name: letters, and digits and underscores between them.
func isWord(text string) bool {
	isLetter := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	return text != "" && len(text) <= longestWord && isLetter(text[0]) && !strings.ContainsFunc(text, func(r rune) bool { return !isIdent(r) })
}

func lowerFirst(name string) string { return strings.ToLower(name[:1]) + name[1:] }
