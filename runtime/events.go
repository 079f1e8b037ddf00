package runtime

import (
	"bufio"
	"io"
	"strconv"
)

// events prints the Trace Event Format, a JSON array that chrome://tracing and ui.perfetto.dev read.
type events struct {
	out *bufio.Writer
	sep string // before the next event
}

func newEvents(w io.Writer) *events { return &events{bufio.NewWriter(w), "[\n"} }

// add prints an event.
func (e *events) add(event []byte) {
	e.out.WriteString(e.sep)
	e.out.Write(event)
	e.sep = ",\n"
}

// name prints what a process or a thread is called. kind is process_name or thread_name.
func (e *events) name(kind string, process, thread int, name string) {
	b := appendThread([]byte(`{"ph":"M",`), process, thread)
	b = append(append(append(b, `,"name":"`...), kind...), `","args":{"name":`...)
	e.add(append(appendJSONString(b, name), "}}"...))
}

// appendThread appends the fields that identify the thread of an event.
func appendThread(b []byte, process, thread int) []byte {
	b = strconv.AppendInt(append(b, `"pid":`...), int64(process), 10)
	return strconv.AppendInt(append(b, `,"tid":`...), int64(thread), 10)
}

// close ends the array. It returns the first error of printing.
func (e *events) close() error {
	if e.sep == "[\n" {
		e.out.WriteString(e.sep)
	}
	e.out.WriteString("\n]\n")
	return e.out.Flush()
}
