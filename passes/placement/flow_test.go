package placement

import (
	"context"
	"slices"
	"testing"
)

// stages returns a problem of two devices and a host. Nodes 1 and 2 read the result of node 0. Node 1 runs on the first
// device. Node 2 also reads the result of node 1 and runs on the second device, on which node 0 takes 1 s. Node 0 takes
// slow seconds on the first device.
func stages(underWay int, slow float64) *Problem {
	link := []Link{{}, {}, {}}
	p := &Problem{
		UnderWay: underWay,
		Targets: []Target{
			{Home: 1, Addresses: []bool{false, true, false}, Queues: 1, Events: true},
			{Home: 2, Addresses: []bool{false, false, true}, Queues: 1, Events: true},
			{Home: 0, Addresses: []bool{true, false, false}},
		},
		Limits: []int64{-1, -1, -1}, Room: []int64{-1, -1, -1}, CopyRoom: []int64{-1, -1, -1},
		Links: [][]Link{link, link, link},
		Steps: []Step{{Weight: 1, First: 0, End: 4}},
		Nodes: []Node{
			{Seconds: []float64{slow, 1, 100}, Writes: -1},
			{Seconds: []float64{50, Never, Never}, Reads: []int32{0}, Writes: -1},
			{Seconds: []float64{Never, 50, Never}, Reads: []int32{0, 1}, Writes: -1},
			{Seconds: []float64{Never, Never, 0}, Reads: []int32{2}, Writes: -1, Caller: true},
		},
	}
	for i := range int32(3) {
		p.Values = append(p.Values, Value{Owner: i, Maker: i, Bytes: 8})
	}
	return p
}

// TestPipelinedStepsDoNotWaitForEachOther expects that a node that two devices need moves to the first of them, if
// steps overlap and the step does not get much longer.
func TestPipelinedStepsDoNotWaitForEachOther(t *testing.T) {
	for _, tt := range []struct {
		name     string
		underWay int
		slow     float64 // seconds of node 0 on the first device
		want     int32   // where it runs
		moved    []int32
	}{
		{"one step", 1, 5, 1, nil},
		{"two steps", 2, 5, 0, []int32{0}},
		{"two steps, and node 0 is slow there", 2, 30, 1, nil},
		{"two steps, and node 0 is fast there", 2, 0.5, 0, nil},
	} {
		r := Solve(context.Background(), stages(tt.underWay, tt.slow), nil, Options{})
		if r.Labels[0] != tt.want || !slices.Equal(r.Moved, tt.moved) {
			t.Errorf("%s: node 0 runs on target %d and %v moved, want target %d and %v",
				tt.name, r.Labels[0], r.Moved, tt.want, tt.moved)
		}
		if len(r.Moved) > 0 && (r.Proved || r.Seconds <= 101) {
			t.Errorf("%s: %v s, proved best: %v", tt.name, r.Seconds, r.Proved)
		}
	}
}

// addStage adds a node to the last step, and its result: value i is that of node i.
func (p *Problem) addStage(seconds []float64, reads ...int32) *Node {
	x, step := int32(len(p.Nodes)), int32(len(p.Steps)-1)
	p.Nodes = append(p.Nodes, Node{Seconds: seconds, Reads: reads, Writes: -1, Step: step})
	p.Values = append(p.Values, Value{Step: step, Owner: x, Maker: x, Bytes: 8})
	p.Steps[step].End = len(p.Nodes)
	return &p.Nodes[x]
}

// addStages adds the nodes of stages to the last step.
func (p *Problem) addStages() {
	x := int32(len(p.Nodes))
	p.addStage([]float64{5, 1, 100})
	p.addStage([]float64{50, Never, Never}, x)
	p.addStage([]float64{Never, 50, Never}, x, x+1)
	p.addStage([]float64{Never, Never, 0}, x+2).Caller = true
}

// TestWhatOnlyTheCallerReadsStays has two steps. In the first one, a node moves so that the devices do not wait for
// each other. In the second one, device and host have to wait for each other. Node 7 runs on the device and only the
// caller reads its result, for which no step waits: it must not move to the host.
func TestWhatOnlyTheCallerReadsStays(t *testing.T) {
	p := stages(2, 5)
	p.Nodes, p.Values = nil, nil
	p.addStages()
	p.Steps = append(p.Steps, Step{Weight: 1, First: len(p.Nodes)})
	p.addStage([]float64{Never, Never, 50})    // 4
	p.addStage([]float64{50, Never, Never}, 4) // 5
	p.addStage([]float64{Never, Never, 50}, 5) // 6
	p.addStage([]float64{1, Never, 2}, 4)      // 7
	p.addStage([]float64{Never, Never, 0}, 6, 7).Caller = true
	r := Solve(context.Background(), p, nil, Options{})
	if !slices.Equal(r.Moved, []int32{0}) || r.Labels[7] != 0 {
		t.Errorf("%v moved, and node 7 runs on target %d; want [0] and target 0", r.Moved, r.Labels[7])
	}
}

// TestReadsWithinATargetAreNoCandidates precedes the node that has to move by more reads within one target than there
// are candidates for one move.
func TestReadsWithinATargetAreNoCandidates(t *testing.T) {
	p := stages(2, 5)
	p.Nodes, p.Values = nil, nil
	p.addStage([]float64{0, Never, Never})
	for i := range int32(flowTries) {
		p.addStage([]float64{0, Never, Never}, i)
	}
	mask := int32(len(p.Nodes))
	p.addStages()
	r := Solve(context.Background(), p, nil, Options{})
	if !slices.Equal(r.Moved, []int32{mask}) {
		t.Errorf("%v moved, want node %d", r.Moved, mask)
	}
}

// TestNothingWaitsForWhatIsThere has a device that reads an input in memory that it addresses, and makes what another
// device reads: only that one waits.
func TestNothingWaitsForWhatIsThere(t *testing.T) {
	p := stages(2, 5)
	p.Nodes, p.Values = nil, nil
	p.addStage([]float64{Never, 1, Never}, 2)
	p.addStage([]float64{1, Never, Never}, 0)
	p.Values = append(p.Values, Value{Owner: -1, Maker: -1, Space: 2, Bytes: 8})
	if f := newFlow(newGraph(p), []int32{1, 0}); f.mutual != 0 || f.cross != 0 || !f.waits[0][f.pair(1, 0)] || f.waits[0][f.pair(0, 1)] {
		t.Errorf("%d pairs wait for each other, for %d values: %v", f.mutual, f.cross, f.waits)
	}
}

// TestNodesMoveWithWhatTheyAreMadeOf has a node that two devices need, and a node before it, on the second device. Only
// if both move to the first one do the devices not wait for each other.
func TestNodesMoveWithWhatTheyAreMadeOf(t *testing.T) {
	p := stages(2, 5)
	p.Nodes, p.Values = nil, nil
	p.addStage([]float64{5, 1, 100})
	p.addStage([]float64{2, 1, 100}, 0)
	p.addStage([]float64{50, Never, Never}, 1)
	p.addStage([]float64{Never, 50, Never}, 1, 2)
	p.addStage([]float64{Never, Never, 0}, 3).Caller = true
	if r := Solve(context.Background(), p, nil, Options{}); !slices.Equal(r.Moved, []int32{0, 1}) {
		t.Errorf("%v moved, want [0 1]", r.Moved)
	}
}
