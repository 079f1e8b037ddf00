package ir

// queues checks what the properties queued and synced promise of an entry point and the
// bodies in it: no number of instances is negative, only what runs on a queue records an
// event, each event at one place, and waits name events of the entry point, each once.
func (v *verifier) queues(entry *Func) {
	events := make(map[int]bool)
	eachSubmission(entry, func(n *Node) {
		v.f, v.node = n.Func, n
		s := n.Submit
		v.must(s.Slots >= 0, "queue", "there are %d instances of its results", s.Slots)
		if s.Event == 0 {
			return
		}
		v.must(s.Event > 0, "event", "the event %d is not positive", s.Event)
		v.must(s.Queue != "", "event", "event %d is recorded by a node that runs on no queue", s.Event)
		v.must(!events[s.Event], "event", "event %d is recorded at another node too", s.Event)
		events[s.Event] = true
	})
	eachSubmission(entry, func(n *Node) {
		v.f, v.node = n.Func, n
		seen := make(map[Wait]bool)
		for _, w := range n.Submit.Waits {
			v.must(events[w.Event], "event", "it waits for event %d, which no node records", w.Event)
			v.must(!seen[w], "event", "it waits for event %d twice", w.Event)
			seen[w] = true
		}
	})
	v.f, v.node = nil, nil
}

// eachSubmission calls do for the nodes of f, and of the bodies in it, that have a
// submission.
func eachSubmission(f *Func, do func(*Node)) {
	for _, n := range f.Nodes {
		if n.Submit != nil {
			do(n)
		}
		if n.Body != nil {
			eachSubmission(n.Body, do)
		}
	}
}
