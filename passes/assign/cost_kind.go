package assign

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/placement"
	"github.com/ggmlc/ggmlc/passes/target"
)

// nodeKind is what nodes have in common that apply one op to operands of the same types:
// who runs them, and in what time.
type nodeKind struct {
	work     flow.Work
	seconds  []float64 // by target; placement.Never where it does not run
	refusals []string  // by target; empty where it runs
	choices  int

	only map[string][]float64 // seconds where the node is pinned, by backend
	body []float64            // seconds in bodies; nil until they are asked for
}

// nodeKinds finds the kinds of nodes: models repeat few of them, and asking a target or an
// op's cost takes long.
type nodeKinds struct {
	c      *pass.Context
	byKey  map[string]*nodeKind
	key    []byte
	denied *target.Descriptor // the last target, where it is denied; nil otherwise
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
	k.key = appendKind(k.key[:0], n)
	if kind := k.byKey[string(k.key)]; kind != nil {
		return kind
	}
	kind := k.make(n)
	k.byKey[string(k.key)] = kind
	return kind
}

// appendKind appends a text that is the same for two nodes that cost the same and are
// refused alike.
func appendKind(b []byte, n *ir.Node) []byte {
	b = append(b, byte(n.Op))
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
	if n.Body != nil { // its cost is that of its nodes, which have steps of their own
		b = append(b, 3)
	}
	return b
}

func (k *nodeKinds) make(n *ir.Node) *nodeKind {
	kind := &nodeKind{only: make(map[string][]float64)}
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
	kind.avoid(k)
	return kind
}

// avoid keeps nodes of the kind off a denied target, unless no other runs them.
func (kind *nodeKind) avoid(k *nodeKinds) {
	last := len(kind.seconds) - 1
	if k.denied != nil && kind.choices > 1 && kind.refusals[last] == "" {
		kind.seconds[last] = placement.Never
		kind.refusals[last] = k.denied.Name + ": denied"
		kind.choices--
	}
}

// time predicts how long a target takes, with as many workers as it is reckoned to have.
func (kind *nodeKind) time(c *pass.Context, t *target.Descriptor) float64 {
	if kind.work.Flops == 0 && kind.work.Split == 0 {
		return 0
	}
	return t.Seconds(kind.work.Flops, kind.work.Split, kind.work.Weight, pass.AssumedWorkers(c, t))
}
