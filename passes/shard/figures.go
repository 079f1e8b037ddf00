package shard

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/shard/ggml"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Figures are what a step of a group takes: one call of an entry point, at the upper bounds of its sizes.
type Figures struct {
	Group   string `json:"group"`
	Sums    int64  `json:"sums"`    // values that are added up
	Gathers int64  `json:"gathers"` // values of which devices get the parts of others

	// Messages and Bytes are what devices send each other for that.
	Messages int64 `json:"messages"`
	Bytes    int64 `json:"bytes"`

	// GGMLMessages and GGMLBytes are what ggml sends for the same sums. It reads the parts of results on the host.
	GGMLMessages int64 `json:"ggml_messages"`
	GGMLBytes    int64 `json:"ggml_bytes"`

	// Seconds is the predicted time of the step: of each node that of its slowest device, and of the exchanges. Layers
	// is that with layers on one device each, by the same shares. 0 is not known.
	Seconds float64 `json:"seconds,omitempty"`
	Layers  float64 `json:"layer_seconds,omitempty"`

	// Orders are the orders in which the sums can be added up, with what the devices send each other if all have it.
	Orders []OrderFigures `json:"orders,omitempty"`

	// Choices are the blocks of which ways were compared (--shard REGEX=cost).
	Choices []Choice `json:"choices,omitempty"`

	// Whole are the reasons why weights and states are not divided, with how many there are and their bytes.
	Whole []string `json:"whole,omitempty"`
}

// OrderFigures are what the sums of a step take in one order.
type OrderFigures struct {
	Order    string  `json:"order"`
	Sums     int64   `json:"sums"` // number of sums with this order
	Messages int64   `json:"messages"`
	Bytes    int64   `json:"bytes"`
	Seconds  float64 `json:"seconds,omitempty"` // 0 is not known
}

// ordersKey is the key of the note that keeps the orders of an entry point's sums.
const ordersKey = "group.orders."

// figuresKey is the key of the note that keeps the figures of an entry point in the module.
const figuresKey = "group."

const figuresFormat = "sums=%d gathers=%d messages=%d bytes=%d ggml_messages=%d ggml_bytes=%d seconds=%g layers=%g"

// FiguresOf returns the figures of an entry point, which pass shard has noted in the module; nil if there are none.
func FiguresOf(m *ir.Module, entry string) *Figures {
	group, text, ok := strings.Cut(m.GetMeta(figuresKey+entry), " ")
	f := &Figures{Group: group}
	if !ok {
		return nil
	}
	_, err := fmt.Sscanf(text, figuresFormat, &f.Sums, &f.Gathers, &f.Messages, &f.Bytes, &f.GGMLMessages, &f.GGMLBytes, &f.Seconds, &f.Layers)
	if err != nil {
		return nil
	}
	f.Choices = ChoicesOf(m)
	if json.Unmarshal([]byte(m.GetMeta(ordersKey+entry)), &f.Orders) != nil {
		f.Orders = nil
	}
	if text := m.GetMeta(wholeKey); text != "" {
		f.Whole = strings.Split(text, "; ")
	}
	return f
}

// note keeps the figures in the module.
func (f *Figures) note(m *ir.Module, entry string) {
	if text, err := json.Marshal(f.Orders); err == nil && len(f.Orders) > 0 {
		m.SetMeta(ordersKey+entry, string(text))
	}
	m.SetMeta(figuresKey+entry, f.Group+" "+fmt.Sprintf(figuresFormat, f.Sums, f.Gathers, f.Messages, f.Bytes, f.GGMLMessages, f.GGMLBytes, f.Seconds, f.Layers))
}

// measure returns the figures of a function whose values have states.
func measure(f *ir.Func, group string, orders *sumOrders, share []float64) *Figures {
	x, members := &Figures{Group: group}, orders.members
	d := &divider{options: options{devices: len(members)}, f: f, with: make(map[*ir.Value][]bool)}
	for _, n := range f.Nodes {
		switch {
		case n.Op == ir.OpAllReduce:
			x.sum(n, orders.times(n, d.summands(n.Args[0]), returned(f, n)))
			x.ggmlExchange(n, len(members))
		case n.Op == ir.OpReduceScatter || n.Op == ir.OpAllGather:
			x.exchange(n, members, returned(f, n))
		case flow.DoesWork(n) && !ir.IsCollective(n.Op):
			x.Seconds += slowest(n, members)
		}
	}
	x.Layers = layerSeconds(f, members, share)
	if !known(members) {
		x.Seconds, x.Layers = 0, 0
		for i := range x.Orders {
			x.Orders[i].Seconds = 0
		}
	}
	return x
}

func known(members []*target.Descriptor) bool {
	for _, t := range members {
		if !t.Rates.Known() {
			return false
		}
	}
	return true
}

// returned reports whether a value is a result and nothing else reads it: then one device needs it.
func returned(f *ir.Func, n *ir.Node) bool {
	v := n.Result()
	for _, m := range f.Nodes {
		for _, a := range m.Args {
			if a == v {
				return false
			}
		}
	}
	return true
}

// exchange adds what devices send each other for a collective. once means that one device needs the result.
func (x *Figures) exchange(n *ir.Node, members []*target.Descriptor, once bool) {
	v := n.Args[0]
	bytes := v.MaxBytes()
	if n.Op == ir.OpAllGather {
		x.Gathers++
	} else {
		x.Sums++
		x.ggmlExchange(n, len(members))
	}
	longest := 0.0
	for j, t := range members {
		if once && j > 0 {
			break
		}
		seconds := 0.0
		for k, from := range members {
			part := bytes
			switch {
			case n.Op == ir.OpAllGather:
				part = partBytes(v, v.Sharding(), k)
			case n.Op == ir.OpReduceScatter:
				part = partBytes(v, n.Result().Sharding(), j)
			}
			if k != j && part > 0 {
				x.Messages++
				x.Bytes += part
				seconds += t.TransferSeconds(from, float64(part))
			}
		}
		longest = max(longest, seconds)
	}
	x.Seconds += longest
}

// ggmlExchange adds what ggml sends for a sum.
func (x *Figures) ggmlExchange(n *ir.Node, devices int) {
	messages, sent := ggml.Exchanged(int64(devices), n.Args[0].MaxBytes())
	x.GGMLMessages += messages
	x.GGMLBytes += sent
}

// sum adds what devices send each other for a sum in its order, and in all others.
func (x *Figures) sum(n *ir.Node, times []orderTime) {
	x.Sums++
	if x.Orders == nil {
		x.Orders = make([]OrderFigures, len(times))
	}
	for i, t := range times {
		o := &x.Orders[i]
		o.Order = t.order.String()
		o.Messages += t.messages
		o.Bytes += t.bytes
		o.Seconds += t.seconds
		if t.order == n.Attr.(*ir.AllReduceAttr).Order {
			o.Sums++
			x.Messages += t.messages
			x.Bytes += t.bytes
			x.Seconds += t.seconds
		}
	}
}

// partBytes returns the bytes of a device's part of a value.
func partBytes(v *ir.Value, s ir.Sharding, device int) int64 {
	if s.Kind == ir.ShardHeld { // the first one that has it sends it
		if slices.Index(s.Counts(), 1) == device {
			return v.MaxBytes()
		}
		return 0
	}
	n, _ := v.Type.Shape[s.Axis].IsConst()
	return v.MaxBytes() / max(n, 1) * s.Count(device)
}

// slowest returns the time of the device that takes longest for its part of a node.
func slowest(n *ir.Node, members []*target.Descriptor) float64 {
	e, longest := flow.EffortOf(n), 0.0
	for j, t := range members {
		if part := fraction(n, j); part > 0 {
			longest = max(longest, t.Seconds(e.Flops*part, (e.Read+e.Written)*part, e.Weight, max(t.Hint, 1)))
		}
	}
	return longest
}

// fraction returns which part of the work of a node a device does.
func fraction(n *ir.Node, device int) float64 {
	of := func(v *ir.Value) (float64, bool) {
		s := v.Sharding()
		if s.Kind == ir.ShardHeld {
			return float64(s.Count(device)), true
		}
		if !s.IsSplit() {
			return 1, false
		}
		size, _ := v.Type.Shape[s.Axis].IsConst()
		return float64(s.Count(device)) / float64(max(size, 1)), true
	}
	if part, split := of(n.Result()); split {
		return part
	}
	for _, a := range n.Args {
		if a != nil {
			if part, split := of(a); split {
				return part
			}
		}
	}
	return 1
}

// layerSeconds returns the time of a step whose layers are on one device each: the first ones on the first, and so on.
func layerSeconds(f *ir.Func, members []*target.Descriptor, share []float64) float64 {
	layer := make(map[string]int)
	for _, n := range f.Nodes {
		if name := layerOf(n); name != "" {
			if _, known := layer[name]; !known {
				layer[name] = len(layer)
			}
		}
	}
	if len(layer) == 0 {
		return 0
	}
	last, err := ggml.Cut(int64(len(layer)), share, 1, 0)
	if err != nil {
		return 0
	}
	seconds, at := 0.0, 0
	for _, n := range f.Nodes {
		if !flow.DoesWork(n) || ir.IsCollective(n.Op) {
			continue
		}
		if i, ok := layer[layerOf(n)]; ok {
			if j := deviceOf(last, int64(i)); j != at {
				seconds += members[j].TransferSeconds(members[at], float64(n.Args[0].MaxBytes()))
				at = j
			}
		}
		e, t := flow.EffortOf(n), members[at]
		seconds += t.Seconds(e.Flops, e.Read+e.Written, e.Weight, max(t.Hint, 1))
	}
	return seconds
}

// layerOf returns the layer that a node belongs to by its position, such as blk.3; empty for none.
func layerOf(n *ir.Node) string {
	rest, ok := strings.CutPrefix(n.Pos, "blk.")
	number, _, _ := strings.Cut(rest, ".")
	if !ok {
		return ""
	}
	return number
}

// deviceOf returns the device that has element i, where each has so many.
func deviceOf(counts []int64, i int64) int {
	for j, n := range counts {
		if i < n {
			return j
		}
		i -= n
	}
	return len(counts) - 1
}
