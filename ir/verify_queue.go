package ir

// queues checks what the properties queued and synced promise of an entry point and the
// bodies in it: no number of instances is negative, only what runs on a queue records an
// event, each event at one place, and waits name events of the entry point, each once.
func (v *verifier) queues(entry *Func) {
	submitted := appendSubmitted(nil, entry)
	events := make(map[int]bool)
	for _, n := range submitted {
		v.f, v.node = n.Func, n
		v.event(n.Submit, events)
	}
	for _, n := range submitted {
		v.f, v.node = n.Func, n
		seen := make(map[Wait]bool)
		for _, w := range n.Submit.Waits {
			v.must(events[w.Event], "event", "it waits for event %d, which no node records", w.Event)
			v.must(!seen[w], "event", "it waits for event %d twice", w.Event)
			seen[w] = true
		}
	}
	v.f, v.node = nil, nil
}

// event checks what a node records and adds it to the events.
func (v *verifier) event(s *Submission, events map[int]bool) {
	v.must(s.Slots >= 0, "queue", "there are %d instances of its results", s.Slots)
	if s.Event == 0 {
		return
	}
	v.must(s.Event > 0, "event", "the event %d is not positive", s.Event)
	v.must(s.Queue != "", "event", "event %d is recorded by a node that runs on no queue", s.Event)
	v.must(!events[s.Event], "event", "event %d is recorded at another node too", s.Event)
	events[s.Event] = true
}

// appendSubmitted appends the nodes of f, and of the bodies in it, that have a submission.
func appendSubmitted(nodes []*Node, f *Func) []*Node {
	for _, n := range f.Nodes {
		if n.Submit != nil {
			nodes = append(nodes, n)
		}
		if n.Body != nil {
			nodes = appendSubmitted(nodes, n.Body)
		}
	}
	return nodes
}
