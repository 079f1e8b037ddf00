package shard

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// divider derives the states of the values of a function and adds the collectives that they need.
type divider struct {
	options
	f *ir.Func

	now  map[*ir.Value]*ir.Value   // the value to read in place of another one, brought into another state
	part map[*ir.Value][]*ir.Value // parts of whole values that devices have taken
	with map[*ir.Value][]bool      // the devices with a summand, by partial value

	collectives []Collective
}

// options are what both passes depend on. Functions may be nil.
type options struct {
	devices int
	given   map[string]ir.Sharding // states of weights and states, by name
	pins    []pass.Pin             // of nodes that are computed once

	plans map[*ir.Func]*ggmlPlan // whose states are derived; nil for our own

	orders  *sumOrders // that sums can have; nil for one only
	fixed   ir.SumOrder
	cause   func(n *ir.Node, rule pass.RuleName, operands ...string)
	derived func(n *ir.Node, op string, s ir.Sharding) // ggml has the result of a node in a state
	place   func(n *ir.Node, device int, all bool)     // gives a node of a device, which computes it for all of them if all is set, a backend
	pinned  func(n *ir.Node, p *pass.Pin)              // likewise, a node that is computed once
}

// divide derives the states of a module's values.
func divide(m *ir.Module, o options) ([]Collective, error) {
	if err := checkGiven(m, o.devices, o.given); err != nil {
		return nil, err
	}
	var all []Collective
	for _, f := range m.Funcs {
		d := &divider{options: o, f: f, now: make(map[*ir.Value]*ir.Value), part: make(map[*ir.Value][]*ir.Value), with: make(map[*ir.Value][]bool)}
		if err := d.run(); err != nil {
			return nil, fmt.Errorf("@%s: %w", f.Name, err)
		}
		all = append(all, d.collectives...)
	}
	return all, nil
}

// returnReader is the reader of results.
const returnReader = "return"

func (d *divider) run() error {
	nodes := d.f.Nodes
	d.f.Nodes = nil
	for _, n := range nodes {
		if err := d.node(n); err != nil {
			return err
		}
	}
	for i, r := range d.f.Results {
		whole, err := d.bring(r, ir.Mirrored(), returnReader)
		if err != nil {
			return err
		}
		d.f.Results[i] = whole
	}
	return nil
}

// current returns the value to read in place of another one.
func (d *divider) current(v *ir.Value) *ir.Value {
	if w := d.now[v]; w != nil {
		return w
	}
	return v
}

// node derives the state of a node's result.
func (d *divider) node(n *ir.Node) error {
	v := n.Result()
	if v == nil || len(n.Results) != 1 || n.Body != nil {
		return fmt.Errorf("%v has %d results: a group computes nodes with one", n, len(n.Results))
	}
	for i, a := range n.Args {
		if a != nil {
			n.Args[i] = d.current(a)
		}
	}
	switch n.Attr.(type) {
	case *ir.WeightAttr, *ir.StateAttr, *ir.ConstantAttr:
		d.f.Append(n)
		v.SetSharding(d.leaf(n))
		return nil
	}
	c, err := d.choose(n)
	if err != nil {
		return err
	}
	for i, a := range n.Args {
		if a == nil {
			continue
		}
		if n.Args[i], err = d.bring(a, c.Args[i], n.String()); err != nil {
			return err
		}
	}
	d.f.Append(n)
	v.SetSharding(c.Result)
	if p := d.plans[d.f]; p != nil {
		return d.follow(p, v)
	}
	return nil
}

// choose returns the way to compute a node: ggml's, if its plan is followed.
func (d *divider) choose(n *ir.Node) (choice, error) {
	if p := d.plans[d.f]; p != nil {
		return p.choose(n, d.devices)
	}
	return choose(n, d.devices, pinOf(d.pins, n) != nil)
}

// follow adds up a value where ggml does.
func (d *divider) follow(p *ggmlPlan, v *ir.Value) error {
	if own, ok := p.own(v); ok && d.derived != nil {
		d.derived(v.Def, opOf(p.graph.Of[v]), own)
	}
	if !p.sums[v] || v.Sharding().Kind != ir.ShardPartial {
		return nil
	}
	_, err := d.bring(v, ir.Mirrored(), "ggml")
	return err
}

// leaf returns the state of a weight, state or constant.
func (d *divider) leaf(n *ir.Node) ir.Sharding {
	name := ""
	switch a := n.Attr.(type) {
	case *ir.WeightAttr:
		name = a.Name
	case *ir.StateAttr:
		name = a.Name
	}
	if s := d.given[name]; s.Kind != ir.ShardNone {
		return s
	}
	return ir.Mirrored()
}

// rules are the reasons for collectives.
var rules = map[ir.Op]pass.RuleName{
	ir.OpAllReduce: pass.RuleShardReduce, ir.OpAllGather: pass.RuleShardGather,
	ir.OpReduceScatter: pass.RuleShardScatter, ir.OpTakePart: pass.RuleShardPart,
}

// suffixes are what the names of their results end in.
var suffixes = map[ir.Op]string{ir.OpAllReduce: ".sum", ir.OpAllGather: ".all", ir.OpReduceScatter: ".part", ir.OpTakePart: ".part"}

// bring returns a value in the state that a reader needs. Later readers read a sum or a gathered value instead of what
// it was made of; of a whole value several parts may be taken.
func (d *divider) bring(v *ir.Value, need ir.Sharding, reader string) (*ir.Value, error) {
	v = d.current(v)
	have := v.Sharding()
	if have.Equal(need) {
		return v, nil
	}
	for _, p := range d.part[v] {
		if p.Sharding().Equal(need) {
			return p, nil
		}
	}
	op, ok := ir.CollectiveOp(have, need)
	if !ok { // from one split into another
		whole, err := d.bring(v, ir.Mirrored(), reader)
		if err != nil {
			return nil, err
		}
		return d.bring(whole, need, reader)
	}
	made, err := d.collective(op, v, need, reader)
	if err != nil {
		return nil, err
	}
	if op == ir.OpTakePart { // others may need all of it
		d.part[v] = append(d.part[v], made)
	} else {
		d.now[v] = made
	}
	return made, nil
}

// collective appends a collective.
func (d *divider) collective(op ir.Op, v *ir.Value, need ir.Sharding, reader string) (*ir.Value, error) {
	attr := ir.NewAttr(op)
	types, err := ir.Infer(&ir.Node{Op: op, Attr: attr, Args: []*ir.Value{v}, Func: d.f})
	if err != nil {
		return nil, fmt.Errorf("%v %v: %w", op, v, err)
	}
	n := d.f.NewNode(op, attr, []*ir.Value{v}, v.Name()+suffixes[op], types...)
	if v.Def != nil {
		n.Pos = v.Def.Pos
	}
	d.f.Append(n)
	n.Result().SetSharding(need)
	if d.cause != nil {
		d.cause(n, rules[op], reader, v.Sharding().String(), need.String())
	}
	if a, ok := attr.(*ir.AllReduceAttr); ok {
		if a.Order, err = d.orderOf(n, reader == returnReader); err != nil {
			return nil, err
		}
	}
	d.collectives = append(d.collectives, Collective{d.f.Name, v.Name(), CollectiveKind(op.String()), v.Type.Bytes()})
	return n.Result(), nil
}

// orderOf returns the order in which a sum is added up. once means that only the first device needs it.
func (d *divider) orderOf(n *ir.Node, once bool) (ir.SumOrder, error) {
	if d.orders == nil || pinOf(d.pins, n) != nil {
		return d.fixed, nil
	}
	order, compared, err := d.orders.choose(n, d.summands(n.Args[0]), once)
	if err != nil {
		return 0, fmt.Errorf("%v: %w", n, err)
	}
	if len(compared) > 0 && d.cause != nil {
		d.cause(n, pass.RuleShardOrder, words(compared)...)
	}
	return order, nil
}
