package roll

import (
	"strconv"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// nodeKey returns a text that is equal for two nodes which may be in the same place of two groups: they have the same
// op, attributes, backend, queue and types. The data flow is compared later. A node with a body equals no other node.
func nodeKey(n *ir.Node) []byte {
	key := []byte{byte(n.Op)}
	if n.Body != nil {
		return appendText(key, n.Body.Name)
	}
	if positional, braces := ir.AttrText(n); n.Op != ir.OpObserve { // its names are those of the iterations
		key = appendText(appendText(key, positional), braces)
	}
	key = appendText(appendText(key, n.Backend), n.Queue())
	key = strconv.AppendInt(key, int64(instances(n)), 10)
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

// instances returns how many instances the results of n have.
func instances(n *ir.Node) int {
	if n.Submit == nil {
		return 1
	}
	return max(n.Submit.Slots, 1)
}

// leafText returns the name of a weight or state, or the attributes of another leaf, such as the value of a constant.
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

// appendPlaced appends a text that is equal for equal types in the same space.
func appendPlaced(key []byte, t ir.Type) []byte { return appendText(flow.AppendType(key, t), t.Space) }

// appendText appends the length of a text and the text, so that two lists of texts are equal only if their texts are.
func appendText(key []byte, s string) []byte {
	key = strconv.AppendInt(key, int64(len(s)), 10)
	return append(append(key, '|'), s...)
}
