package ir

// queues checks the queues and events of an entry point and its bodies, of which submitted are the
// nodes with a submission. No number of instances is negative, only a node on a queue records an event,
// each event is recorded at one node, and a node waits for recorded events, for each once.
func (v *verifier) queues(submitted []*Node) {
	recorded := make(map[int]bool)
	for _, n := range submitted {
		v.f, v.node = n.Func, n
		v.event(n.Submit, maxEvent(len(submitted)), recorded)
	}
	for _, n := range submitted {
		v.f, v.node = n.Func, n
		v.waits(n.Submit.Waits, recorded)
	}
	v.f, v.node = nil, nil
}

// maxEvent returns the largest event that an entry point may have. sync numbers events from 1 on, and a
// text from which nodes were removed has gaps. Programs have a place for each number up to the
// largest, so that the gaps must not be large.
func maxEvent(submitted int) int {
	const gaps = 64 // in small functions
	return 4*submitted + gaps
}

// event checks the instances and the event of a submission, and adds the event to the recorded ones.
func (v *verifier) event(s *Submission, most int, recorded map[int]bool) {
	v.must(s.Slots >= 0, "queue", "there are %d instances of its results", s.Slots)
	v.must(!s.Concurrent || s.Queue != "", "queue", "it is concurrent, and runs on no queue")
	if s.Event == 0 {
		return
	}
	if s.Event < 0 || s.Event > most {
		v.fail("event", "the event %d is outside 1 to %d: number events from 1 on", s.Event, most)
	}
	if s.Queue == "" {
		v.fail("event", "event %d is recorded by a node that runs on no queue", s.Event)
	}
	if recorded[s.Event] {
		v.fail("event", "event %d is recorded at another node too", s.Event)
	}
	recorded[s.Event] = true
}

// waits checks the events that the current node waits for.
func (v *verifier) waits(waits []Wait, recorded map[int]bool) {
	seen := make(map[Wait]bool, len(waits))
	for _, w := range waits {
		v.must(recorded[w.Event], "event", "it waits for event %d, which no node records", w.Event)
		v.must(!seen[w], "event", "it waits for event %d twice", w.Event)
		seen[w] = true
	}
}
