package codegen

import (
	"cmp"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// stateTable emits where the states of sessions are; nil if there are none.
func (g *generator) stateTable() jen.Code {
	var rows []jen.Code
	for _, s := range g.m.States {
		rows = append(rows, jen.Values(g.stateInfo(s)))
	}
	if rows == nil {
		return nil
	}
	return jen.Index().Qual(g.runtimePath(), "StateInfo").Values(rows...)
}

// stateInfo returns the fields of a state.
func (g *generator) stateInfo(s *ir.State) jen.Dict {
	var dims []jen.Code
	for _, d := range s.Type.Shape {
		dims = append(dims, jen.Lit(int(d.Upper())))
	}
	d := jen.Dict{
		jen.Id("Name"):   jen.Lit(s.Name),
		jen.Id("Type"):   jen.Qual(g.dtypePath(), cmp.Or(dtypeNames[s.Type.DType], suffix(s.Type.DType))),
		jen.Id("Dims"):   jen.Index().Int().Values(dims...),
		jen.Id("Offset"): jen.Lit(int(s.Place.Offset)),
		jen.Id("Bytes"):  jen.Lit(int(s.Type.MaxBytes())),
	}
	if s.Type.Layout != dtype.Plain {
		d[jen.Id("Layout")] = jen.Qual(g.dtypePath(), layoutNames[s.Type.Layout])
	}
	if len(g.layout.devices) > 0 {
		d[jen.Id("Memory")] = jen.Lit(g.layout.number(s.Place.Arena, s.Place.Chunk))
	}
	if g.m.LM == nil || s.Type.Rank() != 4 {
		return d
	}
	d[jen.Id("Heads")] = jen.Lit(int(s.Type.Shape[1].Upper()))
	if n := s.Type.Shape[2].Upper(); n < g.m.Context() {
		d[jen.Id("Rows")] = jen.Lit(int(n))
	}
	return d
}

// layoutNames are the Go names of layouts.
var layoutNames = map[dtype.Layout]string{dtype.Plain: "Plain", dtype.R16: "R16", dtype.Planar: "Planar"}
