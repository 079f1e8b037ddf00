package runtime

import (
	"io"
	"strconv"
	"time"
)

// Profile is the type of Program.Profile, made by NewProfile in programs built with --profile. Other programs do not
// refer to NewProfile, so the linker leaves its code out.
type Profile interface {
	// begin prepares the workers to collect marks; write prints and forgets them. It also prints what the queues of the
	// devices have done, if there are any.
	begin(workers []*Worker)
	write(w io.Writer, workers []*Worker, devices opened) error
}

// marks holds the points that one worker has passed.
type marks []mark

type mark struct {
	id int32
	at time.Duration // since the program's start
}

// maxMarks bounds what one worker collects: 16 MB. Later marks are dropped.
const maxMarks = 1 << 20

// Mark records that this worker begins the thing with that id. Only programs built with --profile call it.
func (w *Worker) Mark(id int) {
	if len(w.marks) < cap(w.marks) {
		w.marks = append(w.marks, mark{int32(id), time.Since(processStart)})
	}
}

// MarkEnd is the id with which a worker records that it waits, or has left the step.
const MarkEnd = -1

// NewProfile returns a Profile for marks whose ids are indexes of names.
func NewProfile(names ...string) Profile { return &profile{names} }

type profile struct{ names []string }

func (p *profile) begin(workers []*Worker) {
	for _, w := range workers {
		w.marks = make(marks, 0, maxMarks)
	}
}

// Processes of a trace.
const (
	ofWorkers = 0
	ofQueues  = 1
)

// write prints the marks as complete events, with times in microseconds. A mark lasts until the next one of the same
// worker. Queues of devices are another process, on the same timeline.
func (p *profile) write(out io.Writer, workers []*Worker, devices opened) error {
	e := newEvents(out)
	if devices != nil {
		e.name("process_name", ofWorkers, 0, "processor")
		e.name("process_name", ofQueues, 0, "devices")
	}
	for _, w := range workers {
		for i, m := range w.marks[:max(0, len(w.marks)-1)] {
			if m.id != MarkEnd {
				e.add(p.event(nil, w.Part, m, w.marks[i+1].at))
			}
		}
		w.marks = w.marks[:0]
	}
	if devices != nil {
		devices.trace(e, ofQueues)
	}
	return e.close()
}

func (p *profile) event(b []byte, part int, m mark, end time.Duration) []byte {
	b = appendThread(append(b, `{"ph":"X",`...), ofWorkers, part)
	b = append(b, `,"name":`...)
	b = appendJSONString(b, p.names[m.id])
	b = append(b, `,"ts":`...)
	b = appendMicros(b, m.at)
	b = append(b, `,"dur":`...)
	b = appendMicros(b, end-m.at)
	return append(b, '}')
}

func appendMicros(b []byte, d time.Duration) []byte {
	return strconv.AppendFloat(b, float64(d.Nanoseconds())/1000, 'f', 3, 64)
}
