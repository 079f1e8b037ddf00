package ggml

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/shard/foreign/foreigntest"
)

type step = foreigntest.Step

func weight(given ir.Sharding, ne ...int64) step { return foreigntest.Weight(given, ne...) }

func node(op string, ne []int64, src ...int) step { return foreigntest.Node(op, ne, src...) }

func ne(n ...int64) []int64 { return n }

func split(axis int, counts ...int64) ir.Sharding { return foreigntest.Split(axis, counts...) }

// TestRulesOfGGML has a small graph for every reason to refuse, and beside it one that is accepted. The states are
// those of the last tensor.
func TestRulesOfGGML(t *testing.T) {
	m, p := ir.Mirrored(), ir.Partial()
	two := ir.SplitOn(0, ir.Segment{Times: 2, Counts: []int64{1, 1}}, ir.Segment{Times: 1, Counts: []int64{2, 2}})
	for _, tt := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"whole blocks", []step{{DType: dtype.Q8_0, NE: [4]int64{64, 2, 1, 1}, Given: split(0, 32, 32)}}, "split(3, 32 32)"},
		{"half blocks", []step{{DType: dtype.Q8_0, NE: [4]int64{64, 2, 1, 1}, Given: split(0, 16, 48)}}, "kept granularity"},
		{"too many", []step{weight(split(0, 4, 5), 8)}, "kept sum"},
		{"no elements", []step{weight(m, 0, 4), node("SQR", ne(0, 4), 0)}, "none"},
		{"a source without elements", []step{weight(m, 0, 4), node("SUM", ne(1), 0)}, "graph empty"},
		{"no rule", []step{weight(m, 4), node("COL2IM_1D", ne(4), 0)}, "graph op"},
		{"alike", []step{weight(split(0, 3, 1), 4), weight(split(0, 3, 1), 4), node("GLU", ne(4), 0, 1)}, "split(3, 3 1)"},
		{"unlike", []step{weight(split(0, 3, 1), 4), weight(split(0, 2, 2), 4), node("GLU", ne(4), 0, 1)}, "graph differ"},
		{"nothing to be alike", []step{node("ARANGE", ne(4))}, "graph differ"},
		{"a split source of a whole op", []step{weight(split(0, 2, 2), 4), node("SUM", ne(1), 0)}, "graph differ"},
		{"a family of ops", []step{weight(m, 4), node("CONV_2D_DW", ne(4), 0)}, "mirrored"},
		{"rows beside each other", []step{weight(split(1, 2, 2), 4, 4), node("RMS_NORM", ne(4, 4), 0)}, "split(2, 2 2)"},
		{"rows cut", []step{weight(split(0, 2, 2), 4, 4), node("RMS_NORM", ne(4, 4), 0)}, "graph row"},
		{"a row for all", []step{weight(split(1, 2, 2), 4, 4), weight(m, 4), node("ADD", ne(4, 4), 0, 1)}, "split(2, 2 2)"},
		{"split ids", []step{weight(p, 4, 4), weight(p, 4, 4), weight(split(0, 2, 2), 4), node("ADD_ID", ne(4, 4), 0, 1, 2)}, "graph ids"},
		{"columns", []step{weight(split(1, 3, 1), 4, 4), weight(m, 4, 2), node("MUL_MAT", ne(4, 2), 0, 1)}, "split(3, 3 1)"},
		{"contracted", []step{weight(split(0, 3, 1), 4, 4), weight(split(0, 3, 1), 4, 2), node("MUL_MAT", ne(4, 2), 0, 1)}, "mirrored"},
		{"contracted in two ways", []step{weight(split(0, 3, 1), 4, 4), weight(split(0, 1, 3), 4, 2), node("MUL_MAT", ne(4, 2), 0, 1)}, "graph contraction"},
		{"a partial factor", []step{weight(m, 4, 4), weight(p, 4, 2), node("MUL_MAT", ne(4, 2), 0, 1)}, "graph matmul"},
		{"joined elsewhere", []step{weight(split(0, 3, 1), 4, 4), weight(m, 4, 4), node("CONCAT", ne(4, 8), 0, 1).With("dim=1")}, "split(3, 3 1)"},
		{"joined where it is split", []step{weight(split(1, 3, 1), 4, 4), weight(m, 4, 4), node("CONCAT", ne(4, 8), 0, 1).With("dim=1")}, "graph concat"},
		{"both joined where they are split", []step{weight(split(1, 3, 1), 4, 4), weight(split(1, 3, 1), 4, 4), node("CONCAT", ne(4, 8), 0, 1).With("dim=1")}, "graph differ"},
		{"the last dimension", []step{weight(split(1, 3, 1), 4, 4), node("CONT", ne(2, 2, 4), 0)}, "split(1, 3 1)"},
		{"inner pieces repeat", []step{weight(split(0, 3, 1), 4, 4), node("CONT", ne(16), 0)}, "split(3, 4*(3 1))"},
		{"several segments", []step{weight(two, 8, 4), node("CONT", ne(32), 0)}, "graph segments"},
		{"repetitions are cut", []step{weight(ir.SplitOn(0, ir.Segment{Times: 2, Counts: []int64{1, 3}}), 8, 6), node("CONT", ne(6, 8), 0)}, "graph repeats"},
		{"a cut that is none", []step{weight(split(0, 3, 1), 4, 6), node("CONT", ne(6, 4), 0)}, "graph divide"},
		{"half of each row", []step{weight(split(1, 2, 2), 4, 4), {Op: "VIEW", NE: [4]int64{2, 4, 1, 1}, NB: [4]int64{4, 16, 64, 64}, Src: []int{0}}}, "split(2, 2 2)"},
		{"stride of no dimension", []step{weight(split(1, 2, 2), 4, 4, 2), {Op: "VIEW", NE: [4]int64{4, 2, 1, 1}, NB: [4]int64{4, 32, 128, 128}, Src: []int{0}}}, "graph view"},
		{"a view of the permuted", []step{weight(split(1, 2, 2), 4, 4), node("TRANSPOSE", ne(4, 4), 0), {Op: "VIEW", NE: [4]int64{2, 2, 1, 1}, NB: [4]int64{16, 8, 64, 64}, Src: []int{1}}}, "graph permuted"},
		{"moved", []step{weight(split(1, 3, 1), 4, 4), node("PERMUTE", ne(4, 1, 4), 0).With("to=0,2,1,3")}, "split(1, 3 1)"},
		{"several segments moved", []step{weight(two, 8, 4), node("TRANSPOSE", ne(4, 8), 0)}, "graph segments"},
		{"rows of a split table", []step{weight(split(0, 3, 1), 4, 4), weight(m, 2), node("GET_ROWS", ne(4, 2), 0, 1)}, "split(3, 3 1)"},
		{"rows written", []step{weight(split(0, 3, 1), 4, 2), weight(m, 2), weight(split(0, 3, 1), 4, 4), node("SET_ROWS", ne(4, 4), 0, 1, 2)}, "split(3, 3 1)"},
		{"split rows written", []step{weight(split(1, 1, 1), 4, 2), weight(m, 2), weight(m, 4, 4), node("SET_ROWS", ne(4, 4), 0, 1, 2)}, "graph rows"},
		{"rows written by a split index", []step{weight(m, 4, 2), weight(split(0, 1, 1), 2), weight(m, 4, 4), node("SET_ROWS", ne(4, 4), 0, 1, 2)}, "graph index"},
		{"rows written elsewhere", []step{weight(m, 4, 2), weight(m, 2), weight(split(0, 3, 1), 4, 4), node("SET_ROWS", ne(4, 4), 0, 1, 2)}, "graph target"},
		{"split positions", []step{weight(m, 4, 2, 2), weight(split(0, 1, 1), 2), node("ROPE", ne(4, 2, 2), 0, 1)}, "graph index"},
		{"padded elsewhere", []step{weight(split(0, 3, 1), 4, 2), node("PAD", ne(4, 3), 0).With("pad=0,0,0,1,0,0,0,0")}, "split(3, 3 1)"},
		{"padded", []step{weight(split(0, 3, 1), 4, 2), node("PAD", ne(5, 2), 0).With("pad=0,1,0,0,0,0,0,0")}, "graph pad"},
		{"heads", attends(split(2, 3, 1), m, split(0, 3, 1)), "split(2, 3 1)"},
		{"other heads", attends(m, m, split(0, 3, 1)), "graph heads"},
		{"a split mask", attends(split(2, 3, 1), split(0, 6, 2), split(0, 3, 1)), "graph mask"},
		{"whole sinks", attends(split(2, 3, 1), m, m), "graph sinks"},
		{"channels", []step{weight(split(1, 3, 1), 7, 4), weight(split(1, 3, 1), 4, 4), node("SSM_CONV", ne(4, 4), 0, 1)}, "split(3, 3 1)"},
		{"fourths", []step{weight(split(0, 3, 1), 4), weight(split(0, 3, 1), 4), node("REPEAT", ne(2), 0, 1)}, "graph divide"},
		{"several, and another", []step{weight(two, 8), weight(split(0, 4, 4), 8), node("GLU", ne(8), 0, 1)}, "graph several"},
		{"other proportions", []step{weight(split(0, 3, 1), 4, 4), weight(split(0, 2, 2), 4), weight(m, 1), node("ADD_ID", ne(4, 4), 0, 1, 2)}, "graph ratio"},
	} {
		f, values, given := foreigntest.Build(t, tt.steps)
		d, err := Derive(f, 2, given)
		got := ""
		var refusal *Refusal
		switch {
		case errors.As(err, &refusal):
			got = string(refusal.Stage) + " " + string(refusal.Reason)
		case err != nil:
			t.Fatalf("%s: %v", tt.name, err)
		default:
			got = d.State(values[len(values)-1]).String()
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// attends returns attention of four heads with sinks, for states of queries, mask and sinks.
func attends(q, mask, sinks ir.Sharding) []step {
	return []step{
		weight(q, 8, 2, 4), weight(split(2, 3, 1), 8, 6, 4), weight(split(2, 3, 1), 8, 6, 4), weight(mask, 8, 2), weight(sinks, 4),
		node("FLASH_ATTN_EXT", ne(8, 4, 2), 0, 1, 2, 3, 4),
	}
}

// TestSplitViewOfAWholeIsRefused has a view that a rule splits, though the tensor that it names is whole.
func TestSplitViewOfAWholeIsRefused(t *testing.T) {
	steps := []step{
		weight(split(1, 2, 2), 4, 4), weight(ir.Mirrored(), 4, 8),
		{Op: "VIEW", NE: [4]int64{4, 4, 1, 1}, Src: []int{0}, Of: 1, Offset: 64},
	}
	f, _, given := foreigntest.Build(t, steps)
	_, err := Derive(f, 2, given)
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Reason != ReasonOffset {
		t.Errorf("error %v, want %s", err, ReasonOffset)
	}
}

// TestGroupsAreLimited has as many devices as ggml allows, and one more.
func TestGroupsAreLimited(t *testing.T) {
	f, _, given := foreigntest.Build(t, []step{weight(ir.Mirrored(), 4)})
	if _, err := Derive(f, maxDevices, given); err != nil {
		t.Error(err)
	}
	if _, err := Derive(f, maxDevices+1, given); err == nil || !strings.Contains(err.Error(), string(ReasonDevices)) {
		t.Errorf("error %v, want %s", err, ReasonDevices)
	}
}

// TestCutRoundsDown has pieces that end at granules, devices without a share, and a rotation.
func TestCutRoundsDown(t *testing.T) {
	for _, tt := range []struct {
		n       int64
		shares  []float64
		granule int64
		first   int
		want    []int64
	}{
		{128, []float64{1, 1, 1}, 32, 0, []int64{32, 32, 64}},
		{128, []float64{1, 1, 1}, 32, 1, []int64{64, 32, 32}},
		{128, []float64{1, 0, 1}, 1, 0, []int64{64, 0, 64}},
		{256, []float64{3, 1}, 1, 0, []int64{192, 64}},
		{32, []float64{1, 1}, 32, 0, []int64{0, 32}},
	} {
		got, err := Cut(tt.n, tt.shares, tt.granule, tt.first)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%d by %v: %v, error %v, want %v", tt.n, tt.shares, got, err, tt.want)
		}
	}
	for _, shares := range [][]float64{{0, 0}, {1, -1}, {}} {
		if _, err := Cut(8, shares, 1, 0); err == nil {
			t.Errorf("shares %v are no error", shares)
		}
	}
}
