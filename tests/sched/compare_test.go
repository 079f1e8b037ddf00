package sched

import (
	"maps"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/passes/check"
)

func num(i int) *int { return &i }

// smallCase is two products whose weights lie on two backends.
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

// TestComparisonSeesEveryItem changes one decision of a trace after the other: exactly its
// item has to differ.
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

// TestFindings changes one address of a trace after the other: the proof has to object.
func TestFindings(t *testing.T) {
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
