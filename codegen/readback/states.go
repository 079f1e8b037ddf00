package readback

import (
	"cmp"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// layouts are the Go names of the orders of elements.
var layouts = map[dtype.Layout]string{dtype.Plain: "dtype.Plain", dtype.R16: "dtype.R16", dtype.Planar: "dtype.Planar"}

// wantStates returns where the states of sessions are.
func (c *checker) wantStates() list {
	var states list
	for _, s := range c.m.States {
		states = append(states, c.wantState(s))
	}
	return states
}

func (c *checker) wantState(s *ir.State) record {
	var dims list
	for _, d := range s.Type.Shape {
		dims = append(dims, d.Upper())
	}
	want := record{
		"Name": s.Name, "Type": declared("dtype." + cmp.Or(goNames[s.Type.DType], formats[s.Type.DType])), "Layout": declared(""), "Dims": dims,
		"Memory": int64(0), "Offset": s.Place.Offset, "Bytes": s.Type.MaxBytes(), "Heads": int64(0), "Rows": int64(0),
	}
	if s.Type.Layout != dtype.Plain {
		want["Layout"] = declared(layouts[s.Type.Layout])
	}
	if len(c.devices) > 0 {
		want["Memory"] = int64(slices.IndexFunc(c.chunks, func(k chunk) bool { return k.arena == s.Place.Arena && k.index == s.Place.Chunk }))
	}
	if c.m.LM == nil || len(s.Type.Shape) != 4 {
		return want
	}
	want["Heads"] = s.Type.Shape[1].Upper()
	if rows := s.Type.Shape[2].Upper(); rows != c.leastRoom(2) {
		want["Rows"] = rows
	}
	return want
}
