package sched

import (
	"maps"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/passes/check"
)

func num(i int) *int { return &i }

// smallCase returns a case with two products whose weights are on two backends.
func smallCase() *Case {
	dense := func(c Tensor, x, y int64) Tensor {
		c.Type, c.NE, c.NB, c.Bytes = "f32", [4]int64{x, y, 1, 1}, [4]int64{4, 4 * x, 4 * x * y, 4 * x * y}, 4*x*y
		return c
	}
	return &Case{
		Name: "small", Rules: "ggml-2026-08", Copies: 1,
		Spaces: []Space{{"dev", 64, false}, {"host", 32, true}},
		Backends: []Backend{
			{Name: "GPU", Space: "dev", Addresses: []string{"dev"}, Ops: Ops{Names: []string{"MUL_MAT"}}},
			{Name: "CPU", Space: "host", Addresses: []string{"host"}, Ops: Ops{All: true}},
		},
		Tensors: []Tensor{
			dense(Tensor{Op: "NONE", WeightIn: "dev"}, 8, 8),
			dense(Tensor{Op: "NONE", WeightIn: "host"}, 8, 8),
			dense(Tensor{Op: "NONE", Input: true}, 8, 2),
			dense(Tensor{Op: "MUL_MAT", Src: []*int{num(0), num(2)}}, 8, 2),
			dense(Tensor{Op: "MUL_MAT", Src: []*int{num(1), num(3)}, Output: true}, 8, 2),
		},
		Leafs: []int{0, 1, 2}, Nodes: []int{3, 4},
		Expect: Decisions{
			Assign:     [][2]string{{"GPU", "1.dst"}, {"CPU", "1.dst"}, {"CPU", "1.inp"}, {"GPU", "1.wgt0"}, {"CPU", "1.wgt0"}},
			Splits:     []Split{{"GPU", 0, 1, []int{2}}, {"CPU", 1, 2, []int{3}}},
			Copies:     []Copy{{Of: 2, Backend: "GPU"}, {Of: 3, Backend: "CPU", At: [2]int64{1, 0}}},
			Rewired:    [][3]int{{3, 1, 0}, {4, 1, 1}},
			FinalLeafs: []any{0, 1, 2},
			FinalNodes: []any{"keep 2", "copy 0", 3, "keep 3", "copy 1", 4},
			Buffers:    []Buffer{{[]string{"GPU"}, "dev", 128}, {[]string{"CPU"}, "", 128}},
			At:         []*[2]int64{nil, nil, {1, 0}, {0, 64}, {1, 64}},
		},
	}
}

// TestComparisonSeesEveryItem changes one decision of a trace at a time. Exactly its item has to differ.
func TestComparisonSeesEveryItem(t *testing.T) {
	for _, tt := range []struct {
		item   string
		change func(*Decisions)
	}{
		{"", func(*Decisions) {}},
		{"backends", func(d *Decisions) { d.Assign[3][0] = "CPU" }},
		{"causes", func(d *Decisions) { d.Assign[3][1] = "1.wgt1" }},
		{"splits", func(d *Decisions) { d.Splits[1].Start = 0 }},
		{"splits", func(d *Decisions) { d.Splits[1].Inputs = nil }},
		{"copies", func(d *Decisions) { d.Copies = append(d.Copies, Copy{Of: 1, Backend: "GPU"}) }},
		{"rewired", func(d *Decisions) { d.Rewired = d.Rewired[:1] }},
		{"rewired", func(d *Decisions) { d.Rewired[1][1] = 0 }},
		{"final_leafs", func(d *Decisions) { d.FinalLeafs[0], d.FinalLeafs[1] = 1, 0 }},
		{"final_nodes", func(d *Decisions) { d.FinalNodes[2], d.FinalNodes[3] = "keep 3", 3 }},
		{"unreachable", func(d *Decisions) { d.Unreachable = [][2]int{{3, -1}} }},
		{"unreachable", func(d *Decisions) { d.At[3] = &[2]int64{1, 64} }},
	} {
		c := smallCase()
		tt.change(&c.Expect)
		g, err := Build(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{}
		if tt.item != "" {
			want = append(want, tt.item)
		}
		if got := slices.Sorted(maps.Keys(g.Differences(0))); !slices.Equal(got, want) {
			t.Errorf("after a change of %q these differ: %q: %v", tt.item, got, g.Differences(0))
		}
	}
}

// TestProofObjectsToEveryChangedAddress changes one address of a trace at a time.
func TestProofObjectsToEveryChangedAddress(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		change     func(*Decisions)
	}{
		{"as it is", "", func(*Decisions) {}},
		{"a result over its operand", check.RuleOverlap, func(d *Decisions) { d.At[4] = &[2]int64{1, 0} }},
		{"a copy over what is read later", check.RuleOverlap, func(d *Decisions) { d.At[3] = &[2]int64{0, 0} }},
		{"out of alignment", check.RuleAlign, func(d *Decisions) { d.At[3] = &[2]int64{0, 32}; d.Copies[0].At[1] = 32 }},
		{"behind the buffer", check.RuleAddress, func(d *Decisions) { d.At[4] = &[2]int64{1, 128} }},
		{"in another memory", check.RuleReach, func(d *Decisions) { d.At[3] = &[2]int64{1, 64} }},
	} {
		c := smallCase()
		tt.change(&c.Expect)
		g, err := Build(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		found := g.Found(0)
		if tt.want == "" && len(found) > 0 || tt.want != "" && !slices.ContainsFunc(found, func(v *check.Violation) bool { return v.Rule == tt.want }) {
			t.Errorf("%s: found %v, want %q", tt.name, found, tt.want)
		}
	}
}

// TestOverlapsFollowTheAddresses changes one address of a trace at a time. The overlaps found in the trace have to
// change with it.
func TestOverlapsFollowTheAddresses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		want   bool
		change func(*Case)
	}{
		{"as it is", false, func(*Case) {}},
		{"a result over its operand", true, func(c *Case) { c.Expect.At[4] = &[2]int64{1, 0} }},
		{"a result over a part of its operand", true, func(c *Case) { c.Expect.At[4] = &[2]int64{1, 32} }},
		{"a result takes its operand", false, func(c *Case) { c.Expect.At[4], c.Tensors[4].Op = &[2]int64{1, 0}, "ADD" }},
		{"a result takes what is kept", true, func(c *Case) {
			c.Expect.At[4], c.Tensors[4].Op, c.Copies = &[2]int64{1, 0}, "ADD", 4
		}},
		{"a result takes an operand of another type", true, func(c *Case) {
			c.Expect.At[4], c.Tensors[4].Op, c.Tensors[3].Type = &[2]int64{1, 0}, "ADD", "i32"
		}},
		{"a result takes a copy of one row that was far from the next", false, func(c *Case) {
			c.Expect.At[4], c.Tensors[4].Op = &[2]int64{1, 0}, "ADD"
			c.Tensors[3].NE, c.Tensors[3].NB = [4]int64{16, 1, 1, 1}, [4]int64{4, 512, 512, 512}
			c.Tensors[4].NE, c.Tensors[4].NB = [4]int64{16, 1, 1, 1}, [4]int64{4, 64, 64, 64}
		}},
		{"a result takes a copy of two rows that are apart", true, func(c *Case) {
			c.Expect.At[4], c.Tensors[4].Op = &[2]int64{1, 0}, "ADD"
			c.Tensors[3].NB = [4]int64{4, 512, 1024, 1024}
		}},
		{"a result takes an operand through a view", true, func(c *Case) {
			view := c.Tensors[3]
			view.Op, view.Src, view.ViewOf = "RESHAPE", []*int{num(3)}, num(3)
			c.Tensors, c.Expect.At = append(c.Tensors, view), append(c.Expect.At, nil)
			c.Expect.Assign = append(c.Expect.Assign, [2]string{"CPU", "4.vsrc"})
			c.Expect.At[3] = &[2]int64{1, 64}
			c.Tensors[4].Op, c.Tensors[4].Src, c.Expect.Rewired = "ADD", []*int{num(5), num(5)}, nil
		}},
		{"a copy over what is read later", true, func(c *Case) { c.Expect.At[3] = &[2]int64{0, 0} }},
		{"a copy over an input that is not needed any more", false, func(c *Case) { c.Expect.At[2] = &[2]int64{1, 64} }},
		{"a result beside an output", true, func(c *Case) { c.Expect.At[3], c.Tensors[3].Output = &[2]int64{1, 64}, true }},
		{"a result that nothing reads", true, func(c *Case) { c.Tensors[4].Output = false; c.Expect.At[4] = &[2]int64{1, 0} }},
	} {
		c := smallCase()
		tt.change(c)
		if got := c.overlaps(); got != tt.want {
			t.Errorf("%s: overlaps: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestGraphOfViewsKeepsTheFirstBackend has graphs of views: no node does any work, and ggml's only split keeps the
// backend that the first split had before.
func TestGraphOfViewsKeepsTheFirstBackend(t *testing.T) {
	views := func(name, backend string) *Case {
		c := smallCase()
		view := c.Tensors[2]
		view.Op, view.Input, view.Src, view.ViewOf = "RESHAPE", false, []*int{num(0)}, num(0)
		c.Name, c.Tensors, c.Leafs, c.Nodes = name, []Tensor{c.Tensors[2], view}, []int{0}, []int{1}
		c.Expect = Decisions{
			Assign: [][2]string{{"CPU", "1.inp"}, {"CPU", "4.vsrc"}},
			Splits: []Split{{backend, 0, 1, []int{}}}, FinalLeafs: []any{0}, FinalNodes: []any{1},
			Buffers: c.Expect.Buffers, At: []*[2]int64{{1, 0}, nil},
		}
		return c
	}
	last := smallCase()
	last.Tensors[0].WeightIn = "host"
	for _, cases := range [][]*Case{{views("a", "GPU")}, {views("a", "GPU"), views("a#1", "GPU")}, {smallCase(), views("small#1", "GPU")}, {last, views("small#1", "CPU")}} {
		g, err := Build(cases...)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := g.Differences(len(cases) - 1); len(d) > 0 {
			t.Errorf("%s behind %d others: %v", cases[len(cases)-1].Name, len(cases)-1, d)
		}
	}
}
