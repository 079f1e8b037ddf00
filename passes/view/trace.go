package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// Trace is what a program wrote with --profile or --timeline: events of its threads and of its queues.
type Trace struct {
	spans []span
	lanes []string // names of queues, then those of threads

	queues int // how many of the lanes are queues
}

// span is something that a thread or a queue did.
type span struct {
	lane          int
	name          string
	step          int     // of an event of a queue; 0 for those of threads
	begin, length float64 // seconds
}

// traceEvent is an object of the trace event format, whose names the fields have: phase, process, thread, and begin and
// duration in microseconds.
type traceEvent struct {
	Ph       string
	Pid, Tid int
	Name     string
	Ts, Dur  float64
	Args     struct {
		Name string
		Step int
	}
}

// maxEvents is the largest number of events that are read.
const maxEvents = 1 << 22

// ReadTrace reads a trace.
func ReadTrace(r io.Reader) (*Trace, error) {
	d := json.NewDecoder(r)
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, fmt.Errorf("it is no list of events: give what a program wrote with --profile or --timeline")
	}
	var events []traceEvent
	for d.More() {
		var e traceEvent
		if err := d.Decode(&e); err != nil {
			return nil, fmt.Errorf("event %d: %w: give what a program wrote with --profile or --timeline", len(events)+1, err)
		}
		if len(events) == maxEvents {
			return nil, fmt.Errorf("it has more than %d events: profile fewer tokens", maxEvents)
		}
		if e.Ph == "X" && !(math.Abs(e.Ts) < 1e15 && e.Dur >= 0 && e.Dur < 1e15) {
			return nil, fmt.Errorf("event %d: it begins at %g and takes %g microseconds", len(events)+1, e.Ts, e.Dur)
		}
		events = append(events, e)
	}
	return traceOf(events), nil
}

// traceOf gives each thread and queue a lane. Queues have names, threads have none.
func traceOf(events []traceEvent) *Trace {
	type thread struct{ process, thread int }
	t := &Trace{}
	lanes := make(map[thread]int)
	for _, e := range events {
		if e.Ph == "M" && e.Name == "thread_name" {
			lanes[thread{e.Pid, e.Tid}] = len(t.lanes)
			t.lanes = append(t.lanes, printable.Line(e.Args.Name))
		}
	}
	t.queues = len(t.lanes)
	for _, e := range events {
		if e.Ph != "X" {
			continue
		}
		key := thread{e.Pid, e.Tid}
		if _, known := lanes[key]; !known {
			lanes[key] = len(t.lanes)
			t.lanes = append(t.lanes, fmt.Sprintf("thread %d", e.Tid))
		}
		t.spans = append(t.spans, span{lanes[key], e.Name, e.Args.Step, e.Ts / 1e6, e.Dur / 1e6})
	}
	slices.SortStableFunc(t.spans, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
	return t
}

// window is the time of one step.
type window struct {
	entry      *ir.Func
	step       int // the number that queues give to it; 0 where they do nothing
	begin, end float64
}

func (w window) seconds() float64 { return w.end - w.begin }

// measured returns for each entry point the step of the trace that takes as long as half of the others. It returns an
// error if nothing in the trace is of the module.
func (d *Document) measured(m *ir.Module, t *Trace) ([]*TimePage, error) {
	names := newTraceNames(d, m)
	windows := t.steps(names)
	if len(windows) == 0 {
		return nil, fmt.Errorf("no event in it is of %s: profile a program that was built with the same flags", cmp.Or(printable.Line(m.Name), "this module"))
	}
	var pages []*TimePage
	for _, f := range m.Funcs {
		own := slices.DeleteFunc(slices.Clone(windows), func(w window) bool { return w.entry != f })
		if len(own) == 0 {
			continue
		}
		slices.SortStableFunc(own, func(a, b window) int { return cmp.Compare(a.end-a.begin, b.end-b.begin) })
		p := t.page(own[len(own)/2], names)
		p.Note = fmt.Sprintf("the median of %d steps, from %s to %s", len(own), pass.SecondsText(own[0].seconds()), pass.SecondsText(own[len(own)-1].seconds()))
		pages = append(pages, p)
	}
	return pages, nil
}

// steps returns the steps of a trace. On the first thread a step begins where another entry point does, or where a node
// of the entry point itself comes again. A trace without threads has numbers of steps.
func (t *Trace) steps(names *traceNames) []window {
	var list []window
	seen := make(map[string]bool)
	step := 0
	threads := len(t.lanes) > t.queues
	for _, s := range t.spans {
		if threads && s.lane != t.queues {
			continue
		}
		f := names.funcOf(s.name)
		if f == nil { // a barrier; the last one may last until the next step
			continue
		}
		entry := f.Entry()
		again := f == entry && seen[s.name]
		if !threads {
			again = s.step != step
		}
		if len(list) == 0 || list[len(list)-1].entry != entry || again {
			clear(seen)
			step = s.step
			list = append(list, window{entry: entry, step: s.step, begin: s.begin})
		}
		seen[s.name] = true
		list[len(list)-1].end = max(list[len(list)-1].end, s.begin+s.length)
	}
	if threads {
		t.withQueues(list)
	}
	return list
}

// withQueues adds to the steps of threads what queues do in them: before the first and after the last node of a thread,
// too.
func (t *Trace) withQueues(list []window) {
	at := 0
	steps := make(map[int]int) // indexes of list by the numbers that queues give to steps
	for _, s := range t.spans {
		for at < len(list) && s.begin >= list[at].end {
			at++
		}
		if at < len(list) && s.step > 0 && s.begin >= list[at].begin {
			if _, known := steps[s.step]; !known && list[at].step == 0 {
				steps[s.step], list[at].step = at, s.step
			}
		}
	}
	for _, s := range t.spans {
		if i, known := steps[s.step]; known && s.step > 0 {
			list[i].begin, list[i].end = min(list[i].begin, s.begin), max(list[i].end, s.begin+s.length)
		}
	}
}

// page returns the bars of a step.
func (t *Trace) page(w window, names *traceNames) *TimePage {
	p := &TimePage{Func: ir.QuoteName(w.entry.Name)}
	for i := range t.lanes { // threads first
		p.lane(t.lanes[(t.queues+i)%len(t.lanes)])
	}
	times := make(map[[2]int]int)
	for _, s := range t.spans {
		if s.begin < w.begin || s.begin >= w.end || s.step > 0 && s.step != w.step {
			continue
		}
		lane := p.lane(t.lanes[s.lane])
		thing, known := names.thing(s.name)
		if !known {
			thing = p.name(s.name)
		}
		key := [2]int{lane, thing}
		p.bar(lane, thing, s.begin-w.begin, s.length, times[key])
		times[key]++
	}
	return p
}

// name returns the number of a thing that is no node.
func (p *TimePage) name(text string) int {
	text = printable.Line(text)
	i := slices.Index(p.Names, text)
	if i < 0 {
		i = len(p.Names)
		p.Names = append(p.Names, text)
	}
	return thingNamed - i
}

// traceNames looks up names of events: FUNC OP %VALUE of a thread, @FUNC split N of a queue, perhaps with the copy
// that it is.
type traceNames struct {
	d     *Document
	funcs []*ir.Func
}

// newTraceNames sorts functions so that a longer name comes before one that it begins with.
func newTraceNames(d *Document, m *ir.Module) *traceNames {
	n := &traceNames{d, m.AllFuncs()}
	slices.SortStableFunc(n.funcs, func(a, b *ir.Func) int { return cmp.Compare(len(b.Name), len(a.Name)) })
	return n
}

// funcOf returns the function of an event, or nil.
func (n *traceNames) funcOf(name string) *ir.Func {
	name = strings.TrimPrefix(name, "@")
	i := slices.IndexFunc(n.funcs, func(f *ir.Func) bool { return strings.HasPrefix(name, f.Name+" ") })
	if i < 0 {
		return nil
	}
	return n.funcs[i]
}

// thing returns the node of an event, or what else it is.
func (n *traceNames) thing(name string) (int, bool) {
	if name == "barrier" {
		return thingBarrier, true
	}
	f := n.funcOf(name)
	if f == nil {
		return 0, false
	}
	_, rest, isCopy := strings.Cut(name, ": ")
	if !isCopy {
		rest = name
	}
	i := strings.Index(rest, "%")
	if i < 0 {
		return 0, false
	}
	value := rest[i+1:]
	if isCopy {
		value, _, _ = strings.Cut(value, " = ")
	}
	for _, g := range n.funcs {
		if g != f && (!isCopy || g.Entry() != f) {
			continue
		}
		if at, ok := n.d.at[ir.QuoteName(g.Name)+"."+value]; ok {
			return at, true
		}
	}
	return 0, false
}
