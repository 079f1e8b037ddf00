package explain

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// prospect is what changes if nodes of an entry point are pinned to another target. A pin does not distinguish entry
// points: it matches nodes of the same name in others too.
type prospect struct {
	x       *explainer
	entry   *ir.Func
	move    *Move // what is copied; nil before spaces are known
	change  map[*ir.Func]float64
	pin     suggestion
	t       *target.Descriptor
	noRoom  string
	refused string // what the pin catches and t does not run
	unrated string // a target without known speed: times cannot be compared
}

func (x *explainer) prospect(t *target.Descriptor, nodes []*ir.Node) *prospect {
	p := &prospect{x: x, t: t, entry: nodes[0].Func.Entry(), change: make(map[*ir.Func]float64), pin: x.pin(t, nodes)}
	for _, n := range p.pin.caught {
		if why := x.whyCannotRun(t, n); why != "" && p.refused == "" {
			p.refused = fmt.Sprintf("@%s %v: %s", n.Func.Name, n, why)
		}
	}
	moved := x.runnable(t, append(slices.Clone(nodes), p.pin.caught...))
	for _, n := range moved {
		for _, d := range []*target.Descriptor{t, x.target(n)} {
			if d != nil && !d.Rates.Known() {
				p.unrated = d.Name
			}
		}
		p.change[n.Func.Entry()] += float64(runsOf(n.Func)) * (x.seconds(t, n) - x.seconds(x.target(n), n))
	}
	r := x.relocate(t, moved)
	if r == nil {
		return p
	}
	for f, m := range r.moves {
		p.change[f] += m.Seconds
	}
	p.move, p.noRoom = r.to(p.entry), r.noRoom()
	p.move.WeightBytes = r.weightBytes
	return p
}

// verdict states by how much the entry points take more or less time, and which pin does it. It names no pin if the
// nodes would not fit or not run, or if one entry point gains what another one loses, because it is not known how often
// each is called.
func (p *prospect) verdict() string {
	if p.unrated != "" {
		return fmt.Sprintf("the speed of %s is not known", p.unrated)
	}
	own := p.change[p.entry]
	text := signedSeconds(own)
	loses := false
	for _, f := range p.x.m.Funcs {
		if change, some := p.change[f]; some && f != p.entry {
			text += fmt.Sprintf(", in @%s %s", f.Name, signedSeconds(change))
			loses = loses || change > 0
		}
	}
	switch {
	case own >= 0:
		return text
	case p.noRoom != "":
		return text + ": " + p.noRoom
	case p.refused != "":
		return text + ": a pin would also match " + p.refused
	case p.pin.text == "":
		return text + fmt.Sprintf(": a pin to %s, if the model had names for them", p.t.Name)
	case loses:
		return text + ", whose nodes the pin moves too"
	}
	return text + ": " + p.pin.text
}
