package shard

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// The order of a sum is that of the shortest predicted time. With n devices, a summand of B bytes, s seconds before the
// first byte of a copy and b seconds for each further one, the last device has the sum after about
//
//	           messages  bytes of all  seconds of copies                    additions
//	direct     n(n-1)    n(n-1)B       (n-1)(s + bB) to twice that          n-1
//	first      2(n-1)    2(n-1)B       s + (n-1)bB + (n-1)(s + bB)          n-1
//	tree       2(n-1)    2(n-1)B       (log n + n-1)(s + bB)                log n
//	ring       2n(n-1)   2(n-1)B       2(n-1)(s + bB/n)                     n-1 of B/n, and log n concatenations
//
// Twice that, because all devices send to the first one first, whose link receives one value after another.
// A device sends one copy after another, and its link receives one byte after another. So two devices send each other
// small values, more devices read all summands of a token's small vectors, and large ones of a prompt go around a ring,
// where every link moves 2B/n bytes a step at the same time. Where all links are one, as between threads that share the
// processor's memory, the bytes of all count: first, tree and ring move the fewest, and the first two in fewer messages.
//
// These formulas are not in the code: a sum is written out in every order, for devices that do nothing else, and its
// nodes are run in predicted time.
//
// Alternatives. A ring that gathers by passing chunks on: links here join any two devices, so what has to be gathered
// is read from where it is. A tree that passes the sum on, as a broadcast of log n steps: copies are made from where a
// value is computed; nodes that only pass values on would be needed. A scatter in which each device adds its chunk in
// the order of devices takes as many messages and bytes as a ring, and no chain of additions; it would be a fifth order
// if chains turn out to be slow. Halves that are exchanged in log n steps (Rabenseifner) fit powers of two only.

// sumOrders compares the orders in which a group can add up.
type sumOrders struct {
	members []*target.Descriptor
	known   map[sumKey][]orderTime
	asked   *ir.SumOrder // by the user; nil for the shortest predicted time
}

// sumKey is what the time of a sum depends on.
type sumKey struct {
	typ  string // with the bounds of its sizes
	with string // the devices that have a summand
	once bool   // only the first device needs the sum
}

// orderTime is the predicted time of a sum in an order.
type orderTime struct {
	order    ir.SumOrder
	seconds  float64
	messages int64
	bytes    int64
	unfit    error // a member does not run what is needed for it
}

// choose returns the order for a sum and what was compared, the chosen one first; nothing if there was no choice. once
// means that only the first device needs the sum.
func (o *sumOrders) choose(n *ir.Node, with []bool, once bool) (ir.SumOrder, []orderTime, error) {
	usual := usualOrder(len(o.members))
	if o.asked == nil && !known(o.members) {
		return usual, nil, nil
	}
	times := o.times(n, with, once)
	if o.asked != nil {
		if t := times[*o.asked]; t.unfit != nil {
			return 0, nil, fmt.Errorf("--debug shard/collective=%v: %w: choose another order", *o.asked, t.unfit)
		}
		return *o.asked, nil, nil
	}
	best := usual
	for _, t := range times {
		if t.unfit == nil && (times[best].unfit != nil || t.seconds < times[best].seconds) {
			best = t.order
		}
	}
	chosen := times[best]
	return best, append([]orderTime{chosen}, slices.DeleteFunc(slices.Clone(times), func(t orderTime) bool { return t.order == best })...), nil
}

// times predicts all orders, by order.
func (o *sumOrders) times(n *ir.Node, with []bool, once bool) []orderTime {
	t := n.Result().Type
	key := sumKey{fmt.Sprint(t, t.MaxBytes()), fmt.Sprint(with), once}
	if times := o.known[key]; times != nil {
		return times
	}
	var times []orderTime
	for _, order := range ir.SumOrders() {
		x := orderTime{order: order}
		var f *ir.Func
		if f, x.unfit = sumAlone(n, order, with, once, o.members); f != nil {
			x.run(f, with, o.members)
		}
		times = append(times, x)
	}
	o.known[key] = times
	return times
}

// sumAlone returns a function that only adds up: its parameters are the summands of the devices with one.
func sumAlone(n *ir.Node, order ir.SumOrder, with []bool, once bool, members []*target.Descriptor) (*ir.Func, error) {
	f := &ir.Func{Name: "sum"}
	t := n.Result().Type
	whole := f.NewValue("x", t)
	sum := f.NewNode(ir.OpAllReduce, &ir.AllReduceAttr{Order: order}, []*ir.Value{whole}, "sum", t)
	sum.Result().SetSharding(ir.Mirrored())
	s := &spreader{f: f, from: sum, name: "sum", parts: map[*ir.Value][]*ir.Value{whole: nil}, whole: make(map[*ir.Value]bool),
		pending: make([][]*ir.Node, len(members))}
	s.devices = len(members)
	var unfit error
	s.place = func(m *ir.Node, j int, _ bool) {
		m.Backend = members[j].Name
		if ok, why := members[j].Supports(m); !ok && unfit == nil {
			unfit = fmt.Errorf("%s does not run %v of %v: %s", members[j].Name, m.Op, m.Result().Type, why)
		}
	}
	for j := range members {
		var v *ir.Value
		if with[j] {
			v = f.AddParam(fmt.Sprint("x", j), t)
		}
		s.parts[whole] = append(s.parts[whole], v)
	}
	all, err := s.allReduce(sum)
	if err != nil {
		return nil, err
	}
	s.flush()
	for j, v := range all {
		if j == 0 || !once {
			f.AddResult(members[j].Name, v)
		}
	}
	return f, unfit
}

// run sets the figures of a function that sumAlone made.
func (x *orderTime) run(f *ir.Func, with []bool, members []*target.Descriptor) {
	s, i := newSchedule(members), 0
	for j, has := range with {
		if has {
			s.made[f.Params[i]] = j
			i++
		}
	}
	s.run(f)
	for j, v := range f.Results {
		x.seconds = max(x.seconds, s.get(v, j))
	}
	x.messages, x.bytes = s.messages, s.bytes
}

// words returns what was compared as the operands of a cause.
func words(times []orderTime) []string {
	var list []string
	for _, t := range times {
		text := "unfit"
		if t.unfit == nil {
			text = strconv.FormatFloat(t.seconds*1e6, 'g', 3, 64) + "us"
		}
		list = append(list, fmt.Sprintf("%v=%s", t.order, text))
	}
	return list
}

// usualOrder returns the order of sums where nothing is known of the devices. Two send each other their summands. Of
// more, the first adds and sends the sum to the others: with n devices that is 2(n-1) messages instead of n(n-1).
func usualOrder(devices int) ir.SumOrder {
	if devices == 2 {
		return ir.SumDirect
	}
	return ir.SumFirst
}

// summands reports which devices have a summand of a partial value.
func (d *divider) summands(v *ir.Value) []bool {
	if has := d.with[v]; has != nil {
		return has
	}
	has := make([]bool, d.devices)
	for j := range has {
		has[j] = v.Def == nil || v.Def.Op != ir.OpTakePart || j == 0
	}
	if v.Def == nil || v.Def.Op == ir.OpTakePart {
		return has
	}
	either := v.Def.Op == ir.OpAdd
	if either {
		clear(has)
	}
	for _, a := range v.Def.Args {
		if a == nil {
			continue
		}
		var of []bool
		if a.Sharding().Kind == ir.ShardPartial {
			of = d.summands(a)
		}
		for j := range has {
			part := a.Sharding().Has(j) && (of == nil || of[j])
			has[j] = either && (has[j] || part) || !either && has[j] && part
		}
	}
	d.with[v] = has
	return has
}

// shardFlags are the flags of pass shard.
type shardFlags struct {
	Collective string `debug:"collective,order of all sums: direct, first, tree or ring; empty is that of the shortest predicted time"`
}

// newSumOrders returns the orders that a group can choose from. The user's flag names the only one.
func newSumOrders(c *pass.Context, members []*target.Descriptor) (*sumOrders, error) {
	o := &sumOrders{members: members, known: make(map[sumKey][]orderTime)}
	name := pass.Flags[shardFlags](c).Collective
	if name == "" {
		return o, nil
	}
	order, err := ir.ParseSumOrder(name)
	if err != nil {
		return nil, fmt.Errorf("--debug shard/collective=%s: %w", name, err)
	}
	if c.Options.Rules == "ggml-2026" {
		return nil, fmt.Errorf("--debug shard/collective=%s: ggml's rules have an order of their own: drop it, or %s", name, useCost)
	}
	o.asked = &order
	return o, nil
}
