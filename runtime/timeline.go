package runtime

import (
	"cmp"
	"io"
	"strconv"
	"sync"
	"time"
)

// Timeline collects what queues have done, with times.
type Timeline struct {
	mu     sync.Mutex
	queues []string
	spans  []span
}

// span is one command or transfer that a queue has done.
type span struct {
	queue      int
	what       *Label
	iteration  int
	step       uint64
	begin, end time.Duration // since the program's start

	// Of a kernel that the command ran: what it computes, and for which node, or again what if that is not known.
	kernel, node string
}

// Timed is a kernel of a command, with its times.
type Timed struct {
	Kernel     string // what it computes
	Node       string // that it computes it for; empty if it is not known
	Begin, End time.Time
}

// maxSpans bounds what is collected: some 100 MB. Later ones are dropped.
const maxSpans = 1 << 20

func newTimeline() *Timeline { return &Timeline{} }

// Queue adds a queue and returns its number; 0 if t is nil.
func (t *Timeline) Queue(name string) int {
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queues = append(t.queues, name)
	return len(t.queues) - 1
}

// Now returns the time, or none if t is nil.
func (t *Timeline) Now() (now time.Time) {
	if t != nil {
		now = time.Now()
	}
	return now
}

// Add records that a queue worked on what, in the given step, from begin until now. A nil Timeline records nothing.
func (t *Timeline) Add(queue int, what *Label, iteration int, step uint64, begin time.Time) {
	if t == nil {
		return
	}
	t.add(span{queue: queue, what: what, iteration: iteration, step: step, begin: begin.Sub(processStart), end: time.Since(processStart)})
}

func (t *Timeline) add(list ...span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.spans)+len(list) <= maxSpans {
		t.spans = append(t.spans, list...)
	}
}

// AddTimed is Add with the times of the device, and those of the kernels that a command ran, in order.
func (t *Timeline) AddTimed(queue int, what *Label, iteration int, step uint64, begin, end time.Time, kernels []Timed) {
	if t == nil {
		return
	}
	whole := span{queue: queue, what: what, iteration: iteration, step: step, begin: begin.Sub(processStart), end: end.Sub(processStart)}
	list := make([]span, 1, 1+len(kernels))
	list[0] = whole
	for _, k := range kernels {
		s := whole
		s.begin, s.end, s.kernel, s.node = k.Begin.Sub(processStart), k.End.Sub(processStart), k.Kernel, cmp.Or(k.Node, k.Kernel)
		list = append(list, s)
	}
	t.add(list...)
}

// write prints the timeline in the Trace Event Format. Each queue is a thread, times are in microseconds, and the
// arguments of a span are its step, split and iteration ("round"). A kernel is a span within that of its command,
// called after its node.
func (t *Timeline) write(out io.Writer) error {
	e := newEvents(out)
	t.events(e, 0)
	return e.close()
}

// events prints the queues and the spans as those of a process.
func (t *Timeline) events(e *events, process int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, name := range t.queues {
		e.name("thread_name", process, i, name)
	}
	for i := range t.spans {
		e.add(t.spans[i].event(nil, process))
	}
}

// event appends a span as a JSON object.
func (s *span) event(b []byte, process int) []byte {
	b = appendThread(append(b, `{"ph":"X",`...), process, s.queue)
	b = append(b, `,"name":`...)
	if s.kernel == "" {
		b = appendJSONString(b, s.what.At(s.iteration))
	} else {
		b = appendJSONString(b, s.node)
	}
	b = append(b, `,"ts":`...)
	b = appendMicros(b, s.begin)
	b = append(b, `,"dur":`...)
	b = appendMicros(b, s.end-s.begin)
	b = append(b, `,"args":{`...)
	if s.kernel != "" {
		b = append(appendJSONString(append(b, `"kernel":`...), s.kernel), ',')
	}
	b = append(b, `"step":`...)
	b = strconv.AppendUint(b, s.step, 10)
	b = append(b, `,"split":`...)
	b = strconv.AppendInt(b, int64(s.what.Split), 10)
	b = append(b, `,"round":`...)
	b = strconv.AppendInt(b, int64(s.iteration), 10)
	return append(b, "}}"...)
}
