package check_test

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

// shared is a plan whose nodes the threads of a group share.
const shared = `ggir 1
module "shared"
after plan
props imported,shaped,assigned,packed,split,copied,rolled,ordered,partitioned,placed,queued,synced
func @f(%x: f32[2,64] @host at 1:0x0+512) -> (y: f32[2,64]) epochs=1 {
  %up = copy %x : f32[2,64] in d0 @g split=0 part=one queue=g at 0:0x0+512
  %a = silu %up : f32[2,64] in d0 @g split=0 part=one queue=g within=split(1, 64, 16) at 0:0x200+512
  %b = neg %up : f32[2,64] in d0 @g split=0 part=one queue=g within=split(0, 2, 1) concurrent=true at 0:0x400+512
  %c = add %a, %b : f32[2,64] in d0 @g split=0 part=one queue=g within=split(1, 64, 16) at 0:0x200+512
  %d = softmax %c : f32[2,64] in d0 @g split=0 part=one queue=g within=one at 0:0x200+512
  %y = copy %d : f32[2,64] in host @g split=0 part=one queue=g at 1:0x200+512
  return %y
}
plan threads=1 {
  arena d0 activations align=64 chunks=[4096] bound=0
  arena host io align=64 chunks=[4096] bound=0
  func "f" nodes=6 {
    split @g inputs=["x"]
  }
}
`

const sharedTargets = "target g like=cpugroup space=d0,host cores=0-2\ntarget cpu like=cpu cores=3\n"

// TestThreadsOfAGroupAreProved are plans that differ little from a good one.
func TestThreadsOfAGroupAreProved(t *testing.T) {
	for _, tc := range []struct {
		name  string
		edits []string
		want  string // part of the message; empty for a good plan
	}{
		{"right", nil, ""},
		{"other units than those of the node before", []string{"within=split(1, 64, 16) at 0:0x200+512\n  %d", "within=split(0, 2, 1) at 0:0x200+512\n  %d"}, ""},
		{"nothing shares it", []string{" within=split(1, 64, 16) at 0:0x200+512\n  %b", " at 0:0x200+512\n  %b"}, "partition: @f: %a: no thread of the group g computes it"},
		{"every thread computes it", []string{"within=one", "within=replicated"}, "partition: @f: %d: the threads of a group compute a node once"},
		{"units go to who asks first", []string{"within=split(0, 2, 1)", "within=split(0, 2, 1, dynamic)"}, "partition: @f: %b: the threads of a group compute a node once"},
		{"an axis that is not divided", []string{"within=one", "within=split(1, 64, 16)"}, "partition: @f: %d: softmax cannot be divided along axis 1"},
		{"a part is not computed", []string{"within=split(0, 2, 1)", "within=split(0, 1, 1)"}, "partition: @f: %b: 1 elements are divided, axis 0 has 2"},
		{"a copy is shared", []string{"queue=g at 0:0x0", "queue=g within=split(0, 2, 1) at 0:0x0"}, "partition: @f: %up: it is divided within the queue of g, which shares no nodes"},
		{"the host's workers do not share it", []string{"part=one queue=g within=one", "part=split(0, 2, 1) queue=g within=one"}, "partition: @f: %d: g has no threads"},
		{"concurrent nodes with common bytes", []string{"%b = neg %up", "%b = neg %a"}, "concurrent: @f: %a of @f (g) and %b of @f (g)"},
		{"a thread reads what another one writes", []string{"at 0:0x200+512\n  %d", "at 0:0x240+512\n  %d"},
			"hazard: @f: %c of @f (g): d0 activations [0x240,0x440): a thread of the group touches what another one writes (%a in units of 64 of 256 bytes, its result in units of 64 of 256 bytes)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, targets := parsed(t, edit(shared, tc.edits...)), parseTargets(t, sharedTargets)
			if err := ir.Verify(m); err != nil && tc.want == "" {
				t.Fatal(err)
			}
			err := checked(m, targets)
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("no %q in\n%v", tc.want, err)
			}
		})
	}
}

// TestUnitsAreTriedForTheThreadsOfTheGroup: owners that are described differently are compared for as many threads as
// the group has, not for as many as the host has.
func TestUnitsAreTriedForTheThreadsOfTheGroup(t *testing.T) {
	plan := edit(shared, "at 0:0x200+512\n  %d", "at 0:0x300+512\n  %d", "%d = softmax %c : f32[2,64] in d0 @g split=0 part=one queue=g within=one at 0:0x200", "%d = softmax %c : f32[2,64] in d0 @g split=0 part=one queue=g within=one at 0:0x600")
	for cores, right := range map[string]bool{"0": true, "0-1": false} {
		m, targets := parsed(t, plan), parseTargets(t, strings.Replace(sharedTargets, "cores=0-2", "cores="+cores, 1))
		m.Funcs[0].Nodes[3].Submit.Within.Axis, m.Funcs[0].Nodes[3].Submit.Within.N, m.Funcs[0].Nodes[3].Submit.Within.Granule = 0, ir.Const(2), 1
		err := checked(m, targets)
		if got := err == nil || !strings.Contains(err.Error(), "a thread of the group touches"); got != right {
			t.Errorf("cores %s: %v", cores, err)
		}
	}
}
