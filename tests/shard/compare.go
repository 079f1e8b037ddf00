package shard

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/passes/shard/foreign"
	"github.com/ggmlc/ggmlc/passes/shard/ggml"
)

// Items are the items that are compared separately.
var Items = []string{
	"refused", "states", "partial", "local", "off", "subgraphs", "reduce", "reduce_bytes", "exchange", "kept_bytes", "compute_bytes",
}

// Decisions holds lines of text by item.
type Decisions map[string][]string

func (o Decisions) add(item, format string, args ...any) {
	o[item] = append(o[item], fmt.Sprintf(format, args...))
}

// Derive returns what the rules of ggml-2026 derive from the inputs of a case.
func Derive(c *Case) (Decisions, error) {
	g, err := Build(c)
	if err != nil {
		return nil, err
	}
	o := make(Decisions)
	d, err := ggml.Derive(g.Func, len(c.Shares), g.Given)
	var refusal *ggml.Refusal
	switch {
	case errors.As(err, &refusal):
		at := "the group"
		if refusal.Value != nil {
			at = fmt.Sprint(slices.Index(g.Values, refusal.Value))
		}
		o.add("refused", "%s at %s: %s", refusal.Stage, at, refusal.Reason)
		return o, nil
	case err != nil:
		return nil, err
	}
	r := &reading{c: c, g: g, d: d, o: o}
	r.values()
	r.sums()
	return o, nil
}

// reading converts a division to the terms of its case.
type reading struct {
	c *Case
	g *Graph
	d *ggml.Division
	o Decisions
}

// values reads what is derived for each tensor.
func (r *reading) values() {
	for i, v := range r.g.Values {
		s := r.d.State(v)
		r.o.add("states", "%d %v", i, s)
		if r.d.Partial(v) {
			r.o.add("partial", "%d", i)
		}
		t := &r.c.Tensors[i]
		for j, p := range r.d.Parts(v) {
			if p != (foreign.Part{NE: t.NE, NB: t.NB, Offset: t.ViewOffset}) {
				r.o.add("local", "%d on device %d: %v", i, j, p)
			}
		}
	}
	for _, off := range r.d.Off {
		r.o.add("off", "%v", off)
	}
}

// sums reads where the devices add up, and the figures.
func (r *reading) sums() {
	for _, s := range r.d.Subgraphs {
		r.o.add("subgraphs", "%v", s)
	}
	for _, v := range r.d.Reduce {
		r.o.add("reduce", "%d", slices.Index(r.g.Values, v))
	}
	r.o.add("reduce_bytes", "%d", r.d.ReduceBytes())
	if e, err := r.d.Exchange(); err != nil {
		r.o.add("exchange", "refused: strided")
	} else {
		r.o.add("exchange", "%d messages, %d bytes, scratch %v", e.Messages, e.Bytes, slices.Repeat([]int64{e.Scratch}, r.d.Devices))
	}
	r.o.add("kept_bytes", "%v", r.d.KeptBytes())
	r.o.add("compute_bytes", "%v", slices.Repeat([]int64{r.c.ComputeBytes()}, r.d.Devices))
}

// decisions returns the expected values of the trace.
func (c *Case) decisions() Decisions {
	o := make(Decisions)
	if r := c.Refused; r != nil {
		at := "the group"
		if r.Tensor != nil {
			at = fmt.Sprint(*r.Tensor)
		}
		o.add("refused", "%s at %s: %s", r.Stage, at, r.Reason)
		return o
	}
	e := c.Expect
	for i := range e.States {
		o.add("states", "%d %v", i, e.States[i].sharding())
	}
	for _, i := range e.Partial {
		o.add("partial", "%d", i)
	}
	for i, parts := range e.Local {
		t := &c.Tensors[i]
		for j, p := range parts {
			if p != (Part{NE: t.NE, NB: t.NB, Offset: t.ViewOffset}) {
				o.add("local", "%d on device %d: %v", i, j, foreign.Part(p))
			}
		}
	}
	for _, off := range e.Off {
		o.add("off", "%v", off)
	}
	for _, s := range e.Subgraphs {
		o.add("subgraphs", "%v", s)
	}
	for _, i := range e.Reduce {
		o.add("reduce", "%d", i)
	}
	c.figures(o)
	return o
}

func (c *Case) figures(o Decisions) {
	e := c.Expect
	o.add("reduce_bytes", "%d", e.ReduceBytes)
	if e.Exchange.Refused != "" {
		o.add("exchange", "refused: %s", e.Exchange.Refused)
	} else {
		o.add("exchange", "%d messages, %d bytes, scratch %v", e.Exchange.Messages, e.Exchange.Bytes, e.Exchange.Scratch)
	}
	o.add("kept_bytes", "%v", e.KeptBytes)
	o.add("compute_bytes", "%v", e.ComputeBytes)
}

// Differences returns, by item, the first line in which what was derived differs from the trace.
func Differences(c *Case, got Decisions) map[string]string {
	want, diffs := c.decisions(), make(map[string]string)
	for _, item := range Items {
		for k := range max(len(want[item]), len(got[item])) {
			if w, g := line(want[item], k), line(got[item], k); w != g {
				diffs[item] = strings.Join([]string{item + ":", "trace", w + ",", "rules", g}, " ")
				break
			}
		}
	}
	return diffs
}

func line(lines []string, i int) string {
	if i >= len(lines) {
		return "nothing"
	}
	return lines[i]
}
