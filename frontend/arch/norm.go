package arch

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// norm is a norm of rows. The zero norm changes nothing.
type norm struct {
	kind normKind
	name string // of its tensors, without .weight or .bias
	size int64  // elements of a row
	eps  float64
	bias presence
}

type normKind int

const (
	noNorm normKind = iota
	rms
	layerNorm
	headLayerNorm // a layer norm of each head, which has its own factors
	bareLayerNorm // a layer norm without factors
	bareRMS       // a root-mean-square norm without factors
)

// rmsNorm describes a root-mean-square norm of the hidden state.
func (m *model) rmsNorm(name string) norm {
	return norm{kind: rms, name: name, size: m.embd, eps: m.positive("attention.layer_norm_rms_epsilon")}
}

// rmsNormIfAny is rmsNorm for layers that only some files have the norm in.
func (m *model) rmsNormIfAny(name string) norm {
	if !m.has(layerName(0, name+".weight")) {
		return norm{}
	}
	return m.rmsNorm(name)
}

// layerNorm describes a layer norm of the hidden state.
func (m *model) layerNorm(name string, bias presence) norm {
	return norm{kind: layerNorm, name: name, size: m.embd, eps: m.positive("attention.layer_norm_epsilon"), bias: bias}
}

// layerNormIfAny is layerNorm, with a bias if there is one, for layers that only some files have the norm in.
func (m *model) layerNormIfAny(name string) norm {
	if !m.has(layerName(0, name+".weight")) {
		return norm{}
	}
	return m.layerNorm(name, optional)
}

// bareNorm describes a layer norm of the hidden state that has no tensors.
func (m *model) bareNorm() norm {
	n := m.layerNorm("", absent)
	n.kind = bareLayerNorm
	return n
}

// bareRMSNorm describes a root-mean-square norm of rows of some size that has no tensors.
func (m *model) bareRMSNorm(size int64) norm {
	n := m.rmsNorm("").over(size)
	n.kind = bareRMS
	return n
}

// headNorm describes a layer norm of each head of queries or keys, which only some files have.
func (m *model) headNorm(name string, size int64) norm {
	if !m.has(layerName(0, name+".weight")) {
		return norm{}
	}
	n := m.layerNorm(name, absent).over(size)
	n.kind = headLayerNorm
	return n
}

// over returns the norm for rows of another size.
func (n norm) over(size int64) norm {
	n.size = size
	return n
}

func (n norm) apply(g *graph, x *ir.Value) *ir.Value {
	switch n.kind {
	case rms:
		return g.biased(g.f.RMSNorm(x, g.vector(n.name+".weight", n.size), float32(n.eps)), n.name, n.size, n.bias)
	case layerNorm:
		return g.f.LayerNorm(x, g.vector(n.name+".weight", n.size), g.bias(n.name, n.size, n.bias), float32(n.eps))
	case bareRMS:
		return g.f.RMSNorm(x, g.ones(n.size), float32(n.eps))
	case bareLayerNorm:
		return g.f.LayerNorm(x, g.ones(n.size), nil, float32(n.eps))
	}
	return x
}

// ones returns a vector of ones, the factors of a norm that has none.
func (g *graph) ones(n int64) *ir.Value {
	name := fmt.Sprint("ones.", n)
	g.declareLiteral(name, slices.Repeat([]float64{1}, int(n)), n)
	return g.f.Weight(name)
}

// applyHeads is apply on x [tokens, heads, size of a head]. Its rows are heads, or tokens if the norm is as wide as
// all heads together.
func (n norm) applyHeads(g *graph, x *ir.Value, heads, size int64) *ir.Value {
	switch {
	case n.kind == headLayerNorm:
		w := g.f.Reshape(g.vector(n.name+".weight", heads, size), ir.Const(heads*size))
		y := joinHeads(g.f, g.f.LayerNorm(x, g.ones(size), nil, float32(n.eps)))
		return splitHeads(g.f, g.f.Mul(y, w), heads, size)
	case n.kind == noNorm || n.size == size:
		return n.apply(g, x)
	}
	return splitHeads(g.f, n.apply(g, joinHeads(g.f, x)), heads, size)
}
