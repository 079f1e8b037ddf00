package sched

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/passes/assign"
	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/check"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Graph is a module made of the cases of one scheduler. It has a function for each graph of that scheduler, in order.
type Graph struct {
	Module  *ir.Module
	Targets *target.List
	Options pass.Options
	Cases   []*Case
	Values  [][]*ir.Value // of each case, by tensor

	found [][]*check.Violation // of each case, at the addresses of the trace
}

// Build makes a module of successive cases of one scheduler, which have the same backends.
func Build(cases ...*Case) (*Graph, error) {
	first := cases[0]
	targets, err := first.targets()
	if err != nil {
		return nil, err
	}
	g := &Graph{Targets: targets, Cases: cases}
	b := ir.NewBuilder(first.Name)
	for i, c := range cases {
		g.Values = append(g.Values, c.function(b, i))
	}
	if g.Module, err = b.Finish(); err != nil {
		return nil, err
	}
	g.Module.Props |= ir.PropPacked // the formats that foreign kernels read are unknown
	g.Options = first.options()
	return g, g.pins()
}

// targets returns the backends as descriptors.
func (c *Case) targets() (*target.List, error) {
	host, align := make(map[string]bool), make(map[string]int64)
	for _, s := range c.Spaces {
		host[s.Name], align[s.Name] = s.Host, s.Alignment
	}
	var ds []*target.Descriptor
	for i, b := range c.Backends {
		d := &target.Descriptor{
			Name: b.Name, Kind: "trace", Spaces: []string{b.Space}, Threads: 1, Hint: 1,
			Align: align[b.Space], OffloadRows: b.OffloadRows, Rows: b.rows(c.Rules),
		}
		for _, s := range b.Addresses {
			if s != b.Space {
				d.Spaces = append(d.Spaces, s)
			}
			if i == len(c.Backends)-1 && !host[s] {
				d.Opaque = append(d.Opaque, s)
			}
			d.Aligns = append(d.Aligns, target.SpaceAlign{Space: s, Bytes: align[s]})
		}
		for _, op := range b.Offload {
			o := target.Offload{Op: ir.OpForeign, Name: op, Axis: 1}
			if op == "MUL_MAT_ID" {
				o.Axis = 2
			}
			d.Offload = append(d.Offload, o)
		}
		ds = append(ds, d)
	}
	return target.NewList(ds...)
}

// maxSources is the largest number of sources of a ggml op (GGML_MAX_SRC in ggml.h).
const maxSources = 10

// rows returns what the backend supports. Every backend supports views, and CPY and SET_ROWS with any sources; other
// copies are made by the scheduler. The scheduler of 2024 assumes that all backends run everything.
func (b *Backend) rows(rules string) []target.Row {
	rows := []target.Row{{Op: ir.OpCopy}, {Op: ir.OpForeign, Name: "CPY"}, {Op: ir.OpForeign, Name: "SET_ROWS"}}
	if strings.HasPrefix(rules, "ggml-2024") {
		return append(rows, target.Row{Op: ir.OpForeign})
	}
	args := b.formats()
	if b.Ops.All {
		return append(rows, target.Row{Op: ir.OpForeign, Args: args})
	}
	for _, op := range b.Ops.Names {
		rows = append(rows, target.Row{Op: ir.OpForeign, Name: op, Args: args})
	}
	return rows
}

// formats returns the formats of sources, or nil if all types are supported.
func (b *Backend) formats() []target.Format {
	if len(b.NotTypes) == 0 {
		return nil
	}
	f := target.Format{Strides: target.AnyStrides}
	for d := dtype.Invalid + 1; d.Valid(); d++ {
		if !slices.Contains(b.NotTypes, d.String()) {
			f.DTypes = append(f.DTypes, d)
		}
	}
	return slices.Repeat([]target.Format{f}, maxSources)
}

func (c *Case) options() pass.Options {
	rules := c.Rules
	for _, set := range assign.RuleSets() {
		if strings.HasPrefix(c.Rules, set+"-") {
			rules = set
		}
	}
	return pass.Options{Rules: rules, Debug: []pass.Setting{
		{Pass: "assign", Flag: "copies", Value: strconv.Itoa(c.Copies)},
		{Pass: "copy", Flag: "copies", Value: strconv.Itoa(c.Copies)},
		{Pass: "assign", Flag: "offload", Value: strconv.FormatBool(c.OpOffload)},
	}}
}

// pins converts the user's choices to options, as on a command line.
func (g *Graph) pins() error {
	for _, b := range g.Cases[0].Backends {
		var names []string
		for i, c := range g.Cases {
			for t := range c.Tensors {
				if c.Tensors[t].Pin == b.Name {
					names = append(names, regexp.QuoteMeta(tensorName(i, t)))
				}
			}
		}
		if len(names) == 0 {
			continue
		}
		pin, err := pass.ParsePin("^(" + strings.Join(names, "|") + ")$=" + b.Name)
		if err != nil {
			return err
		}
		g.Options.Pins = append(g.Options.Pins, pin)
	}
	return nil
}

// tensorName returns the name of the value of a tensor, made of the graph's and the tensor's number.
func tensorName(graph, tensor int) string { return fmt.Sprintf("g%d.t%d", graph, tensor) }

// function appends a case as a function and returns its values by tensor.
func (c *Case) function(b *ir.Builder, graph int) []*ir.Value {
	f := b.Func(fmt.Sprintf("graph%d", graph))
	values := make([]*ir.Value, len(c.Tensors))
	for _, i := range slices.Concat(c.Leafs, c.Nodes) {
		t := &c.Tensors[i]
		name := tensorName(graph, i)
		f.At(t.Name)
		typ, err := t.typ()
		if err != nil {
			b.Fail(fmt.Errorf("%s: tensor %d: %w", c.Name, i, err))
			return values
		}
		switch {
		case t.WeightIn != "":
			typ.Space = t.WeightIn
			b.Weight(name, typ, nil)
			values[i] = f.Weight(name)
		case t.AllocatedIn != "":
			typ.Space = t.AllocatedIn
			b.State(name, typ)
			values[i] = f.State(name)
		default:
			values[i] = f.Named(name, f.Foreign(t.attr(typ), t.args(values), typ)[0])
		}
	}
	for i, t := range c.Tensors {
		if t.Output && t.ViewOf == nil { // ggml does not keep a view's bytes for that flag
			f.Return(tensorName(graph, i), values[i])
		}
	}
	return values
}

// typ returns the type of a tensor, outermost dimension first.
func (t *Tensor) typ() (ir.Type, error) {
	d, err := dtype.Parse(t.Type)
	if err != nil {
		return ir.Type{}, err
	}
	typ := ir.Type{DType: d}
	perByte := func(n int64) int64 { return n * int64(d.BlockElems()) / int64(d.BlockBytes()) }
	for i, n := range slices.Backward(t.NE[:]) {
		typ.Shape = append(typ.Shape, ir.Const(n))
		stride := perByte(t.NB[i])
		if i == 0 && t.NB[0] == int64(d.BlockBytes()) {
			stride = 1
		}
		typ.Strides = append(typ.Strides, ir.Const(stride))
	}
	if ir.EqualDims(typ.Strides, typ.DenseStrides()) {
		typ.Strides = nil
	}
	return typ, nil
}

// attr returns the attributes of a tensor that is neither weight nor state.
func (t *Tensor) attr(typ ir.Type) ir.ForeignAttr {
	a := ir.ForeignAttr{Op: t.Op, Source: "ggml", Input: t.Input, Leaf: t.Op == "NONE", Offset: t.ViewOffset}
	if t.Bytes != typ.MaxBytes() {
		a.Bytes = t.Bytes
	}
	switch t.Op {
	case "VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE":
		a.View = true
	default:
		a.InPlace = t.ViewOf != nil
		a.Takes = t.takes()
	}
	if slices.Contains(t.Src, nil) {
		for i, s := range t.Src {
			if s != nil {
				a.Srcs = append(a.Srcs, i)
			}
		}
	}
	return a
}

// takers are the ops whose result may take the bytes of a source in ggml's allocator.
var takers = []string{"SCALE", "DIAG_MASK_INF", "ADD", "MUL", "UNARY", "ROPE", "RMS_NORM", "SOFT_MAX"}

// takes returns the indexes of the present sources whose bytes the tensor may take.
func (t *Tensor) takes() []int {
	var takes []int
	if t.ViewOf != nil || !slices.Contains(takers, t.Op) {
		return nil
	}
	for _, s := range t.Src {
		if s != nil {
			takes = append(takes, len(takes))
		}
	}
	return takes
}

// args returns the sources that are present, followed by the tensor of which this one is a view.
func (t *Tensor) args(values []*ir.Value) []*ir.Value {
	var args []*ir.Value
	for _, s := range t.Src {
		if s != nil {
			args = append(args, values[*s])
		}
	}
	if t.ViewOf != nil {
		args = append(args, values[*t.ViewOf])
	}
	return args
}
