package view

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/explain"
)

// TimePage is one call of an entry point: what runs on which lane, and when.
type TimePage struct {
	Func    string   `json:"func"`
	Lanes   []string `json:"lanes"`
	Seconds float64  `json:"seconds"`
	Note    string   `json:"note,omitempty"`
	Cut     bool     `json:"cut,omitempty"` // there are more bars than the page has

	// Bars are lane, thing, begin, duration and iteration of the innermost repeat. A thing is an index of
	// Document.Nodes; -1 is a barrier, -2 a wait, and others, -3 and below, are in Names. Times are nanoseconds.
	Bars  [][5]int64 `json:"bars"`
	Names []string   `json:"names,omitempty"`
}

// Things of bars that are no nodes.
const (
	thingBarrier = -1
	thingWait    = -2
	thingNamed   = -3
)

// maxBars is how many bars a page has for a call.
const maxBars = 20000

func (p *TimePage) lane(name string) int {
	for i, l := range p.Lanes {
		if l == name {
			return i
		}
	}
	p.Lanes = append(p.Lanes, name)
	return len(p.Lanes) - 1
}

func (p *TimePage) bar(lane, thing int, begin, seconds float64, iteration int) {
	p.Seconds = max(p.Seconds, begin+seconds)
	if len(p.Bars) >= maxBars {
		p.Cut = true
		return
	}
	nanos := func(s float64) int64 { return int64(math.Round(s * 1e9)) }
	p.Bars = append(p.Bars, [5]int64{int64(lane), int64(thing), nanos(begin), nanos(seconds), int64(iteration)})
}

// predicted returns the page of a predicted call.
func (d *Document) predicted(c *explain.Call) *TimePage {
	p := &TimePage{Func: ir.QuoteName(c.Func), Lanes: c.Lanes}
	for _, r := range c.Runs {
		thing := thingBarrier
		switch r.Kind {
		case explain.NodeRun:
			thing = d.at[idOfNode(r.Node)]
		case explain.WaitRun:
			thing = thingWait
		}
		p.bar(r.Lane, thing, r.Begin, r.Seconds, r.Iteration)
	}
	return p
}
