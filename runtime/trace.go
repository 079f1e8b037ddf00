package runtime

import (
	"bufio"
	"io"
	"strconv"
	"time"
)

// Profile is the type of Program.Profile, made by NewProfile in programs built with --profile. Other programs do not
// refer to NewProfile, so the linker leaves its code out.
type Profile interface {
	// begin prepares the workers to collect marks; write prints and forgets them.
	begin(workers []*Worker)
	write(w io.Writer, workers []*Worker) error
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

// write prints the marks in the Trace Event Format: a JSON array of complete events, with times in microseconds, that
// chrome://tracing and ui.perfetto.dev read. A mark lasts until the next one of the same worker.
func (p *profile) write(out io.Writer, workers []*Worker) error {
	b := bufio.NewWriter(out)
	b.WriteString("[\n")
	sep := ""
	for _, w := range workers {
		for i, m := range w.marks[:max(0, len(w.marks)-1)] {
			if m.id != MarkEnd {
				b.WriteString(sep)
				b.Write(p.event(nil, w.Part, m, w.marks[i+1].at))
				sep = ",\n"
			}
		}
		w.marks = w.marks[:0]
	}
	b.WriteString("\n]\n")
	return b.Flush()
}

func (p *profile) event(b []byte, part int, m mark, end time.Duration) []byte {
	b = append(b, `{"ph":"X","pid":0,"tid":`...)
	b = strconv.AppendInt(b, int64(part), 10)
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
