package shard

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

// feedForward is a layer with a weight for each half of it.
const feedForward = `ggir 1
module "m"
source m "m.gguf" 0
weight "up" : f32[12,8] = m["up"]
weight "down" : f32[8,12] = m["down"]
func @f(%x: f32[3,8]) -> (y: f32[3,8]) {
  %up = weight "up" : f32[12,8]
  %down = weight "down" : f32[8,12]
  %a = matmul %x, %up : f32[3,12]
  %b = silu %a : f32[3,12]
  %c = matmul %b, %down : f32[3,8]
  %y = add %x, %c : f32[3,8]
  return %y
}
`

func parseModule(t *testing.T, text string) *ir.Module {
	t.Helper()
	m, err := ir.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestLayerIsWrittenOut shows what becomes of a layer on two devices.
func TestLayerIsWrittenOut(t *testing.T) {
	m := parseModule(t, feedForward)
	spread, collectives, err := Spread(m, 2, map[string]ir.Sharding{
		"up": ir.SplitOn(0, ir.Segment{Times: 1, Counts: []int64{8, 4}}), "down": ir.SplitOn(1, ir.Segment{Times: 1, Counts: []int64{8, 4}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `func @f
  parts "a" split(1, 8 4) ["a@0", "a@1"]
  parts "b" split(1, 8 4) ["b@0", "b@1"]
  parts "c" partial ["c@0", "c@1"]
  parts "y" partial ["y@0", "c@1"]
  parts "y" mirrored ["y", "y.sum@1"]
  %"a@0" = matmul %x, %"up@0"
  %"b@0" = silu %"a@0"
  %"c@0" = matmul %"b@0", %"down@0"
  %"y@0" = add %x, %"c@0"
  %"a@1" = matmul %x, %"up@1"
  %"b@1" = silu %"a@1"
  %"c@1" = matmul %"b@1", %"down@1"
  %y = add %"y@0", %"c@1"
  %"y.sum@1" = add %"y@0", %"c@1"
`
	var b strings.Builder
	if err := ir.Print(&b, spread, ir.PrintOptions{Show: ir.ShowShard}); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.HasSuffix(text, want) {
		t.Errorf("the layer is\n%swant\n%s", text, want)
	}
	if y := spread.Funcs[0].Results[0].Name(); y != "y" {
		t.Errorf("the result is %s", y)
	}
	for i, want := range []string{`rows(m["up"], 0, 8)`, `rows(m["up"], 8, 4)`, `columns(m["down"], 0, 8)`, `columns(m["down"], 8, 4)`} {
		if got := spread.Weights[i].Expr.String(); got != want {
			t.Errorf("weight %q is %s, want %s", spread.Weights[i].Name, got, want)
		}
	}
	if len(collectives) != 2 || collectives[0].Kind != TakePart || collectives[1].Kind != AllReduce || collectives[1].Value != "y" || !collectives[1].Bytes.Is(96) {
		t.Errorf("the collectives are %v", collectives)
	}
}

// TestWrongGroupsAreReported has groups and states that do not fit.
func TestWrongGroupsAreReported(t *testing.T) {
	part := func(axis int, counts ...int64) ir.Sharding {
		return ir.SplitOn(axis, ir.Segment{Times: 1, Counts: counts})
	}
	for _, tt := range []struct {
		name    string
		devices int
		weight  string
		state   ir.Sharding
		want    string
	}{
		{"a group of one", 1, "up", ir.Mirrored(), "two devices or more"},
		{"a weight that is none", 2, "gone", ir.Mirrored(), `"gone" is given a state and is no weight or state`},
		{"an axis that is none", 2, "up", part(2, 8, 4), "has no such axis"},
		{"too few parts", 3, "up", part(0, 8, 4), "has 2 parts for 3 devices"},
		{"too much", 2, "up", part(0, 8, 8), "has 16 elements of 12"},
		{"a negative part", 2, "up", part(0, 13, -1), "cuts blocks"},
		{"pieces of rows", 2, "down", ir.SplitOn(1, ir.Segment{Times: 2, Counts: []int64{4, 2}}), "separate pieces of rows"},
		{"kept partial", 2, "up", ir.Partial(), "cannot be given"},
	} {
		_, _, err := Spread(parseModule(t, feedForward), tt.devices, map[string]ir.Sharding{tt.weight: tt.state})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestWhatFitsIsNamed has states that are divided within the heads.
func TestWhatFitsIsNamed(t *testing.T) {
	m := parseModule(t, `ggir 1
module "m"
state "k" : f32[1,4,8,16]
state "v" : f32[1,4,8,16]
func @f(%q: f32[3,4,16], %slot: i32[3], %pos: i32[3], %lengths: i32[1]) -> (y: f32[3,4,16]) {
  %k = state "k" : f32[1,4,8,16]
  %v = state "v" : f32[1,4,8,16]
  %y = attention %q, %k, %v, %slot, %pos, %lengths {scale=1, alibi=8} : f32[3,4,16]
  return %y
}
`)
	heads := ir.SplitOn(3, ir.Segment{Times: 1, Counts: []int64{8, 8}})
	_, _, err := Spread(m, 2, map[string]ir.Sharding{"k": heads, "v": heads})
	for _, want := range []string{"%y", "%k split(3, 8 8)", "it fits %q mirrored, %k mirrored"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
