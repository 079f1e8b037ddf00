//go:build linux

package cudasim

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// rig is a driver with a current context, streams and events.
type rig struct {
	t       *testing.T
	d       *Driver
	streams []uintptr
	events  []uintptr
}

// newRig returns a rig with three streams and three events. The test stays on its thread.
func newRig(t *testing.T) *rig {
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	r := &rig{t: t, d: New(Default()), streams: make([]uintptr, 3), events: make([]uintptr, 3)}
	var context uintptr
	r.want(success, r.d.Init(0))
	r.want(success, r.d.DevicePrimaryCtxRetain(&context, 0))
	r.want(success, r.d.CtxSetCurrent(context))
	for i := range r.streams {
		r.want(success, r.d.StreamCreate(&r.streams[i], 1))
		r.want(success, r.d.EventCreate(&r.events[i], 0))
	}
	return r
}

func (r *rig) want(result uint32, got uintptr) {
	r.t.Helper()
	if uint32(got) != result {
		r.t.Fatalf("result %d, want %d", got, result)
	}
}

func (r *rig) begin(s int) { r.t.Helper(); r.want(success, r.d.StreamBeginCapture(r.streams[s], 2)) }
func (r *rig) record(e, s int) {
	r.t.Helper()
	r.want(success, r.d.EventRecord(r.events[e], r.streams[s]))
}
func (r *rig) waitFor(s, e int) {
	r.t.Helper()
	r.want(success, r.d.StreamWaitEvent(r.streams[s], r.events[e], 0))
}

// work submits an operation.
func (r *rig) work(s int, op operation) {
	r.t.Helper()
	r.d.mu.Lock()
	defer r.d.mu.Unlock()
	r.want(success, uintptr(r.d.submit("work", r.streams[s], op)))
}

func nothing() uint32 { return success }

// TestCaptureForksAndJoins captures work of three streams, and runs the graph in several orders.
func TestCaptureForksAndJoins(t *testing.T) {
	r := newRig(t)
	var ran []int
	step := func(n int) operation {
		return func() uint32 { ran = append(ran, n); return success }
	}
	r.begin(0)
	r.work(0, step(0))
	r.record(0, 0)
	r.waitFor(1, 0)
	r.waitFor(2, 0)
	r.work(0, step(1))
	r.work(1, step(2))
	r.work(2, step(3))
	r.record(1, 1)
	r.record(2, 2)
	r.waitFor(0, 1)
	r.waitFor(0, 2)
	r.work(0, step(4))
	var graph uintptr
	r.want(success, r.d.StreamEndCapture(r.streams[0], &graph))
	want := [][]int{nil, {0}, {0}, {0}, {1, 2, 3}}
	if got := r.d.Captured()[0]; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("dependencies %v, want %v", got, want)
	}
	seen := make(map[[3]int]bool)
	for seed := range uint64(100) {
		ran = nil
		x := executable{nodes: r.d.captured[0].nodes}
		if x.run(rand.New(rand.NewPCG(seed, 0))) != success || len(ran) != 5 || ran[0] != 0 || ran[4] != 4 {
			t.Fatalf("order %v", ran)
		}
		seen[[3]int(ran[1:4])] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d orders of three nodes, want 6", len(seen))
	}
	r.work(1, nothing) // the streams are free again
	if p := r.d.Problems(); len(p) > 0 {
		t.Error(p)
	}
}

// TestWrongCaptures has uses for which the driver's documentation names an error.
func TestWrongCaptures(t *testing.T) {
	var graph uintptr
	for _, c := range []struct {
		name    string
		result  uint32
		problem string
		use     func(r *rig) uintptr
	}{
		{"unjoined", captureUnjoined, "not joined", func(r *rig) uintptr {
			r.begin(0)
			r.record(0, 0)
			r.waitFor(1, 0)
			r.work(1, nothing)
			return r.d.StreamEndCapture(r.streams[0], &graph)
		}},
		{"joined, and worked on after that", captureUnjoined, "not joined", func(r *rig) uintptr {
			r.begin(0)
			r.record(0, 0)
			r.waitFor(1, 0)
			r.work(1, nothing)
			r.record(1, 1)
			r.waitFor(0, 1)
			r.work(1, nothing)
			return r.d.StreamEndCapture(r.streams[0], &graph)
		}},
		{"ended by another stream", captureUnmatched, "did not begin", func(r *rig) uintptr {
			r.begin(0)
			r.record(0, 0)
			r.waitFor(1, 0)
			return r.d.StreamEndCapture(r.streams[1], &graph)
		}},
		{"two captures", captureMerge, "two captures", func(r *rig) uintptr {
			r.begin(0)
			r.begin(1)
			r.record(0, 0)
			return r.d.StreamWaitEvent(r.streams[1], r.events[0], 0)
		}},
		{"work before", captureIsolation, "outside", func(r *rig) uintptr {
			r.record(0, 1)
			r.begin(0)
			return r.d.StreamWaitEvent(r.streams[0], r.events[0], 0)
		}},
		{"event of an ended capture", capturedEvent, "has ended", func(r *rig) uintptr {
			r.begin(0)
			r.record(0, 0)
			r.want(success, r.d.StreamEndCapture(r.streams[0], &graph))
			return r.d.StreamWaitEvent(r.streams[1], r.events[0], 0)
		}},
		{"query", capturedEvent, "cuEventQuery", func(r *rig) uintptr {
			r.begin(0)
			r.record(0, 0)
			return r.d.EventQuery(r.events[0])
		}},
		{"state of the stream", captureUnsupported, "cuStreamQuery", func(r *rig) uintptr {
			r.begin(0)
			return r.d.StreamQuery(r.streams[0])
		}},
		{"invalid", captureInvalidated, "cuStreamQuery", func(r *rig) uintptr {
			r.begin(0)
			r.d.StreamQuery(r.streams[0])
			return r.d.StreamEndCapture(r.streams[0], &graph)
		}},
		{"external record", invalidValue, "outside of a capture", func(r *rig) uintptr {
			return r.d.EventRecordWithFlags(r.events[0], r.streams[0], recordExternal)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.want(c.result, c.use(r))
			if p := r.d.Problems(); len(p) != 1 || !strings.Contains(p[0], c.problem) {
				t.Errorf("problems %q, want one with %q", p, c.problem)
			}
		})
	}
}
