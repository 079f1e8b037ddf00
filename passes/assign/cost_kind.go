package assign

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/placement"
	"github.com/ggmlc/ggmlc/passes/target"
)

// nodeKind is what nodes with the same op, attributes and types have in common: which targets run them, and in what
// time.
type nodeKind struct {
	work     flow.Work
	seconds  []float64 // by target; placement.Never where it does not run
	refusals []string  // by target; empty where it runs
	choices  int       // number of targets that run it
}

// nodeKinds finds the kinds of nodes. A model has few of them, as its layers are alike: the refusals of targets and
// the cost of an op are computed once for each kind.
type nodeKinds struct {
	c      *pass.Context
	byKey  map[string]*nodeKind
	denied *target.Descriptor // the last target if it is denied; nil otherwise
}

func newNodeKinds(c *pass.Context) *nodeKinds {
	k := &nodeKinds{c: c, byKey: make(map[string]*nodeKind)}
	for _, name := range c.Options.Deny {
		if name == c.Targets.Last().Name {
			k.denied = c.Targets.Last()
		}
	}
	return k
}

func (k *nodeKinds) of(n *ir.Node) *nodeKind {
	key := kindKey(n)
	kind := k.byKey[key]
	if kind == nil {
		kind = k.make(n)
		k.byKey[key] = kind
	}
	return kind
}

// kindKey returns a text that is equal for two nodes which cost the same and are refused for the same reasons.
func kindKey(n *ir.Node) string {
	b := []byte{byte(n.Op)}
	if a, ok := n.Attr.(*ir.ForeignAttr); ok {
		b = append(b, a.Op...)
	} else if n.Attr != nil {
		positional, braces := ir.AttrText(n)
		b = append(append(b, positional...), braces...)
	}
	for _, a := range n.Sources() {
		if a == nil {
			b = append(b, 0)
			continue
		}
		b = flow.AppendType(append(b, 1), a.Type)
		if a.Def != nil && a.Def.Op == ir.OpWeight {
			b = append(b, 'w')
		}
	}
	for _, r := range n.Results {
		b = flow.AppendType(append(b, 2), r.Type)
	}
	if n.Body != nil { // the nodes of the body have the cost
		b = append(b, 3)
	}
	return string(b)
}

func (k *nodeKinds) make(n *ir.Node) *nodeKind {
	kind := new(nodeKind)
	if !flow.RunsFunction(n) {
		kind.work = flow.WorkOf(nil, n, nil)
	}
	for _, t := range k.c.Targets.All() {
		why := t.Refusal(n)
		seconds := placement.Never
		if why == "" {
			seconds = kind.time(k.c, t)
			kind.choices++
		}
		kind.seconds = append(kind.seconds, seconds)
		kind.refusals = append(kind.refusals, why)
	}
	k.avoidDenied(kind)
	return kind
}

// avoidDenied keeps nodes of the kind off a denied target, unless no other target runs them.
func (k *nodeKinds) avoidDenied(kind *nodeKind) {
	last := len(kind.seconds) - 1
	if k.denied != nil && kind.choices > 1 && kind.refusals[last] == "" {
		kind.seconds[last] = placement.Never
		kind.refusals[last] = k.denied.Name + ": denied"
		kind.choices--
	}
}

// time predicts how many seconds a target takes, with the number of workers that is assumed for it.
func (kind *nodeKind) time(c *pass.Context, t *target.Descriptor) float64 {
	if kind.work.Flops == 0 && kind.work.Split == 0 {
		return 0
	}
	return t.Seconds(kind.work.Flops, kind.work.Split, kind.work.Weight, pass.AssumedWorkers(c, t))
}
