package group

import (
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/shard/foreign"
	"github.com/ggmlc/ggmlc/passes/shard/foreign/foreigntest"
	"github.com/ggmlc/ggmlc/passes/shard/ggml"
)

type tensor = foreigntest.Step

var weight, node, split, input = foreigntest.Weight, foreigntest.Node, foreigntest.Split, foreigntest.Input

func ne(n ...int64) []int64 { return n }

// plan is a plan of ggml's rules that a test may change.
type plan struct {
	*ggml.Division
	skips [][2]int
	sums  []*ir.Value
	parts map[*ir.Value][]foreign.Part
	state map[*ir.Value]ir.Sharding
}

func (p *plan) Skips() [][2]int   { return p.skips }
func (p *plan) Sums() []*ir.Value { return p.sums }

func (p *plan) Parts(v *ir.Value) []foreign.Part {
	if parts, ok := p.parts[v]; ok {
		return parts
	}
	return p.Division.Parts(v)
}

func (p *plan) State(v *ir.Value) ir.Sharding {
	if s, ok := p.state[v]; ok {
		return s
	}
	return p.Division.State(v)
}

// planOf returns the plan of ggml's rules for three devices, or two where the weights have two parts.
func planOf(t *testing.T, name string, steps []tensor) (*ir.Func, []*ir.Value, *plan) {
	f, values, given := foreigntest.Build(t, steps)
	devices := 2
	for _, s := range given {
		devices = max(devices, len(s.Counts()))
	}
	d, err := ggml.Derive(f, devices, given)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f, values, &plan{d, slices.Clone(d.Skips()), slices.Clone(d.Sums()), make(map[*ir.Value][]foreign.Part), make(map[*ir.Value]ir.Sharding)}
}

// layer is a layer whose sum waits for a factor (step 5).
func layer(up, down ir.Sharding) []tensor {
	return []tensor{
		weight(up, 8, 12), weight(down, 12, 8), weight(ir.Mirrored(), 8), input(8, 3),
		node("MUL_MAT", ne(12, 3), 0, 3), node("MUL_MAT", ne(8, 3), 1, 4), node("MUL", ne(8, 3), 5, 2), node("SCALE", ne(8, 3), 6).With("bias=0").Out(),
	}
}

// fused is a product with a fused weight, of whose result a view takes the last third, beside a norm of its rows.
func fused(given ir.Sharding) []tensor {
	return []tensor{
		weight(given, 8, 12), input(8, 3), node("MUL_MAT", ne(12, 3), 0, 1),
		foreigntest.View(2, 32, 4, 3).Strides(4, 48, 144, 144), node("CONT", ne(4, 3), 3).Out(),
	}
}

// experts has the experts' products for two of four experts for each of 3 tokens, a bias and its sum.
func experts(up, down, bias ir.Sharding) []tensor {
	return []tensor{
		weight(up, 8, 12, 4), weight(down, 12, 8, 4), weight(bias, 8, 4), input(8, 1, 3), {Op: "NONE", NE: [4]int64{2, 3, 1, 1}},
		node("MUL_MAT_ID", ne(12, 2, 3), 0, 3, 4), node("MUL_MAT_ID", ne(8, 2, 3), 1, 5, 4), node("ADD_ID", ne(8, 2, 3), 6, 2, 4),
		node("SQR", ne(8, 2, 3), 7).Out(),
	}
}

// attends is attention of 4 query heads.
func attends(q, kv ir.Sharding, kvHeads int64, params string) []tensor {
	return []tensor{
		weight(q, 8, 2, 4), weight(kv, 8, 6, kvHeads), weight(kv, 8, 6, kvHeads), input(8, 2),
		node("FLASH_ATTN_EXT", ne(8, 4, 2), 0, 1, 2, 3).With(params), node("SQR", ne(8, 4, 2), 4).Out(),
	}
}

func segments(axis int, seg ...ir.Segment) ir.Sharding { return ir.SplitOn(axis, seg...) }

func seg(times int64, counts ...int64) ir.Segment { return ir.Segment{Times: times, Counts: counts} }

// TestCheckFindsWrongPlans has plans of ggml's rules that are wrong, each beside one that is right.
func TestCheckFindsWrongPlans(t *testing.T) {
	m := ir.Mirrored()
	for _, tt := range []struct {
		name  string
		steps []tensor
		want  string // found first; empty if nothing is
	}{
		{"a layer", layer(split(1, 8, 4), split(0, 8, 4)), ""},
		{"a layer, with a device without a share", layer(split(1, 8, 0, 4), split(0, 8, 0, 4)), ""},
		{"the sum is an output", slices.Insert(layer(split(1, 8, 4), split(0, 8, 4)), 8, node("SCALE", ne(8, 3), 5).With("bias=0").Out()), "%i: the devices do not add it up"},
		{"what follows the sum is read again", slices.Insert(layer(split(1, 8, 4), split(0, 8, 4)), 8, node("SQR", ne(8, 3), 5).Out()), "%i: it reads a sum"},
		{"the last value", []tensor{weight(split(0, 8, 4), 12, 8), weight(split(0, 8, 4), 12, 3), node("MUL_MAT", ne(8, 3), 0, 1).Out()}, "do not add it up"},
		{"a passed norm is read by who computes it", passed(split(1, 8, 4), split(0, 8, 4)), ""},
		{"a passed norm is read by who skipped it", passed(split(1, 8, 0, 4), split(0, 8, 0, 4)), "device 1 has skipped %g"},
		{"thirds of segments", fused(segments(1, seg(3, 3, 1))), ""},
		{"thirds of a plain split", fused(split(1, 9, 3)), wrongView},
		{"segments are forgotten", []tensor{weight(segments(1, seg(3, 3, 1)), 8, 12), input(8, 3), node("MUL_MAT", ne(12, 3), 0, 1).Out()}, "not where the state says"},
		{"one segment is not", []tensor{weight(split(1, 9, 3), 8, 12), input(8, 3), node("MUL_MAT", ne(12, 3), 0, 1).Out()}, ""},
		{"a bias of experts", experts(split(1, 8, 4), split(0, 8, 4), ir.Partial()), ""},
		{"a bias of experts, with a device without a share", experts(split(1, 8, 0, 4), split(0, 8, 0, 4), ir.Partial()), "skips it, though it has a summand"},
		{"kept partial", []tensor{weight(ir.Partial(), 8), weight(ir.Partial(), 8), node("ADD", ne(8), 0, 1), node("SCALE", ne(8), 2).With("bias=0").Out()}, "stays a sum"},
		{"heads", attends(split(2, 3, 1), split(2, 3, 1), 4, ""), ""},
		{"groups of heads", attends(split(2, 2, 2), split(2, 1, 1), 2, ""), ""},
		{"heads of other devices", attends(split(2, 2, 2), segments(2, seg(2, 1, 1)), 4, ""), wrongElements},
		{"heads with slopes", attends(split(2, 3, 1), split(2, 3, 1), 4, "max_bias=8"), wrongHeads},
		{"heads with slopes on one device", attends(split(2, 4, 0), split(2, 4, 0), 4, "max_bias=8"), ""},
		{"rows of scores", []tensor{weight(split(1, 2, 2), 8, 4), node("SOFT_MAX", ne(8, 4), 0).With("max_bias=0").Out()}, ""},
		{"parts of rows of scores", []tensor{weight(split(0, 4, 4), 8, 4), node("SOFT_MAX", ne(8, 4), 0).With("max_bias=0").Out()}, wrongRow},
		{"slopes of scores", []tensor{weight(split(2, 2, 2), 8, 2, 4), node("SOFT_MAX", ne(8, 2, 4), 0).With("max_bias=8").Out()}, wrongHeads},
		{"a mask of all scores", []tensor{weight(split(1, 2, 2), 8, 4), weight(split(1, 2, 2), 8, 4), node("SOFT_MAX", ne(8, 4), 0, 1).Out()}, ""},
		{"gates in segments", gates(segments(1, seg(2, 4, 2))), ""},
		{"gates in a plain split", gates(split(1, 8, 4)), wrongRow},
		{"heads turned", []tensor{weight(split(1, 3, 1), 8, 4, 2), input(2), node("ROPE", ne(8, 4, 2), 0, 1).Out()}, ""},
		{"tokens turned", []tensor{weight(split(2, 1, 1), 8, 4, 2), input(2), node("ROPE", ne(8, 4, 2), 0, 1).Out()}, wrongIndex},
		{"parts of heads turned", []tensor{weight(split(0, 4, 4), 8, 4, 2), input(2), node("ROPE", ne(8, 4, 2), 0, 1).Out()}, wrongRow},
		{"rows written", writes(split(0, 6, 2)), ""},
		{"rows written to another place", copies(split(0, 6, 2), segments(0, seg(2, 3, 1))), wrongElements},
		{"rows written whole", copies(m, m), ""},
		{"experts used are split", []tensor{weight(m, 8, 12, 4), weight(split(1, 1, 1), 8, 2, 3), input(2, 3), node("MUL_MAT_ID", ne(12, 2, 3), 0, 1, 2).Out()}, wrongIndex},
		{"groups that are whole", []tensor{weight(split(3, 1, 1), 4, 2, 4, 2), node("GROUP_NORM", ne(4, 2, 4, 2), 0).Out()}, ""},
		{"groups that are split", []tensor{weight(split(2, 2, 2), 4, 2, 4, 2), node("GROUP_NORM", ne(4, 2, 4, 2), 0).Out()}, wrongRow},
		{"channels", []tensor{weight(split(1, 3, 1), 6, 4), weight(split(1, 3, 1), 3, 4), node("SSM_CONV", ne(4, 4), 0, 1).Out()}, ""},
		{"windows", []tensor{weight(split(0, 3, 3), 6, 4), weight(split(0, 2, 2), 4, 4), node("SSM_CONV", ne(4, 4), 0, 1).Out()}, wrongElements},
		{"joined parts", []tensor{weight(split(0, 3, 1), 4, 2), weight(split(0, 3, 1), 4, 2), node("CONCAT", ne(4, 4), 0, 1).With("dim=1").Out()}, ""},
		{"a whole joined to parts", []tensor{weight(split(0, 3, 1), 4, 2), weight(m, 4, 2), node("CONCAT", ne(4, 4), 0, 1).With("dim=1").Out()}, wrongBeside},
		{"counts over parts", []tensor{weight(split(1, 2, 2), 4, 4), weight(split(1, 2, 2), 4, 4), node("COUNT_EQUAL", ne(1, 4), 0, 1).Out()}, wrongOp},
	} {
		f, _, p := planOf(t, tt.name, tt.steps)
		found, err := Check(f, p)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case tt.want == "" && len(found) > 0:
			t.Errorf("%s: it is right, and this is found: %v", tt.name, found[0])
		case tt.want != "" && (len(found) == 0 || !strings.Contains(found[0].Error(), tt.want)):
			t.Errorf("%s: found %v, want %q", tt.name, found, tt.want)
		}
	}
}

// passed has a norm that ggml passes while the sum waits, and a reader of it after the sum.
func passed(up, down ir.Sharding) []tensor {
	return []tensor{
		weight(up, 8, 12), weight(down, 12, 8), weight(ir.Mirrored(), 8, 3), input(8, 3),
		node("MUL_MAT", ne(12, 3), 0, 3), node("MUL_MAT", ne(8, 3), 1, 4),
		node("RMS_NORM", ne(8, 3), 2), node("MUL", ne(8, 3), 5, 6), node("ADD", ne(8, 3), 7, 6).Out(),
	}
}

// gates is a gated layer whose gate and up weights are one.
func gates(given ir.Sharding) []tensor {
	return []tensor{
		weight(given, 8, 12), input(8, 3), node("MUL_MAT", ne(12, 3), 0, 1), node("GLU", ne(6, 3), 2),
		weight(split(0, 4, 2), 6, 8), node("MUL_MAT", ne(8, 3), 4, 3), node("SCALE", ne(8, 3), 5).With("bias=0").Out(),
	}
}

// writes is a cache to which rows are written, and from which it is read.
func writes(given ir.Sharding) []tensor {
	return []tensor{
		weight(given, 8, 4), weight(given, 8, 2), input(2),
		node("SET_ROWS", ne(8, 4), 1, 2, 0).Writes(0), node("SQR", ne(8, 4), 3).Out(),
	}
}

// copies is a copy of a tensor into another.
func copies(from, to ir.Sharding) []tensor {
	return []tensor{weight(from, 8, 4), weight(to, 8, 4), node("CPY", ne(8, 4), 0, 1).Writes(1), node("SQR", ne(8, 4), 2).Out()}
}

// TestCheckObjectsToEveryChange changes a right plan in one place.
func TestCheckObjectsToEveryChange(t *testing.T) {
	down := func(p *plan, v *ir.Value) {
		p.sums = slices.DeleteFunc(p.sums, func(s *ir.Value) bool { return s == v })
	}
	for _, tt := range []struct {
		name   string
		change func(p *plan, v []*ir.Value)
		want   string
	}{
		{"a sum is missing", func(p *plan, v []*ir.Value) { down(p, v[6]) }, "do not add it up"},
		{"a sum is too late", func(p *plan, v []*ir.Value) { down(p, v[6]); p.sums = append(p.sums, v[7]) }, ""},
		{"a sum is taken twice", func(p *plan, v []*ir.Value) { p.sums = append(p.sums, v[7]) }, "each has all of it"},
		{"a device skips its product", func(p *plan, v []*ir.Value) { p.skips = append(p.skips, [2]int{1, 0}) }, "device 0 skips it"},
		{"a device skips what it needs", func(p *plan, v []*ir.Value) { p.skips = append(p.skips, [2]int{0, 0}) }, "device 0 has skipped"},
		{"a device skips the result", func(p *plan, v []*ir.Value) { p.skips = append(p.skips, [2]int{3, 0}) }, "device 0 has skipped it"},
		{"devices have swapped parts of a weight", func(p *plan, v []*ir.Value) { p.state[v[1]] = ir.SplitOn(3, seg(1, 4, 8)) }, wrongView},
		{"a device takes more", func(p *plan, v []*ir.Value) {
			parts := p.Parts(v[4])
			parts[0].NE[0]++
			p.parts[v[4]] = parts
		}, "device 0 has 24 elements, and the plan states 27"},
	} {
		f, values, p := planOf(t, tt.name, layer(split(1, 8, 4), split(0, 8, 4)))
		tt.change(p, values)
		found, err := Check(f, p)
		if err != nil {
			t.Fatal(err)
		}
		if tt.want == "" && len(found) > 0 || tt.want != "" && (len(found) == 0 || !strings.Contains(found[0].Error(), tt.want)) {
			t.Errorf("%s: found %v, want %q", tt.name, found, tt.want)
		}
	}
}
