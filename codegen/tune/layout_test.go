package tune

import (
	"context"
	"errors"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
)

// layoutModel has a table, keys in q8_0 that a token and a prompt of up to 8 read, keys in f32,
// which have one layout, and a gather from what is no weight.
const layoutModel = `
weight "t" : q4_0[50,32]
weight "h" : f16[50,32]
state "k" : q8_0[1,2,40,32]
state "v" : q8_0[1,2,40,32]
state "f" : f32[1,2,40,32]
symbol n 1 8
func @decode(%i: i32[1], %q: f32[1,4,32], %len: i32[1]) -> (f32[1,32], f32[1,32], f32[1,4,32], f32[1,4,32], f32[1,32]) {
  %t = weight "t"
  %x = gather %t, %i
  %h = weight "h"
  %y = gather %h, %i
  %k = state "k"
  %v = state "v"
  %a = attention %q, %k, %v, %i, %i, %len {scale=0.5}
  %f = state "f"
  %b = attention %q, %f, %f, %i, %i, %len {scale=0.5}
  %z = gather %x, %i
  return %x, %y, %a, %b, %z
}
func @prefill(%i: i32[n], %q: f32[n,4,32], %len: i32[1]) -> (f32[n,32], f32[n,4,32]) {
  %t = weight "t"
  %x = gather %t, %i
  %k = state "k"
  %v = state "v"
  %a = attention %q, %k, %v, %i, %i, %len {scale=0.5}
  return %x, %a
}
`

func parse(t *testing.T, text string) *ir.Module {
	t.Helper()
	m, err := ir.Parse("m.ggir", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestLayoutUsesAreListedOnce demands each use once, where there is a choice.
func TestLayoutUsesAreListedOnce(t *testing.T) {
	want := []string{
		"gather:q4_0:50x32:1", "gather:f16:50x32:1", "gather:bf16:50x32:1", "attention:q8_0:1x2x40x32:4",
		"gather:q4_0:50x32:8", "attention:q8_0:1x2x40x32:32",
	}
	var got []string
	for _, u := range layoutUses(parse(t, layoutModel)) {
		got = append(got, u.String())
	}
	if len(got) != len(want) {
		t.Fatalf("uses %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("use %d is %s, want %s", i, got[i], want[i])
		}
	}
}

// TestEveryLayoutHasAKernel demands that every layout of the processor's table can be measured.
func TestEveryLayoutHasAKernel(t *testing.T) {
	for _, op := range []ir.Op{ir.OpGather, ir.OpAttention} {
		for _, d := range []dtype.DType{dtype.F32, dtype.F16, dtype.BF16, dtype.Q8_0, dtype.Q4_0} {
			known := target.CPU().Layouts(op, target.LayoutOperand(op), d)
			if here := layoutsOf(target.LayoutUse{Op: op, DType: d}); len(here) != len(known) {
				t.Errorf("%v of %v is measured in %v, and kernels read %v", op, d, here, known)
			}
		}
	}
}

// TestMeasuredLayoutsAreRead measures all uses and reads the figures back as a target.
func TestMeasuredLayoutsAreRead(t *testing.T) {
	m := parse(t, layoutModel)
	uses := layoutUses(m)
	times, err := measureLayouts(t.Context(), uses)
	if err != nil {
		t.Fatal(err)
	}
	if len(times) != 2*len(uses) {
		t.Fatalf("%d times of %d uses", len(times), len(uses))
	}
	for _, lt := range times {
		if !(lt.Seconds > 0 && lt.Seconds < 1) {
			t.Errorf("%v", lt)
		}
	}
	r := &Result{Kernels: "avx2", Layouts: times}
	d := target.CPU()
	r.Apply(d)
	back, err := target.ParseDescriptor(d.String())
	if err != nil || back.String() != d.String() || len(back.LayoutTimes) != len(times) || back.Measured == "" {
		t.Errorf("%v is read as %v: %v", d, back, err)
	}
	if missing := Unmeasured(d, m); missing != nil {
		t.Errorf("%v were measured", missing)
	}
	d.LayoutTimes = d.LayoutTimes[1:] // without the table's rows
	if missing := Unmeasured(d, m); len(missing) != 1 || missing[0] != uses[0].LayoutUse {
		t.Errorf("not measured: %v", missing)
	}
	d.LayoutTimes = nil
	if missing := Unmeasured(d, m); missing != nil {
		t.Errorf("a target without measurements lacks %v", missing)
	}
}

func TestMeasureLayoutsStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := measureLayouts(ctx, layoutUses(parse(t, layoutModel))); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestTurnsReadDifferentBytes demands that no turn of a use has the number of another, and that each trial's
// fastest counts: with one number for both layouts the second found its bytes in a cache.
func TestTurnsReadDifferentBytes(t *testing.T) {
	seen := make(map[int]bool)
	one := func(layout dtype.Layout, fastest int) trial {
		return trial{layout, func(turn int) float64 {
			if seen[turn] {
				t.Errorf("turn %d is run twice", turn)
			}
			seen[turn] = true
			return float64(max(turn/2, fastest))
		}}
	}
	times, err := fastestOf(t.Context(), use{}, []trial{one(dtype.Plain, 1), one(dtype.R16, 2)})
	if err != nil || len(times) != 2 || times[0].Seconds != 1 || times[1].Seconds != 2 || times[1].Layout != dtype.R16 {
		t.Errorf("%v (%v), want 1 s of rows and 2 s of panels", times, err)
	}
}

// TestShortAttentionsRepeat demands that a turn is long compared to the resolution of the clock, for every context.
func TestShortAttentionsRepeat(t *testing.T) {
	for _, u := range layoutUses(parse(t, layoutModel)) {
		if u.Op != ir.OpAttention {
			continue
		}
		if a := newAttention(u); a.calls*2*a.stateBytes(a.dk) < turnBytes/2 {
			t.Errorf("%v is called %d times in a turn", u.LayoutUse, a.calls)
		}
	}
}
