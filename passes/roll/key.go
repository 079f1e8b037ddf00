package roll

import (
	"strconv"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// groupKey appends what has to be equal in two nodes that are in the same place of two groups,
// data flow apart. No two bodies are compared.
func groupKey(key []byte, n *ir.Node) []byte {
	key = append(key, byte(n.Op))
	if n.Body != nil {
		return appendText(key, n.Body.Name)
	}
	positional, braces := ir.AttrText(n)
	key = appendText(appendText(key, positional), braces)
	key = appendText(appendText(key, n.Backend), n.Queue())
	key = strconv.AppendInt(key, int64(slots(n)), 10)
	for _, a := range n.Args {
		switch {
		case a == nil:
			key = append(key, '-')
			continue
		case a.Def != nil && a.Def.Is(ir.Leaf):
			key = append(key, 'l', byte(a.Def.Op))
		default:
			key = append(key, ':')
		}
		key = appendPlaced(key, a.Type)
	}
	for _, r := range n.Results {
		key = appendPlaced(append(key, '='), r.Type)
	}
	return key
}

// leafText returns what a leaf node names, or, of a constant, is.
func leafText(n *ir.Node) string {
	switch attr := n.Attr.(type) {
	case *ir.WeightAttr:
		return attr.Name
	case *ir.StateAttr:
		return attr.Name
	}
	positional, _ := ir.AttrText(n)
	return positional
}

// appendPlaced appends what is the same for equal types in one space.
func appendPlaced(key []byte, t ir.Type) []byte { return appendText(flow.AppendType(key, t), t.Space) }

// appendText appends a text and how long it is, so that none is the beginning of another one.
func appendText(key []byte, s string) []byte {
	key = strconv.AppendInt(key, int64(len(s)), 10)
	return append(append(key, '|'), s...)
}
