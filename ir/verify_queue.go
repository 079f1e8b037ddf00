package ir

import "slices"

// queues checks what the properties queued and synced promise of an entry point and the
// bodies in it: no number of instances is negative, only what runs on a queue records an
// event, each event at one place, and waits name events of the entry point, each once.
// Submitted are those of its nodes that have a submission.
func (v *verifier) queues(submitted []*Node) {
	recorded := newEvents(submitted)
	for _, n := range submitted {
		v.f, v.node = n.Func, n
		v.event(n.Submit, &recorded)
	}
	for _, n := range submitted {
		v.f, v.node = n.Func, n
		v.waits(n.Submit.Waits, &recorded)
	}
	v.f, v.node = nil, nil
}

// fewWaits are compared with each other without a table.
const fewWaits = 16

// waits checks what a node waits for.
func (v *verifier) waits(waits []Wait, recorded *events) {
	var seen map[Wait]bool
	if len(waits) > fewWaits {
		seen = make(map[Wait]bool, len(waits))
	}
	for i, w := range waits {
		if !recorded.has(w.Event) {
			v.fail("event", "it waits for event %d, which no node records", w.Event)
		}
		if seen[w] || seen == nil && slices.Contains(waits[:i], w) {
			v.fail("event", "it waits for event %d twice", w.Event)
		}
		if seen != nil {
			seen[w] = true
		}
	}
}

// event checks what a node records and adds it to the events.
func (v *verifier) event(s *Submission, recorded *events) {
	v.must(s.Slots >= 0, "queue", "there are %d instances of its results", s.Slots)
	if s.Event == 0 {
		return
	}
	if s.Event < 0 || s.Event > recorded.most {
		v.fail("event", "the event %d is outside 1 to %d: number events from 1 on", s.Event, recorded.most)
	}
	if s.Queue == "" {
		v.fail("event", "event %d is recorded by a node that runs on no queue", s.Event)
	}
	if recorded.has(s.Event) {
		v.fail("event", "event %d is recorded at another node too", s.Event)
	}
	recorded.add(s.Event)
}

// events is a set of events, of which sync numbers those of an entry point from 1 on. A text from which
// nodes were taken may have gaps; but programs have a place for each number up to the largest.
type events struct {
	low  []bool // by number, up to the largest within bounds
	most int    // the largest that there may be
}

// newEvents returns an empty set, with room for the events of the nodes.
func newEvents(submitted []*Node) events {
	const gaps = 64 // in small functions
	e, last := events{most: 4*len(submitted) + gaps}, 0
	for _, n := range submitted {
		if n.Submit.Event <= e.most {
			last = max(last, n.Submit.Event)
		}
	}
	e.low = make([]bool, last+1)
	return e
}

func (e *events) has(event int) bool { return event >= 0 && event < len(e.low) && e.low[event] }

func (e *events) add(event int) {
	if event >= 0 && event < len(e.low) {
		e.low[event] = true
	}
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
