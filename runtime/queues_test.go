package runtime

import (
	"sync"
	"testing"
	"time"
)

// TestPointCountsRecordsOfAStep checks how many records a wait waits for after given records.
func TestPointCountsRecordsOfAStep(t *testing.T) {
	for _, c := range []struct {
		name       string
		records    []uint64 // steps, one for each record
		step       uint64   // of the wait
		this, prev uint64
	}{
		{"never recorded", nil, 1, 0, 0},
		{"recorded in this step", []uint64{1}, 1, 1, 0},
		{"recorded in each of three iterations", []uint64{1, 1, 1}, 1, 3, 0},
		{"recorded in the step before", []uint64{1, 1}, 2, 0, 2},
		{"recorded in both", []uint64{1, 2, 2}, 2, 3, 1},
		{"recorded two steps ago", []uint64{1}, 3, 0, 0},
		{"recorded now and two steps ago", []uint64{1, 3}, 3, 2, 0},
		{"recorded in all", []uint64{1, 2, 3}, 3, 3, 2},
	} {
		var p point
		for i, step := range c.records {
			if n := p.next(step); n != uint64(i+1) {
				t.Errorf("%s: record %d counts as %d", c.name, i+1, n)
			}
		}
		if this, prev := p.inStep(c.step), p.inStep(c.step-1); this != c.this || prev != c.prev {
			t.Errorf("%s: waits for %d and, of the step before, %d, want %d and %d", c.name, this, prev, c.this, c.prev)
		}
	}
}

func TestEventWakesWaitersAtTheirCount(t *testing.T) {
	var e Event
	e.Await(0)
	var wg sync.WaitGroup
	var mu sync.Mutex
	reached := uint64(0)
	for n := range uint64(4) {
		wg.Go(func() {
			e.Await(n + 1)
			mu.Lock()
			defer mu.Unlock()
			if reached < n+1 {
				t.Errorf("waited for %d and went on at %d", n+1, reached)
			}
		})
	}
	for n := range uint64(4) {
		time.Sleep(time.Millisecond)
		mu.Lock()
		reached = n + 1
		mu.Unlock()
		e.Signal(n + 1)
	}
	wg.Wait()
}

func TestTransferKnowsItsLengthAndDensity(t *testing.T) {
	for _, c := range []struct {
		name     string
		t        Transfer
		len, end int
		dense    bool
	}{
		{"bytes", Transfer{Elem: 1, Shape: [4]int{1, 1, 1, 7}, Stride: [4]int{0, 0, 0, 1}}, 7, 7, true},
		{"nothing", Transfer{Elem: 4, Shape: [4]int{1, 1, 0, 7}, Stride: [4]int{0, 0, 28, 4}}, 0, 0, true},
		{"whole rows", Transfer{Elem: 4, Shape: [4]int{1, 2, 3, 5}, Stride: [4]int{0, 60, 20, 4}}, 120, 120, true},
		{"parts of rows", Transfer{Elem: 4, Shape: [4]int{1, 1, 3, 2}, Stride: [4]int{0, 0, 20, 4}}, 24, 48, false},
		{"a column", Transfer{Elem: 2, Shape: [4]int{1, 1, 1, 3}, Stride: [4]int{0, 0, 0, 10}}, 6, 22, false},
	} {
		if c.t.Len() != c.len || c.t.Reach() != c.end || c.t.Dense() != c.dense {
			t.Errorf("%s: %d bytes of %d, dense %t; want %d of %d, %t", c.name, c.t.Len(), c.t.Reach(), c.t.Dense(), c.len, c.end, c.dense)
		}
	}
}

func TestLabelNamesTheIteration(t *testing.T) {
	for _, c := range []struct {
		l    Label
		want string
	}{
		{Label{Func: "f", Split: 2}, "@f split 2"},
		{Label{Func: "f", Split: 2, What: "%a = copy %b", Repeated: true}, "@f split 2[l=5]: %a = copy %b"},
	} {
		if got := c.l.At(5); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
