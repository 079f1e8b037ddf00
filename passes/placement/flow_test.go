package placement

import (
	"context"
	"slices"
	"testing"
)

// stages is a problem of two devices and a host. Node 0 makes what nodes 1 and 2 read; node 1 runs on the
// first device, node 2, which also reads what node 1 makes, on the second. Node 0 is fastest there, as is
// what reads the result.
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

// TestStepsUnderWayFlow: what is made early belongs where it is read first, if several steps are under
// way and that costs little.
func TestStepsUnderWayFlow(t *testing.T) {
	for _, tt := range []struct {
		name     string
		underWay int
		slow     float64 // seconds of node 0 on the first device
		want     int32   // where it runs
		moved    []int32
	}{
		{"one step", 1, 5, 1, nil},
		{"two steps", 2, 5, 0, []int32{0}},
		{"it costs much", 2, 30, 1, nil},
		{"it is best there", 2, 0.5, 0, nil},
	} {
		r := Solve(context.Background(), stages(tt.underWay, tt.slow), nil, Options{})
		if r.Labels[0] != tt.want || !slices.Equal(r.Moved, tt.moved) {
			t.Errorf("%s: node 0 runs on target %d, want %d; moved are %v, want %v", tt.name, r.Labels[0], tt.want, r.Moved, tt.moved)
		}
		if len(r.Moved) > 0 && (r.Proved || r.Seconds <= 101) {
			t.Errorf("%s: %v s, proved best: %v", tt.name, r.Seconds, r.Proved)
		}
	}
}
