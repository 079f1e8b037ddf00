package ir

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestVerifyFindsRandomDamage damages a planned module at random. Verify accepts it only if its text can be
// read again as a module that Verify accepts. Each rule is broken by some damage.
func TestVerifyFindsRandomDamage(t *testing.T) {
	text, err := os.ReadFile("testdata/planned.ggir")
	if err != nil {
		t.Fatal(err)
	}
	trials := 3000
	if testing.Short() {
		trials = 300
	}
	broken := make(map[string]int) // by rule, how often
	for seed := range uint64(trials) {
		m := mustParse(t, string(text))
		d := &damager{Rand: rand.New(rand.NewPCG(seed, 1)), m: m}
		what := d.damage()
		if seed%4 == 0 {
			what += "; " + d.damage()
		}
		found := violations(m)
		for _, f := range found {
			broken[f.Rule]++
		}
		if len(found) > 0 {
			continue
		}
		again, err := Parse("again", []byte(m.String()))
		if err == nil {
			err = Verify(again)
		}
		if err != nil {
			t.Errorf("seed %d, %s: Verify accepts the module, and its text is no such module: %v", seed, what, err)
		}
	}
	for _, rule := range []string{"links", "names", "ssa", "operands", "attributes", "type", "symbols", "shape", "space", "alias", "op",
		"source", "assigned", "split", "partition", "epoch", "placed", "arena", "plan", "event", "queue"} {
		if broken[rule] == 0 && !testing.Short() {
			t.Errorf("the rule %s was never broken: %v", rule, broken)
		}
	}
}

// damager changes modules at random: it picks a node and a value of some function, and changes
// one thing there or elsewhere.
type damager struct {
	*rand.Rand
	m    *Module
	f, g *Func
	n    *Node
	v    *Value
}

func one[T any](d *damager, s []T) T { return s[d.IntN(len(s))] }

// value returns a parameter or result of f.
func (d *damager) value(f *Func) *Value {
	if i := d.IntN(len(f.Nodes) + len(f.Params)); i < len(f.Nodes) && f.Nodes[i].Result() != nil {
		return f.Nodes[i].Result()
	}
	return f.Params[0]
}

// damage makes a random change and returns its description.
func (d *damager) damage() string {
	funcs := d.m.AllFuncs()
	d.f, d.g = one(d, funcs), one(d, funcs)
	if len(d.f.Nodes) == 0 || len(d.f.Params) == 0 || len(d.g.Nodes) == 0 || len(d.g.Params) == 0 {
		return "nothing"
	}
	d.n, d.v = one(d, d.f.Nodes), d.value(d.f)
	if d.n == nil || d.v == nil {
		return "nothing"
	}
	where := fmt.Sprintf("@%s %v %v: ", d.f.Name, d.n.Op, d.v)
	return where + one(d, []func() string{d.node, d.node, d.ofValue, d.decision, d.function, d.member, d.plan})()
}

func (d *damager) node() string {
	n := d.n
	switch d.IntN(11) {
	case 10:
		return d.reader()
	case 9:
		return d.likeOperand()
	case 0:
		return "id " + number(d, &n.ID)
	case 1:
		n.Op = Op(d.IntN(int(NumOps) + 2))
		return "op " + n.Op.String()
	case 2:
		n.Func = d.g
		return "function of the node"
	case 3:
		return "results " + list(d, &n.Results, nil, d.v)
	case 4:
		n.Attr = one(d, d.g.Nodes).Attr
		return "attributes of another node"
	case 5:
		n.Body = one(d, []*Func{nil, {Name: "new", Module: d.m}})
		return "body"
	default:
		return "operands " + list(d, &n.Args, nil, d.v, d.value(d.f), d.value(d.f), d.value(d.g))
	}
}

// likeOperand puts another value of the same type in an operand's place.
func (d *damager) likeOperand() string {
	if len(d.n.Args) == 0 {
		return "nothing"
	}
	i := d.IntN(len(d.n.Args))
	for range 50 {
		if v := d.value(d.f); d.n.Args[i] != nil && v != nil && v.Type.SameData(d.n.Args[i].Type) {
			d.n.Args[i] = v
			return fmt.Sprintf("operand %d becomes %v", i, v)
		}
	}
	return "nothing"
}

// reader adds a node that reads a value after all others have run.
func (d *damager) reader() string {
	last, t := d.f.Nodes[len(d.f.Nodes)-1], d.v.Type
	t.Strides, t.Space = nil, "host"
	n := d.f.Append(d.f.NewNode(OpCopy, nil, []*Value{d.v}, "", t))
	n.Backend, n.Split, n.Epoch, n.Part.Mode = "cpu", last.Split, last.Epoch, PartOne
	n.Result().Place = &Place{Arena: 5, Bytes: t.MaxBytes()}
	return "a reader"
}

func (d *damager) ofValue() string {
	v := d.v
	switch d.IntN(8) {
	case 0:
		return "id of a value " + number(d, &v.ID)
	case 1:
		return "index " + number(d, &v.Index)
	case 2:
		v.Func = d.g
		return "function of a value"
	case 3:
		v.Def = d.n
		return "definition"
	case 4:
		return "space " + text(d, &v.Type.Space)
	case 5:
		v.Type.DType = dtype.DType(d.IntN(int(dtype.NumDTypes)))
		return "dtype"
	case 6:
		return "strides " + list(d, &v.Type.Strides, d.dims()...)
	default:
		return "shape " + list(d, &v.Type.Shape, d.dims()...)
	}
}

// dims returns extents, some of which cannot be.
func (d *damager) dims() []Dim {
	return []Dim{Const(64), Const(1), Const(-1), Const(33), Const(1 << 50), Sym(d.m.Symbols[0]), Sym(&Symbol{Name: "q", Max: 4})}
}

func (d *damager) decision() string {
	n := d.n
	switch d.IntN(9) {
	case 0:
		return "split " + number(d, &n.Split)
	case 1:
		return "epoch " + number(d, &n.Epoch)
	case 2:
		return "axis " + number(d, &n.Part.Axis)
	case 3:
		return "granule " + number(d, &n.Part.Granule)
	case 4:
		n.Part.Mode = PartMode(d.IntN(4))
		return "part"
	case 5:
		return "backend " + text(d, &n.Backend)
	case 6:
		return "waits " + list(d, &n.Submitted().Waits, Wait{Event: d.IntN(3)}, Wait{Event: 1}, Wait{Event: math.MaxInt32})
	case 7:
		return "event " + number(d, &n.Submitted().Event)
	default:
		return "slots " + number(d, &n.Submitted().Slots)
	}
}

func (d *damager) function() string {
	f := d.f
	switch d.IntN(8) {
	case 0:
		return "epochs " + number(d, &f.Epochs)
	case 1:
		return "function name " + text(d, &f.Name)
	case 2:
		f.Owner = d.n
		return "owner"
	case 3:
		return "params " + list(d, &f.Params, nil, d.v, d.value(d.g))
	case 4:
		return "results " + list(d, &f.Results, nil, d.v, d.value(d.g))
	case 5:
		return "result names " + list(d, &f.ResultNames, "a")
	default:
		return "nodes " + list(d, &f.Nodes, d.n, one(d, d.g.Nodes))
	}
}

func (d *damager) member() string {
	w, s := one(d, d.m.Weights), one(d, d.m.States)
	switch d.IntN(10) {
	case 0:
		return "weight name " + text(d, &w.Name)
	case 1:
		return "weight space " + text(d, &w.Type.Space)
	case 2:
		return "weight shape " + list(d, &w.Type.Shape, d.dims()...)
	case 3:
		return "weights " + list(d, &d.m.Weights, w)
	case 4:
		return "state name " + text(d, &s.Name)
	case 5:
		return "state shape " + list(d, &s.Type.Shape, d.dims()...)
	case 6:
		return "states " + list(d, &d.m.States, s)
	case 7:
		return "source " + text(d, &d.m.Sources[0].Name)
	case 8:
		return "bound " + number(d, &d.m.Symbols[0].Min)
	default:
		return "bound " + number(d, &d.m.Symbols[0].Max)
	}
}

func (d *damager) plan() string {
	p := d.m.Plan
	a, f := &p.Arenas[d.IntN(len(p.Arenas))], &p.Funcs[d.IntN(len(p.Funcs))]
	switch d.IntN(11) {
	case 0:
		return "align " + number(d, &a.Align)
	case 1:
		return "bound " + number(d, &a.Bound)
	case 2:
		return "chunks " + list(d, &a.Chunks, 0, -5)
	case 3:
		return "space of an arena " + text(d, &a.Space)
	case 4:
		return "plan of " + text(d, &f.Func)
	case 5:
		return "splits " + list(d, &f.Splits, Split{Backend: "cpu"})
	case 6:
		return "plans " + list(d, &p.Funcs, FuncPlan{Func: "f"})
	case 7:
		a.Class = Class(d.IntN(len(classNames)))
		return "class of an arena"
	case 8:
		return "nodes of a plan " + number(d, &f.Nodes)
	case 9:
		return "barriers of a plan " + number(d, &f.Barriers)
	default:
		return "place " + d.place(one(d, []**Place{&d.v.Place, &one(d, d.m.Weights).Place, &one(d, d.m.States).Place}))
	}
}

// place changes an address, takes it away or adds one.
func (d *damager) place(at **Place) string {
	if *at == nil || d.IntN(5) == 0 {
		*at = one(d, []*Place{nil, {Arena: 2}})
		return "another one"
	}
	switch p := *at; d.IntN(4) {
	case 0:
		return "arena " + number(d, &p.Arena)
	case 1:
		return "chunk " + number(d, &p.Chunk)
	case 2:
		return "offset " + number(d, &p.Offset)
	default:
		return "bytes " + number(d, &p.Bytes)
	}
}

// number changes a number, mostly a little.
func number[T ~int | ~int64 | ~uint8](d *damager, n *T) string {
	old := *n
	*n = one(d, []T{old + 1, old - 1, 0, old * 2, T(d.IntN(8))})
	return fmt.Sprintf("%d becomes %d", old, *n)
}

func text(d *damager, s *string) string {
	*s = one(d, []string{"", "x", "h", "w0", "cpu", "gpu", "host", "vram", "f", "g", "max", "new"})
	return "becomes " + *s
}

// list drops, swaps or replaces elements, or adds one of others.
func list[T any](d *damager, s *[]T, others ...T) string {
	n := len(*s)
	*s = append([]T(nil), *s...)
	kind := d.IntN(4)
	switch {
	case n == 0 || kind == 0:
		*s = append(*s, one(d, others))
		return "are one more"
	case kind == 1:
		i := d.IntN(n)
		*s = append((*s)[:i], (*s)[i+1:]...)
		return fmt.Sprintf("are without %d", i)
	case kind == 2:
		i, j := d.IntN(n), d.IntN(n)
		(*s)[i], (*s)[j] = (*s)[j], (*s)[i]
		return fmt.Sprintf("%d and %d are swapped", i, j)
	}
	i := d.IntN(n)
	(*s)[i] = one(d, others)
	return fmt.Sprintf("%d is another one", i)
}
