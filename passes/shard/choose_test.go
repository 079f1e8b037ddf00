package shard

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// twoLayers has feed-forward layers of 2 MiB, and an output that is one matrix.
const twoLayers = `ggir 1
module "m"
source m "m.gguf" 0
weight "up.0" : f32[1024,256] = m["up.0"] divide "blk.0.ffn" 0 1024 [1024]
weight "down.0" : f32[256,1024] = m["down.0"] divide "blk.0.ffn" 1 1024 [1024]
weight "up.1" : f32[1024,256] = m["up.1"] divide "blk.1.ffn" 0 1024 [1024]
weight "down.1" : f32[256,1024] = m["down.1"] divide "blk.1.ffn" 1 1024 [1024]
weight "output" : f32[512,256] = m["output"] divide "vocab" 0 512 [512]
func @f(%x: f32[1,256]) -> (y: f32[1,512]) {
  %up = weight "up.0" : f32[1024,256]
  %down = weight "down.0" : f32[256,1024]
  %a = matmul %x, %up : f32[1,1024]
  %b = matmul %a, %down : f32[1,256]
  %up1 = weight "up.1" : f32[1024,256]
  %down1 = weight "down.1" : f32[256,1024]
  %c = matmul %b, %up1 : f32[1,1024]
  %d = matmul %c, %down1 : f32[1,256]
  %output = weight "output" : f32[512,256]
  %y = matmul %d, %output : f32[1,512]
  return %y
}
`

// pair returns two devices that differ in nothing, with rates and a link.
func pair(memory int64, delay float64) []*target.Descriptor {
	var list []*target.Descriptor
	for i := range 2 {
		t := &target.Descriptor{Name: fmt.Sprint("d", i), Spaces: []string{fmt.Sprint("s", i)}, Memory: memory}
		t.Rates = target.Rates{FLOPs: 1e9, Bandwidth: 1e9, Link: 1e9, LinkDelay: delay}
		list = append(list, t)
	}
	return list
}

func costOf(t *testing.T, texts ...string) (rules []pass.ShardRule) {
	t.Helper()
	for _, text := range texts {
		r, err := pass.ParseShardRule(text)
		if err != nil || r.String() != text {
			t.Fatalf("%s: %v, error %v", text, r, err)
		}
		rules = append(rules, r)
	}
	return rules
}

// TestWaysFollowLinksAndMemories changes the link and the memories of two devices. A matrix takes about 1 ms, half of
// it 0.5 ms.
func TestWaysFollowLinksAndMemories(t *testing.T) {
	for _, tt := range []struct {
		name   string
		memory int64
		delay  float64
		rules  []string
		want   string // ways of ffn and vocab
		err    string
	}{
		{"a fast link", 0, 1e-6, []string{".=cost"}, "ffn divided, vocab divided", ""},
		{"a slow link", 0, 1, []string{".=cost"}, "ffn mirrored, vocab mirrored", ""},
		{"a link that a layer is worth and the output is not", 0, 400e-6, []string{".=cost"}, "ffn divided, vocab mirrored", ""},
		{"a slow link, and memories that a copy does not fit in", 3 << 20, 1, []string{".=cost"}, "ffn divided, vocab mirrored", ""},
		{"memories of which both together are too small", 2 << 20, 1, []string{".=cost"}, "", "the memories of the devices are too small for every way"},
		{"a rule that matches nothing", 0, 1e-6, []string{"nosuch=axis0", ".=cost"}, "", "nosuch"},
		{"the user has decided one", 0, 1e-6, []string{"output=mirrored", ".=cost"}, "ffn divided", ""},
		{"one is left to cost", 0, 1, []string{"output=cost"}, "vocab mirrored", ""},
		{"nothing is", 0, 1, nil, "", ""},
	} {
		m := parseModule(t, twoLayers)
		before := m.String()
		_, choices, err := chooseWays(m, pair(tt.memory, tt.delay), []float64{1, 1}, costOf(t, tt.rules...), &options{devices: 2})
		var got []string
		for _, c := range choices {
			got = append(got, c.Block+" "+string(c.Way))
			for _, o := range c.Others {
				if o.Seconds > 0 && o.Seconds < c.Seconds {
					t.Errorf("%s: %s would be faster", tt.name, o.Way)
				}
			}
		}
		if text := strings.Join(got, ", "); text != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, error %v, want %q and %q", tt.name, text, err, tt.want, tt.err)
		}
		if m.String() != before {
			t.Errorf("%s: the module has changed", tt.name)
		}
	}
}

// TestWaysNeedRates has devices of which one is not measured, and more blocks than are compared.
func TestWaysNeedRates(t *testing.T) {
	members := pair(0, 1e-6)
	members[1].Rates = target.Rates{}
	_, _, err := chooseWays(parseModule(t, twoLayers), members, []float64{1, 1}, costOf(t, ".=cost"), &options{devices: 2})
	if err == nil || !strings.Contains(err.Error(), "--shard .=cost: the rates of the devices are not known") {
		t.Errorf("error %v", err)
	}
	text := "ggir 1\nmodule \"m\"\nsource m \"m.gguf\" 0\n"
	for i := range 9 {
		text += fmt.Sprintf("weight \"w%d\" : f32[8,8] = m[\"w\"] divide \"d%d\" 1 8 [8]\n", i, i)
	}
	_, _, err = chooseWays(parseModule(t, text), pair(0, 1e-6), []float64{1, 1}, costOf(t, ".=cost"), &options{devices: 2})
	if err == nil || !strings.Contains(err.Error(), "9 blocks have more than 256 combinations") {
		t.Errorf("error %v", err)
	}
}

// TestDurationIsThatOfTheSlowestChain computes the time of four nodes on two devices by hand: each takes 1 s, a copy 10
// s.
func TestDurationIsThatOfTheSlowestChain(t *testing.T) {
	m := parseModule(t, `ggir 1
module "m"
func @f(%x: f32[4]) -> (y: f32[4]) {
  %a = neg %x : f32[4] @d0
  %b = neg %a : f32[4] @d1
  %c = relu %a : f32[4] @d1
  %unused = silu %a : f32[4] @d0
  %y = add %b, %c : f32[4] @d0
  return %y
}
`)
	members := pair(0, 10)
	for _, t := range members {
		t.Rates = target.Rates{FLOPs: math.Inf(1), Bandwidth: math.Inf(1), Link: math.Inf(1), LinkDelay: 10, Launch: 1}
	}
	// %a 0 to 1, to d1 at 11, %b to 12, %c to 13; d1 sends %b from 12 to 22 and %c from 22 to 32.
	if got := duration(m.Funcs[0], members); got != 33 {
		t.Errorf("%g s, want 33", got)
	}
}

// TestUnreadCopiesAreDropped has a state that each device has. Only what a device reads for the result is kept.
func TestUnreadCopiesAreDropped(t *testing.T) {
	const text = `ggir 1
module "m"
source m "m.gguf" 0
weight "w" : f32[8,8] = m["w"]
state "keys" : f32[1,2,8,4]
func @f(%q: f32[1,4,4], %x: f32[1,2,4], %slot: i32[1], %pos: i32[1], %lengths: i32[1]) -> (y: f32[1,4,4]) {
  %keys = state "keys" : f32[1,2,8,4]
  %now = state_write %keys, %x, %slot, %pos : f32[1,2,8,4]
  %y = attention %q, %now, %now, %slot, %pos, %lengths {scale=1} : f32[1,4,4]
  return %y
}
`
	for _, tt := range []struct {
		given map[string]ir.Sharding
		want  string
	}{
		{nil, "keys"},
		{map[string]ir.Sharding{"keys": ir.SplitOn(1, ir.Segment{Times: 1, Counts: []int64{1, 1}})}, "keys@0 keys@1"},
	} {
		m, _, err := Spread(parseModule(t, text), 2, tt.given)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range m.States {
			got = append(got, s.Name)
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("states %s, want %s", text, tt.want)
		}
	}
}
