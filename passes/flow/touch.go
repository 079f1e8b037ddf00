package flow

import (
	"github.com/ggmlc/ggmlc/ir"
)

// Party is who accesses bytes.
type Party uint8

// The parties.
const (
	Everyone Party = iota // any worker, any of the bytes
	Worker0               // worker 0, any of the bytes
	Owners                // each unit's owner, what the unit covers
)

// Access is what a node does to the bytes of one value.
type Access struct {
	Node    *ir.Node
	Value   *ir.Value // the origin
	Span    *Span     // of Owners
	Granule int64     // of Owners; 0 while it is not known
	Arg     int       // the operand that is read; -1 for a result
	Write   bool
	By      Party
}

// Touches lists the accesses of nodes.
type Touches struct {
	Skip func(origin *ir.Value) bool // whether an origin is private to each worker, or IsFixed: no access can conflict
}

// Append appends what n reads and writes if its work is shared by mode, along ax for ir.PartSplit. It leaves out
// origins that t skips, and the results of ir.PartReplicated, which are private to each worker.
func (t *Touches) Append(list []Access, n *ir.Node, mode ir.PartMode, ax *ir.Axis) []Access {
	for i, v := range n.Args {
		if v == nil || IsUnread(ax, i) {
			continue
		}
		if o := Origin(v); !t.Skip(o) {
			list = append(list, Access{Node: n, Value: o, Arg: i})
			t.Read(&list[len(list)-1], mode, ax)
		}
	}
	if mode == ir.PartReplicated {
		return list
	}
	for i, v := range n.Results {
		if o := Origin(v); !t.Skip(o) {
			list = append(list, Access{Node: n, Value: o, Arg: -1, Write: true})
			t.Write(&list[len(list)-1], i, mode, ax)
		}
	}
	return list
}

// Read sets the party of a, which is a read.
func (t *Touches) Read(a *Access, mode ir.PartMode, ax *ir.Axis) {
	n, arg := a.Node, a.Arg
	switch {
	case mode == ir.PartOne || mode == ir.PartNone:
		a.By = Worker0
	case ax != nil && arg < len(ax.Reads) && ax.Reads[arg].Kind == ir.ReadRange:
		r := ax.Reads[arg]
		s, ok := trace(n.Args[arg], r.Axis)
		whole := n.Result().Type.Shape[ax.Axis].Mul(ir.Const(r.Num)).Equal(n.Args[arg].Type.Shape[r.Axis].Mul(ir.Const(r.Den)))
		if ok && whole {
			s.Num, s.Den = s.Num*r.Num, s.Den*r.Den
			a.By, a.Span = Owners, &s
		}
	}
}

// Write sets the party of a, which is a write of a result.
func (t *Touches) Write(a *Access, result int, mode ir.PartMode, ax *ir.Axis) {
	n := a.Node
	switch {
	case mode == ir.PartOne || mode == ir.PartNone:
		a.By = Worker0
	case result == 0 && ax != nil:
		if s, ok := trace(n.Result(), ax.Axis); ok {
			a.By, a.Span = Owners, &s
		}
	}
}

// SameOwner reports whether every byte that both accesses touch is touched by the same worker, for every number of
// workers and every size. The granules have to be known. The units of a dynamic share have the same workers only within
// one share, of which there is one between two barriers: so both nodes belong to it, or neither does.
func SameOwner(a, b Access) bool {
	if a.By == Worker0 && b.By == Worker0 {
		return true
	}
	if a.By != Owners || b.By != Owners || a.Node.Part.Dynamic != b.Node.Part.Dynamic || !a.Span.Period.Equal(b.Span.Period) {
		return false
	}
	wa, aOK := a.Span.width(a.Granule)
	wb, bOK := b.Span.width(b.Granule)
	return aOK && bOK && wa.Equal(wb)
}

// AppendFinal appends the accesses of a node whose partition is decided.
func (t *Touches) AppendFinal(list []Access, n *ir.Node) []Access {
	first := len(list)
	list = t.Append(list, n, n.Part.Mode, ChosenAxis(n))
	for i := first; i < len(list); i++ {
		list[i].Granule = n.Part.Granule
	}
	return list
}
