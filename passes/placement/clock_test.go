package placement

import "testing"

// TestWhoWaitsForAnEvent reads a result of a GPU that works on something else after it. A reader waits for an event of
// the result, or, where one of the two has no events, for the end of the queue. The host needs no events of its own to
// wait for one.
func TestWhoWaitsForAnEvent(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		gpuEvents, readerEvent bool
		readerQueues           int
		want                   float64
	}{
		{"the host reads, the GPU has events", true, false, 0, 10 + 3},      // node 2 runs from 3 to 4, beside node 1
		{"the host reads, the GPU has none", false, false, 0, 10 + 3 + 1},   // node 2 runs after node 1
		{"a queue with events reads", true, true, 1, 10 + 3},                // beside node 1
		{"a queue without events reads", true, false, 1, 10 + 3 + 1},        // the host waits for the end of the queue
		{"a queue reads, and the GPU has none", false, true, 1, 10 + 3 + 1}, // the host waits for the end of the queue
	} {
		p := machine(1, 0)
		p.Targets[0].Events, p.Targets[1].Events = tt.gpuEvents, tt.readerEvent
		p.Targets[1].Queues = tt.readerQueues
		p.Targets[1].Addresses[1] = true // so that there are no copies
		p.addNode(3, Never)
		p.addNode(10, Never)
		p.addNode(Never, 1, 0)
		if got := newClock(newGraph(p)).total([]int32{0, 0, 1}); got != tt.want {
			t.Errorf("%s: the step takes %v s, want %v", tt.name, got, tt.want)
		}
	}
}
