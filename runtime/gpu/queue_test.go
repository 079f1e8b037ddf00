package gpu

import (
	"slices"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/runtime"
)

// driver takes and finishes entries of a queue without a device, and notes the numbers that are its own.
type driver struct {
	*Queue[int]
	finished []uint64 // counts of records, in order
}

// take takes and issues all entries.
func (d *driver) take() {
	var e Entry[int]
	for d.First(&e) {
		e.Own = int(e.Count)
		d.Take(&e)
		d.all.Lock()
		d.Issue(func(_ uint64, e *Entry[int]) { e.Ran = true })
		d.all.Unlock()
	}
	d.Drain()
}

// finish finishes all entries.
func (d *driver) finish() {
	defer d.End()
	var e Entry[int]
	for d.Oldest(&e) {
		d.Follow(&e)
		if e.Kind == RecordEntry && e.Ran && e.Own == int(e.Count) {
			d.finished = append(d.finished, e.Count)
			e.Event.Signal(e.Count)
		}
		d.Pop()
	}
}

// start returns queues of some names with a driver for each.
func start(names ...string) (*Queues[int], []*driver) {
	all := NewQueues[int](new(runtime.Supervisor), names)
	var list []*driver
	for i := range names {
		list = append(list, &driver{Queue: all.Queue(i)})
	}
	return all, list
}

// TestQueuesFinishEntriesInOrder submits more entries than a ring has before the driver begins, and records after the
// end.
func TestQueuesFinishEntriesInOrder(t *testing.T) {
	all, d := start("one")
	var event runtime.Event
	var want []uint64
	for n := range uint64(3 * ringSize) {
		all.Record(0, &event, n+1)
		want = append(want, n+1)
	}
	go d[0].take()
	go d[0].finish()
	all.End()
	if !slices.Equal(d[0].finished, want) {
		t.Errorf("records %v, want %v", d[0].finished, want)
	}
	all.Record(0, &event, 1000)
	if !event.Reached(1000) {
		t.Error("a record after the end is not signalled")
	}
}

// TestWaitsFollowTheirRecord has a wait whose record another queue finishes later.
func TestWaitsFollowTheirRecord(t *testing.T) {
	all, d := start("one", "two")
	var first, second runtime.Event
	all.Record(0, &first, 1)
	all.Wait(1, &first, 1)
	all.Record(1, &second, 1)
	if e := d[1].At(0); e.From != d[0].Queue || e.Seq != 0 {
		t.Errorf("the wait is for entry %d of queue %v", e.Seq, e.From)
	}
	go d[1].take()
	go d[1].finish()
	time.Sleep(10 * time.Millisecond)
	if second.Reached(1) {
		t.Error("an entry after the wait was finished before the record")
	}
	go d[0].take()
	go d[0].finish()
	all.End()
	if !second.Reached(1) {
		t.Error("the entry after the wait was not finished")
	}
}

// TestErrorsNameWhatIsUnderWay asks for the command or transfer that a failure concerns.
func TestErrorsNameWhatIsUnderWay(t *testing.T) {
	all, d := start("one", "two")
	label := runtime.Label{What: "copy of x"}
	var event runtime.Event
	all.Record(1, &event, 1)
	all.Copy(1, runtime.Transfer{Label: &label}, new(runtime.Block))
	nothing, _ := first(all.Working()).Label()
	var e Entry[int]
	for range 2 {
		d[1].First(&e)
		d[1].Take(&e)
	}
	found, _ := first(all.Working()).Label()
	waiting, _ := first(d[1].Waiting()).Label()
	if nothing.What != "events" || found != &label || waiting != &label {
		t.Errorf("%q, %q and %q", nothing.What, found.What, waiting.What)
	}
}

func first(e Entry[int]) *Entry[int] { return &e }
