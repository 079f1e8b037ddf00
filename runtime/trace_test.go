package runtime

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestTraceHasAnEventForEachMark: each worker has a row of its own, an event lasts until the next mark of its
// worker, times are microseconds, and what a worker does after its last mark is not shown.
func TestTraceHasAnEventForEachMark(t *testing.T) {
	p := NewProfile("first", `"second"`).(*profile)
	const µs = time.Microsecond
	workers := []*Worker{{Part: 0}, {Part: 11}, {Part: 101}}
	p.begin(workers)
	workers[0].marks = append(workers[0].marks, mark{0, 10 * µs}, mark{1, 25*µs + 250}, mark{MarkEnd, 40 * µs}, mark{0, 90 * µs}, mark{MarkEnd, 91 * µs})
	workers[1].marks = append(workers[1].marks, mark{1, 5 * µs}, mark{MarkEnd, 6 * µs})
	workers[2].marks = append(workers[2].marks, mark{0, 7 * µs})
	var out strings.Builder
	if err := p.write(&out, workers, nil); err != nil {
		t.Fatal(err)
	}
	type event struct {
		Ph, Name string
		Pid, Tid int
		Ts, Dur  float64
	}
	want := []event{
		{"X", "first", 0, 0, 10, 15.25}, {"X", `"second"`, 0, 0, 25.25, 14.75}, {"X", "first", 0, 0, 90, 1},
		{"X", `"second"`, 0, 11, 5, 1},
	}
	var got []event
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || len(got) != len(want) {
		t.Fatalf("%v, %d events, want %d:\n%s", err, len(got), len(want), out.String())
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("event %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	out.Reset()
	if err := p.write(&out, workers, nil); err != nil || out.String() != "[\n\n]\n" {
		t.Errorf("marks are written again: %v, %s", err, out.String())
	}
}
