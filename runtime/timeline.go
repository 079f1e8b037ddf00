package runtime

import (
	"bufio"
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

// Add records that a queue worked on what, in the given step, from begin until now. A nil Timeline records nothing.
func (t *Timeline) Add(queue int, what *Label, iteration int, step uint64, begin time.Time) {
	if t == nil {
		return
	}
	s := span{queue, what, iteration, step, begin.Sub(processStart), time.Since(processStart)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.spans) < maxSpans {
		t.spans = append(t.spans, s)
	}
}

// write prints the timeline in the Trace Event Format, a JSON array that chrome://tracing and ui.perfetto.dev read.
// Each queue is a thread, times are in microseconds, and the arguments of a span are its step, split and iteration
// ("round").
func (t *Timeline) write(out io.Writer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := bufio.NewWriter(out)
	sep := "[\n"
	for i, name := range t.queues {
		b.WriteString(sep + `{"ph":"M","pid":0,"name":"thread_name","tid":` + strconv.Itoa(i) + `,"args":{"name":`)
		b.Write(appendJSONString(nil, name))
		b.WriteString("}}")
		sep = ",\n"
	}
	for i := range t.spans {
		b.WriteString(sep)
		b.Write(t.spans[i].event(nil))
		sep = ",\n"
	}
	if sep == "[\n" {
		b.WriteString(sep)
	}
	b.WriteString("\n]\n")
	return b.Flush()
}

// event appends a span as a JSON object.
func (s *span) event(b []byte) []byte {
	b = append(b, `{"ph":"X","pid":0,"tid":`...)
	b = strconv.AppendInt(b, int64(s.queue), 10)
	b = append(b, `,"name":`...)
	b = appendJSONString(b, s.what.At(s.iteration))
	b = append(b, `,"ts":`...)
	b = appendMicros(b, s.begin)
	b = append(b, `,"dur":`...)
	b = appendMicros(b, s.end-s.begin)
	b = append(b, `,"args":{"step":`...)
	b = strconv.AppendUint(b, s.step, 10)
	b = append(b, `,"split":`...)
	b = strconv.AppendInt(b, int64(s.what.Split), 10)
	b = append(b, `,"round":`...)
	b = strconv.AppendInt(b, int64(s.iteration), 10)
	return append(b, "}}"...)
}
