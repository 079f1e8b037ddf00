package shard

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// sumOf returns a sum of rows times columns elements.
func sumOf(t *testing.T, rows, columns int64) *ir.Node {
	t.Helper()
	typ := fmt.Sprintf("f32[%d,%d]", rows, columns)
	return parseModule(t, "ggir 1\nmodule \"m\"\nfunc @f(%x: "+typ+") -> (y: "+typ+") {\n  %y = all_reduce %x : "+typ+"\n  return %y\n}\n").Funcs[0].Nodes[0]
}

// several returns devices of a kind, with memories of their own.
func several(t *testing.T, kind string, n int) (list []*target.Descriptor) {
	t.Helper()
	for j := range n {
		d := target.Fake()
		if kind == "threads" {
			l, err := target.Select("cpu:cores=0,cpu")
			if err != nil {
				t.Fatal(err)
			}
			d = l.All()[0]
		}
		d.Name = fmt.Sprint(kind, j)
		d.Spaces = []string{d.Name}
		list = append(list, d)
	}
	return list
}

func ordersOf(members []*target.Descriptor) *sumOrders {
	return &sumOrders{members: members, known: make(map[sumKey][]orderTime)}
}

// TestOrdersFollowSizesAndLinks has the vectors of a token and the matrices of a prompt, on devices with links of their
// own and on threads that share the link of one memory.
func TestOrdersFollowSizesAndLinks(t *testing.T) {
	for _, tt := range []struct {
		kind          string
		devices       int
		rows, columns int64
		want          ir.SumOrder
	}{
		{"devices", 2, 1, 64, ir.SumDirect},
		{"devices", 2, 512, 4096, ir.SumDirect},
		{"devices", 3, 1, 4096, ir.SumDirect},
		{"devices", 3, 512, 4096, ir.SumRing},
		{"devices", 8, 1, 4096, ir.SumDirect},
		{"devices", 8, 512, 4096, ir.SumRing},
		{"threads", 2, 512, 4096, ir.SumDirect},
		{"threads", 3, 1, 512, ir.SumDirect},
		{"threads", 3, 512, 4096, ir.SumFirst},
		{"threads", 8, 1, 4096, ir.SumTree},
		{"threads", 8, 512, 4096, ir.SumRing},
	} {
		got, times, err := ordersOf(several(t, tt.kind, tt.devices)).choose(sumOf(t, tt.rows, tt.columns), slices.Repeat([]bool{true}, tt.devices), false)
		if err != nil || got != tt.want || len(times) != ir.NumSumOrders || times[0].order != got {
			t.Errorf("%d %s, %d times %d: %v, error %v, want %v: %v", tt.devices, tt.kind, tt.rows, tt.columns, got, err, tt.want, words(times))
		}
	}
}

// TestOrdersMoveWhatTheDesignStates counts messages and bytes.
func TestOrdersMoveWhatTheDesignStates(t *testing.T) {
	const bytes = 16 * 128 * 4
	for _, n := range []int64{2, 3, 4, 8} {
		times := ordersOf(several(t, "devices", int(n))).times(sumOf(t, 16, 128), slices.Repeat([]bool{true}, int(n)), false)
		for order, want := range map[ir.SumOrder][2]int64{
			ir.SumDirect: {n * (n - 1), n * (n - 1) * bytes}, ir.SumFirst: {2 * (n - 1), 2 * (n - 1) * bytes},
			ir.SumTree: {2 * (n - 1), 2 * (n - 1) * bytes}, ir.SumRing: {2 * n * (n - 1), 2 * (n - 1) * bytes},
		} {
			if got := times[order]; got.messages != want[0] || got.bytes != want[1] || got.seconds <= 0 {
				t.Errorf("%d devices, %v: %d messages, %d bytes, want %v", n, order, got.messages, got.bytes, want)
			}
		}
	}
}

// TestOrdersWithoutChoice has devices of unknown rates, an order that a member does not run, and one device with a
// summand.
func TestOrdersWithoutChoice(t *testing.T) {
	members := several(t, "devices", 3)
	n, all := sumOf(t, 512, 4096), []bool{true, true, true}
	members[1].Rates = target.Rates{}
	if got, times, err := ordersOf(members).choose(n, all, false); got != ir.SumFirst || len(times) > 0 || err != nil {
		t.Errorf("unknown rates: %v, %v, error %v", got, times, err)
	}
	members = several(t, "devices", 3)
	members[2].Rows = slices.DeleteFunc(members[2].Rows, func(r target.Row) bool { return r.Op == ir.OpConcat })
	o := ordersOf(members)
	if got, _, err := o.choose(n, all, false); got == ir.SumRing || err != nil {
		t.Errorf("no concat: %v, error %v", got, err)
	}
	ring := ir.SumRing
	o.asked = &ring
	if _, _, err := o.choose(n, all, false); err == nil || !strings.Contains(err.Error(), "devices2 does not run concat") {
		t.Errorf("no concat, and a ring is asked for: error %v", err)
	}
	members = several(t, "devices", 2)
	members[1].Rows = slices.DeleteFunc(members[1].Rows, func(r target.Row) bool { return r.Op == ir.OpAdd })
	if got, times, err := ordersOf(members).choose(n, []bool{true, true}, false); got != ir.SumFirst || err != nil {
		t.Errorf("the second device does not add: %v, %v, error %v", got, words(times), err)
	}
	for _, x := range ordersOf(several(t, "devices", 3)).times(n, []bool{false, true, false}, false) {
		if x.messages != 2 {
			t.Errorf("one summand, %v: %d messages", x.order, x.messages)
		}
	}
}
