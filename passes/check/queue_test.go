package check_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/target"
)

// back is a plan that goes to a device and back. The device has a queue for copies.
const back = `ggir 1
module "back"
after plan
props imported,shaped,assigned,packed,split,copied,rolled,ordered,partitioned,placed,queued,synced
func @f(%x: f32[2,64] @host at 1:0x0+512) -> (y: f32[2,64]) epochs=3 {
  %a = tanh %x : f32[2,64] in host @cpu split=0 part=split(1, 64, 16) at 2:0x0+512
  %up = copy %a : f32[2,64] in dev @gpu split=1 part=one epoch=1 queue=gpu.in event=1 at 0:0x0+512
  %c = silu %up : f32[2,64] in dev @gpu split=1 part=one epoch=1 queue=gpu wait=[1] at 0:0x200+512
  %down = copy %c : f32[2,64] in host @cpu split=2 part=one epoch=1 queue=gpu event=2 at 2:0x200+512
  %d = tanh %down : f32[2,64] in host @cpu split=2 part=split(1, 64, 16) epoch=2 wait=[2] at 2:0x400+512
  %y = add %d, %a : f32[2,64] in host @cpu split=2 part=split(1, 64, 16) epoch=2 at 1:0x200+512
  return %y
}
plan {
  arena dev activations align=64 chunks=[4096] bound=0
  arena host io align=64 chunks=[4096] bound=0
  arena host activations align=64 chunks=[4096] bound=0
  func "f" barriers=2 nodes=6 {
    split @cpu
    split @gpu inputs=["a"]
    split @cpu inputs=["c"]
  }
}
`

const backTargets = "target gpu space=dev queues=2 events=true ops=silu\ntarget cpu like=cpu\n"

const oneQueue = "target gpu space=dev queues=1 events=false ops=silu\ntarget cpu like=cpu\n"

// chain is a plan over two devices that two steps can be under way in.
const chain = `ggir 1
module "chain"
after plan
props imported,shaped,assigned,packed,split,copied,rolled,ordered,partitioned,placed,queued,synced
func @f(%x: f32[2,64] @host at 2:0x0+512) -> (y: f32[2,64]) epochs=1 {
  %up = copy %x : f32[2,64] in d0 @gpu0 split=0 part=one queue=gpu0 slots=2 at 0:0x0+512
  %a = silu %up : f32[2,64] in d0 @gpu0 split=0 part=one queue=gpu0 at 0:0x400+512
  %over = copy %a : f32[2,64] in d1 @gpu1 split=1 part=one queue=gpu0 slots=2 event=1 at 1:0x0+512
  %b = silu %over : f32[2,64] in d1 @gpu1 split=1 part=one queue=gpu1 wait=[1] at 1:0x400+512
  %c = silu %b : f32[2,64] in d1 @gpu1 split=1 part=one queue=gpu1 at 1:0x600+512
  %y = copy %c : f32[2,64] in host @gpu1 split=1 part=one queue=gpu1 at 2:0x200+512
  return %y
}
plan pipeline=2 {
  arena d0 activations align=64 chunks=[4096] bound=0
  arena d1 activations align=64 chunks=[4096] bound=0
  arena host io align=64 chunks=[4096] bound=0
  func "f" nodes=6 {
    split @gpu0 inputs=["x"]
    split @gpu1 inputs=["a"]
  }
}
`

const chainTargets = "target gpu0 space=d0,host queues=1 events=true ops=silu\ntarget gpu1 space=d1,host queues=1 events=true ops=silu,neg\ntarget cpu like=cpu\n"

// beside is a plan with two nodes that may run at the same time.
const beside = `ggir 1
module "beside"
after plan
props imported,shaped,assigned,packed,split,copied,rolled,ordered,partitioned,placed,queued,synced
func @f(%x: f32[2,64] @host at 1:0x0+512) -> (y: f32[2,64]) epochs=1 {
  %up = copy %x : f32[2,64] in d0 @gpu0 split=0 part=one queue=gpu0 at 0:0x0+512
  %a = silu %up : f32[2,64] in d0 @gpu0 split=0 part=one queue=gpu0 at 0:0x200+512
  %b = neg %up : f32[2,64] in d0 @gpu0 split=0 part=one queue=gpu0 concurrent=true at 0:0x400+512
  %c = add %a, %b : f32[2,64] in d0 @gpu0 split=0 part=one queue=gpu0 at 0:0x600+512
  %y = copy %c : f32[2,64] in host @gpu0 split=0 part=one queue=gpu0 at 1:0x200+512
  return %y
}
plan {
  arena d0 activations align=64 chunks=[4096] bound=0
  arena host io align=64 chunks=[4096] bound=0
  func "f" nodes=5 {
    split @gpu0 inputs=["x"]
  }
}
`

const besideTargets = "target gpu0 space=d0,host queues=1 events=true concurrent=true ops=silu,neg,add\ntarget cpu like=cpu\n"

// single is chain with one instance of what crosses over, and waits that allow for that.
var single = edit(chain, "queue=gpu0 slots=2 event=1 at 1", "queue=gpu0 waitprev=[2] event=1 at 1", "wait=[1] at", "wait=[1] event=2 at")

// loop is a plan whose iterations use two devices.
const loop = `ggir 1
module "loop"
after plan
props imported,shaped,assigned,packed,split,copied,rolled,ordered,partitioned,placed,queued,synced
func @f(%x: f32[2,64] @host at 2:0x0+512) -> (y: f32[2,64]) epochs=1 {
  %first = copy %x : f32[2,64] in d0 @gpu0 split=0 part=one queue=gpu0 at 0:0x0+512
  %last = repeat %first {count=4, carried=1, invariant=0} : f32[2,64] in d0 @gpu0 split=0 at 0:0x0+512
  body @f.body(%h: f32[2,64] @d0 at 0:0x0+512) -> (h: f32[2,64]) epochs=1 {
    %a = silu %h : f32[2,64] in d0 @gpu0 split=0 part=one queue=gpu0 at 0:0x200+512
    %over = copy %a : f32[2,64] in d1 @gpu1 split=1 part=one queue=gpu0 wait=[2] event=1 at 1:0x0+512
    %b = silu %over : f32[2,64] in d1 @gpu1 split=1 part=one queue=gpu1 wait=[1] at 1:0x200+512
    %next = copy %b : f32[2,64] in d0 @gpu0 split=2 part=one queue=gpu1 event=3 at 0:0x0+512
    %go = silu %next : f32[2,64] in d0 @gpu0 split=2 part=one queue=gpu0 wait=[3] at 0:0x0+512
    %late = neg %over : f32[2,64] in d1 @gpu1 split=3 part=one queue=gpu1 event=2 at 1:0x400+512
    return %go
  }
  %y = copy %last : f32[2,64] in host @gpu0 split=4 part=one queue=gpu0 at 2:0x200+512
  return %y
}
plan {
  arena d0 activations align=64 chunks=[4096] bound=0
  arena d1 activations align=64 chunks=[4096] bound=0
  arena host io align=64 chunks=[4096] bound=0
  func "f" nodes=26 {
    split @gpu0 inputs=["x"]
    split @gpu1 inputs=["a"]
    split @gpu0
    split @gpu1
    split @gpu0
  }
}
`

// instanceBytes is a plan for two steps under way in which a value of one byte has two instances, without alignment.
const instanceBytes = `ggir 1
module "byte"
after plan
props imported,shaped,assigned,packed,split,copied,rolled,ordered,partitioned,placed,queued,synced
func @f(%x: u8[1] @host at 1:0x0+1) -> (y: u8[1]) epochs=1 {
  %up = copy %x : u8[1] in d0 @gpu0 split=0 part=one queue=gpu0 slots=2 at 0:0x3e+1
  %y = copy %up : u8[1] in host @gpu0 split=0 part=one queue=gpu0 at 1:0x40+1
  return %y
}
plan pipeline=2 {
  arena d0 activations align=1 chunks=[64] bound=0
  arena host io align=64 chunks=[256] bound=0
  func "f" nodes=2 {
    split @gpu0 inputs=["x"]
  }
}
`

// fixedInLoop is loop with an operand that every iteration reads, of which there are two instances.
var fixedInLoop = edit(loop, "  %last = repeat %first {count=4, carried=1, invariant=0}",
	"  %same = copy %x : f32[2,64] in d0 @gpu0 split=0 part=one queue=gpu0 slots=2 at 0:0x800+576\n"+
		"  %last = repeat %first, %same {count=4, carried=1, invariant=1}",
	"@f.body(%h: f32[2,64] @d0 at 0:0x0+512)", "@f.body(%h: f32[2,64] @d0 at 0:0x0+512, %s: f32[2,64] @d0 at 0:0x800+576)",
	"%a = silu %h", "%a = add %h, %s",
	"plan {", "plan pipeline=2 {", "nodes=26", "nodes=27", "wait=[2]", "wait=[2] waitprev=[2]")

const addTargets = "target gpu0 space=d0,host queues=1 events=true ops=silu,add\ntarget gpu1 space=d1,host queues=1 events=true ops=silu,neg\ntarget cpu like=cpu\n"

// edit replaces texts, in pairs; each has to be there.
func edit(text string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			panic("there is no " + pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

// TestRacingQueuesAreRefused checks plans that differ little from good ones. The simulator confirms that every order of
// a good plan gives the same result, and finds an order of each racing plan that does not.
func TestRacingQueuesAreRefused(t *testing.T) {
	for _, tc := range []struct {
		name, plan, targets string
		edits               []string
		want                string // part of the message; empty for a good plan
	}{
		{"there and back", back, backTargets, nil, ""},
		{"there and back, one queue without events", back, oneQueue, []string{"queue=gpu.in event=1", "queue=gpu", " wait=[1]", ""}, ""},
		{"no wait for what was copied in", back, backTargets, []string{" wait=[1]", ""},
			"race: @f: %up of @f (gpu.in) and %c of @f (gpu): dev activations [0x0,0x200): reads what gpu.in writes, and no event orders them"},
		{"no event", back, backTargets, []string{" event=1", ""}, "queue: @f: %c: waits for event 1, which nothing records"},
		{"the host does not wait", back, backTargets, []string{" wait=[2]", ""},
			"race: @f: %down of @f (gpu) and %d of @f (host): host activations [0x200,0x400): reads what gpu writes, and no event orders them"},
		{"the host does not wait for the queue without events", back, oneQueue, []string{"queue=gpu.in event=1", "queue=gpu", " wait=[1]", "", " wait=[2]", ""},
			"race: @f: %down of @f (gpu) and %d of @f (host)"},
		{"only worker 0 waits", back, backTargets, []string{"epoch=2", "epoch=1", "epoch=2", "epoch=1"},
			"queue: @f: %d: thread 0 waits for events, and there is no barrier: the others do not wait"},
		{"others still write what is submitted", back, backTargets, []string{"epoch=1", "epoch=0", "epoch=1", "epoch=0"},
			"hazard: @f: %a of @f and %up: host activations [0x0,0x200): reads what another thread writes, and no barrier separates them"},
		{"the host waits too late", back, backTargets, []string{" epoch=2 wait=[2] at", " epoch=2 at", " epoch=2 at 1", " epoch=3 wait=[2] at 1", "epochs=3", "epochs=4"},
			"race: @f: %down of @f (gpu) and %d of @f (host)"},
		{"an event of two nodes", back, backTargets, []string{"event=2", "event=1"}, "queue: @f: %down: records event 1, as %up does"},
		{"the queue for copies computes", back, backTargets, []string{"queue=gpu wait", "queue=gpu.in wait"}, "queue: @f: %c: is on queue gpu.in, and belongs on queue gpu"},
		{"a copy on the wrong queue", back, backTargets, []string{"queue=gpu.in", "queue=gpu"}, "queue: @f: %up: is on queue gpu, and belongs on queue gpu.in"},
		{"no queue", back, backTargets, []string{" queue=gpu wait=[1]", ""}, "queue: @f: %c: is on no queue, and belongs on queue gpu"},
		{"a queue for the host", back, backTargets, []string{"epoch=2 wait=[2]", "epoch=2 queue=gpu"}, "queue: @f: %d: is on queue gpu, and belongs on no queue"},
		{"many submit", back, backTargets, []string{"part=one epoch=1 queue=gpu wait", "part=replicated epoch=1 queue=gpu wait"}, "queue: @f: %c: is on queue gpu, and has the partition replicated"},
		{"two queues without events", back, "target gpu space=dev queues=2 events=false ops=silu\ntarget cpu like=cpu\n", nil, ""},
		{"two queues without events, and nothing waits", back, "target gpu space=dev queues=2 events=false ops=silu\ntarget cpu like=cpu\n", []string{" wait=[1]", ""},
			"race: @f: %up of @f (gpu.in) and %c of @f (gpu)"},
		{"a device whose memory the host addresses", back, "target gpu space=host queues=2 events=false ops=silu\ntarget cpu like=cpu\n", []string{"in dev", "in host", "in dev", "in host", "arena dev", "arena host"},
			"queue: @f: %up: is on queue gpu.in, and belongs on queue gpu"},
		{"bytes that a copy still reads", back, backTargets, []string{"add %d, %a", "add %d, %d", " wait=[2] at 2:0x400", " at 2:0x0", "silu %up", "silu %up"},
			"race: @f: %up of @f (gpu.in) and %d of @f (host): host activations [0x0,0x200): writes what gpu.in reads, and no event orders them"},
		{"instances of an input", back, backTargets, []string{"tanh %x : f32[2,64] in host @cpu split=0 part=split(1, 64, 16)", "tanh %x : f32[2,64] in host @cpu split=0 part=split(1, 64, 16) slots=2", "[4096] bound=0\n  func", "[900] bound=0\n  func"},
			"queue: @f: %a: there are 2 instances of %a, 512 bytes apart, and 388 bytes after the first"},

		{"nodes at the same time", beside, besideTargets, nil, ""},
		{"nodes at the same time, one reads what the other writes", beside, besideTargets, []string{"%b = neg %up", "%b = neg %a"},
			"concurrent: @f: %a of @f (gpu0) and %b of @f (gpu0): d0 activations [0x200,0x400): reads what the node before it writes, which may run at the same time"},
		{"nodes at the same time, both write", beside, besideTargets, []string{"at 0:0x400+512", "at 0:0x200+512"},
			"concurrent: @f: %a of @f (gpu0) and %b of @f (gpu0): d0 activations [0x200,0x400): writes what the node before it writes, which may run at the same time"},
		{"nodes at the same time, one overwrites what the other reads", beside, besideTargets, []string{"at 0:0x400+512", "at 0:0x0+512"},
			"concurrent: @f: %a of @f (gpu0) and %b of @f (gpu0): d0 activations [0x0,0x200): writes what the node before it reads, which may run at the same time"},
		{"nodes at the same time, the first of three", beside, besideTargets, []string{"queue=gpu0 at 0:0x600", "queue=gpu0 concurrent=true at 0:0x600"},
			"concurrent: @f: %a of @f (gpu0) and %c of @f (gpu0): d0 activations [0x200,0x400): reads what the node before it writes"},
		{"a node at the same time as a copy", beside, besideTargets, []string{"queue=gpu0 at 0:0x200", "queue=gpu0 concurrent=true at 0:0x200"},
			"concurrent: @f: %a of @f (gpu0): it is concurrent, and copies are in order"},
		{"nodes at the same time, an event between them", beside, besideTargets, []string{"queue=gpu0 at 0:0x200", "queue=gpu0 event=1 at 0:0x200"},
			"concurrent: @f: %b of @f (gpu0): it is concurrent, and there is an event between it and the node before it"},
		{"nodes at the same time in two splits", beside, besideTargets, []string{"split=0 part=one queue=gpu0 concurrent", "split=1 part=one queue=gpu0 concurrent", "split=0 part=one queue=gpu0 at 0:0x600", "split=1 part=one queue=gpu0 at 0:0x600", "split=0 part=one queue=gpu0 at 1", "split=1 part=one queue=gpu0 at 1", "  }\n}", "    split @gpu0\n  }\n}"},
			"concurrent: @f: %b of @f (gpu0): it is concurrent, and the node before it is not of the same queue, split and iteration"},
		{"nodes at the same time on a target that has them in order", beside, strings.Replace(besideTargets, "concurrent=true ", "", 1), nil,
			"concurrent: @f: %b of @f (gpu0): it is concurrent, and the target runs nodes one after the other"},

		{"two steps", chain, chainTargets, nil, ""},
		{"two steps, events of a queue that nothing waits for", chain, chainTargets, []string{"queue=gpu1 at 2", "queue=gpu1 event=2 at 2"}, ""},
		{"one instance on one queue", chain, chainTargets, []string{"slots=2 at 0", "at 0"}, ""},
		{"one instance on two queues", chain, chainTargets, []string{"slots=2 event=1", "event=1"},
			"race: @f: %b of @f (gpu1) and %over of @f (gpu0): d1 activations [0x0,0x200): writes what gpu1 reads in the step before, and no event orders them"},
		{"one instance, one step", chain, chainTargets, []string{"slots=2 event=1", "event=1", "pipeline=2", "pipeline=1"}, ""},
		{"three steps", chain, chainTargets, []string{"pipeline=2", "pipeline=3"},
			"race: @f: %b of @f (gpu1) and %over of @f (gpu0): d1 activations [0x0,0x200): writes what gpu1 reads 2 steps before, and no event orders them"},
		{"three steps, four instances", chain, chainTargets, []string{"pipeline=2", "pipeline=3", "slots=2 event=1 at 1:0x0", "slots=4 event=1 at 1:0x800"}, ""},
		{"an instance on one queue takes the place of a value", chain, chainTargets, []string{"at 0:0x400", "at 0:0x200"}, ""},
		{"an instance on two queues takes the place of a value", chain, chainTargets, []string{"at 1:0x400", "at 1:0x200"},
			"race: @f: %c of @f (gpu1) and %over of @f (gpu0): d1 activations [0x200,0x400): writes what gpu1 reads in the step before"},
		{"the last instance is outside", chain, chainTargets, []string{"slots=2 event=1 at 1:0x0", "slots=2 event=1 at 1:0xe00"},
			"queue: @f: %over: there are 2 instances of %over, 512 bytes apart, and 0 bytes after the first"},
		{"more instances than numbers", chain, chainTargets, []string{"slots=2 event=1", "slots=2147483647 event=1"},
			"queue: @f: %over: there are 2147483647 instances of %over"},
		{"instances of a byte", instanceBytes, "target gpu0 space=d0,host align=1 queues=1 events=true ops=silu\ntarget cpu like=cpu\n", nil, ""},
		{"instances of a byte, the last one is outside", instanceBytes, "target gpu0 space=d0,host align=1 queues=1 events=true ops=silu\ntarget cpu like=cpu\n", []string{"at 0:0x3e", "at 0:0x3f"},
			"queue: @f: %up: there are 2 instances of %up, 1 bytes apart, and 0 bytes after the first"},
		{"any number of steps", chain, chainTargets, []string{"pipeline=2", "pipeline=2147483647"},
			"queue: @f: 2147483647 instances share bytes, and twice as many calls of 6 nodes are too many to prove"},
		{"instances of a result", chain, chainTargets, []string{"queue=gpu1 at 2", "queue=gpu1 slots=2 at 2"}, "queue: @f: %y: %y has 2 instances, and is no value of its own among the activations"},
		{"instances of a loop's value", loop, chainTargets, []string{"event=3 at", "event=3 slots=2 at", "%go = silu %next", "%go = silu %next", "return %go", "return %next"}, "queue: @f/f.body[0]: %h and %next: d0 activations [0x0,0x200): %h has 1 instances, and is %next by its definition, which has 2"},
		{"waits for the step before", single, chainTargets, nil, ""},
		{"waits for the step before, three steps", single, chainTargets, []string{"pipeline=2", "pipeline=3"}, ""},
		{"waits for the wrong step", single, chainTargets, []string{"waitprev=[2]", "wait=[2]"}, "race: @f: %b of @f (gpu1) and %over of @f (gpu0)"},
		{"waits for the wrong node", single, chainTargets, []string{" event=2", "", "queue=gpu0 waitprev", "queue=gpu0 waitprev", "queue=gpu0 slots=2", "queue=gpu0 event=2 slots=2"},
			"race: @f: %b of @f (gpu1) and %over of @f (gpu0)"},

		{"loop", loop, chainTargets, nil, ""},
		{"loop, two steps", loop, chainTargets, []string{"plan {", "plan pipeline=2 {"},
			"race: @f/f.body[0]: %late of @f/f.body[2] (gpu1) and %over of @f/f.body[0] (gpu0): d1 activations [0x0,0x200): writes what gpu1 reads in the step before, and no event orders them"},
		{"loop, two steps, waiting for the last iteration", loop, chainTargets, []string{"plan {", "plan pipeline=2 {", "wait=[2]", "wait=[2] waitprev=[2]"}, ""},
		{"over what the iteration before reads", loop, chainTargets, []string{" wait=[2]", ""},
			"race: @f/f.body[1]: %late of @f/f.body[0] (gpu1) and %over of @f/f.body[1] (gpu0): d1 activations [0x0,0x200): writes what gpu1 reads, and no event orders them"},
		{"instances that a loop reads", fixedInLoop, addTargets, nil, ""},
		{"instances that are nearer in a loop", fixedInLoop, addTargets, []string{"@d0 at 0:0x800+576)", "@d0 at 0:0x800+512)"},
			"queue: @f/f.body[0]: %s and %same: d0 activations [0x800,0xa40): the instances of %s are 512 bytes apart, and those of %same, which it is by its definition, 576"},
		{"instances that are farther in a loop", fixedInLoop, addTargets, []string{"@d0 at 0:0x800+576)", "@d0 at 0:0x800+577)"},
			"the instances of %s are 640 bytes apart, and those of %same, which it is by its definition, 576"},
		{"the iteration does not wait", loop, chainTargets, []string{" wait=[3]", ""}, "race: @f/f.body[0]: %next of @f/f.body[0] (gpu1) and %go of @f/f.body[0] (gpu0)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, targets := parsed(t, edit(tc.plan, tc.edits...)), parseTargets(t, tc.targets)
			if err := ir.Verify(m); err != nil && tc.want == "" {
				t.Fatal(err)
			}
			err := checked(m, targets)
			ran := ""
			if tc.want == "" || strings.HasPrefix(tc.want, "race") {
				ran = simulate(m, m.Funcs[0], targets, 2, 60, largest)
			}
			switch {
			case tc.want == "" && (err != nil || ran != ""):
				t.Errorf("check: %v\nsimulated: %s", err, ran)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("no %q in\n%v", tc.want, err)
			case strings.HasPrefix(tc.want, "race") && ran == "":
				t.Error("no order of the simulator gives another result")
			}
		})
	}
}

// randomTargets returns up to four devices, some of which share memory with each other or
// with the host, and a CPU.
func randomTargets(r *rand.Rand) string {
	var text strings.Builder
	for i := range 1 + r.IntN(4) {
		space := fmt.Sprint("d", r.IntN(i+1))
		switch r.IntN(6) {
		case 0:
			space = target.Host
		case 1:
			space += ",host"
		}
		ops := "neg"
		for _, op := range []string{"copy", "matmul", "add", "mul", "rms_norm", "silu", "exp", "scale", "tanh", "abs", "rope", "softmax", "swiglu", "state_write", "attention", "sub", "concat", "gather"} {
			if r.IntN(3) > 0 {
				ops += "," + op
			}
		}
		extra, align := []int{0, 1, 64}[r.IntN(3)], []int{64, 256}[r.IntN(2)]
		fmt.Fprintf(&text, "target g%d space=%s queues=%d events=%v extra=%d align=%d concurrent=%v ops=%s\n", i, space, r.IntN(3), r.IntN(3) > 0, extra, align, align == 64, ops)
	}
	return text.String() + "target cpu space=host workers=true threads=64 ops=*\n"
}

// randomPlan returns a random module over random targets, after all passes but check.
func randomPlan(seed uint64) (*ir.Module, *target.List, error) {
	r := rand.New(rand.NewPCG(seed, 5))
	text := randomTargets(r)
	targets, err := target.Parse("targets", text)
	if err != nil {
		return nil, nil, err
	}
	p, err := irtest.Random(seed, 6+r.IntN(20))
	if err != nil {
		return nil, nil, err
	}
	options := pass.Options{Rules: []string{"cost", "ggml-2026"}[r.IntN(2)], Pipeline: 1 + r.IntN(4)}
	if r.IntN(2) == 0 {
		options.Disable = []string{"roll"}
	}
	if err := plannedWith(p.Module, targets, options); err != nil {
		return nil, nil, fmt.Errorf("--pipeline %d --rules %s over\n%s: %w", options.Pipeline, options.Rules, text, err)
	}
	return p.Module, targets, nil
}

// TestRandomQueuePlansHaveOneResult checks that the plans of random modules over random targets are proved,
// and that no order of the simulator gives another result.
func TestRandomQueuePlansHaveOneResult(t *testing.T) {
	seeds := uint64(40)
	switch {
	case *allMutants:
		seeds = 1000
	case testing.Short():
		seeds = 15
	}
	plans, queued := 0, 0
	for seed := range seeds {
		m, targets, err := randomPlan(seed)
		switch {
		case errors.Is(err, errRefused):
			continue
		case err == nil:
			err = checked(m, targets)
		}
		if plans++; err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		for _, f := range m.Funcs {
			if what := simulate(m, f, targets, 1+int(seed%3), 30, largest); what != "" {
				t.Errorf("seed %d: @%s, simulated: %s", seed, f.Name, what)
			}
		}
		if strings.Contains(m.String(), "queue=") {
			queued++
		}
	}
	t.Logf("%d plans of %d modules, %d with queues", plans, seeds, queued)
	if queued < int(seeds)/3 {
		t.Errorf("only %d of %d modules have queues", queued, seeds)
	}
}

// longQueues is a chain of n nodes that passes 8 devices in turn, 16 nodes on each.
func longQueues(t testing.TB, n, steps int) (*ir.Module, *target.List) {
	t.Helper()
	const devices, run = 8, 16
	var text strings.Builder
	b := ir.NewBuilder("long")
	m := b.Module()
	m.Plan = &ir.Plan{Pipeline: steps, Funcs: []ir.FuncPlan{{Func: "f"}}}
	arena := func(space string, class ir.Class, bytes int64) {
		m.Plan.Arenas = append(m.Plan.Arenas, ir.Arena{Space: space, Class: class, Align: 64, Chunks: []int64{bytes}})
	}
	for d := range devices {
		fmt.Fprintf(&text, "target gpu%d space=d%d,host queues=1 events=true ops=*\n", d, d)
		arena(fmt.Sprint("d", d), ir.ClassActivations, 32<<10)
	}
	arena(target.Host, ir.ClassIO, 2048)
	f := b.Func("f")
	v := f.Param("x", ir.Type{DType: dtype.F32, Shape: ir.Dims(4, 64), Space: target.Host})
	v.Place = &ir.Place{Arena: devices, Bytes: 1024}
	put := func(r *ir.Value, on, queue, ring int) *ir.Submission {
		r.Type.Space, r.Place = fmt.Sprint("d", on), &ir.Place{Arena: on, Offset: int64(ring) * 1024, Bytes: 1024}
		r.Def.Backend, r.Def.Part = fmt.Sprint("gpu", on), ir.Partition{Mode: ir.PartOne}
		r.Def.Submit = &ir.Submission{Queue: fmt.Sprint("gpu", queue)}
		v = r
		return r.Def.Submit
	}
	for i := range n {
		on := i / run % devices
		if i%run > 0 {
			put(f.Neg(v), on, on, i%7)
			continue
		}
		from := on
		if i > 0 {
			from = (i/run - 1) % devices
		}
		in := put(f.Copy(v), on, from, 8)
		in.Event, in.Slots = 2*i+1, steps
		if i >= run*devices {
			in.Waits = []ir.Wait{{Event: 2*(i-run*devices) + 2}}
		}
		out := put(f.Neg(v), on, on, 0)
		out.Waits, out.Event = []ir.Wait{{Event: in.Event}}, 2*i+2
	}
	y := f.Copy(v)
	put(y, (n-1)/run%devices, (n-1)/run%devices, 0)
	y.Type.Space, y.Place = target.Host, &ir.Place{Arena: devices, Offset: 1024, Bytes: 1024}
	f.Return("y", y)
	m, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	f.Func().Epochs = 1
	text.WriteString("target cpu like=cpu\n")
	return m, parseTargets(t, text.String())
}

// TestQueueProofTimeIsNearLinear checks that the time of a proof grows about as the plan does, with many
// queues too: the bound is generous, a quadratic proof would take minutes.
func TestQueueProofTimeIsNearLinear(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	for _, steps := range []int{1, 4} {
		n := n / steps
		m, targets := longQueues(t, n, steps)
		checkedInTime(t, m, targets, fmt.Sprintf("%d nodes, %d steps under way", n, steps))
	}
}

func parsed(t testing.TB, text string) *ir.Module {
	t.Helper()
	m, err := ir.Parse("plan", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
