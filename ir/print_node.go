package ir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func (p *printer) node(n *Node) {
	if !p.has(ShowTypes) && isLeafOp(n) || p.only != nil && !p.only(n) {
		return
	}
	text := nodeText(n)
	if p.has(ShowTypes) {
		text += nodeTypes(n)
	}
	if tail := p.tail(n) + p.causes(n); tail != "" {
		if !p.has(ShowTypes) {
			text += "  " // two spaces separate the columns of goldens
		}
		text += tail
	}
	p.linef("%s", text)
	if n.Body != nil {
		p.function("body", n.Body)
	}
}

// isLeafOp reports whether a node is a weight, state or constant. The text form shows the space in its
// type. Foreign leaves are printed like other nodes.
func isLeafOp(n *Node) bool { return n.Op.Info().Traits&Leaf != 0 }

// nodeText returns results, op, operands and attributes.
func nodeText(n *Node) string {
	positional, braces := AttrText(n)
	text := n.Op.String()
	if len(n.Results) > 0 {
		text = valueNames(n.Results) + " = " + text
	}
	for _, part := range []string{positional, valueNames(n.Args), braces} {
		if part != "" {
			text += " " + part
		}
	}
	return text
}

func nodeTypes(n *Node) string {
	if len(n.Results) == 0 || slices.Contains(n.Results, nil) {
		return ""
	}
	texts := make([]string, len(n.Results))
	for i, r := range n.Results {
		switch {
		case isLeafOp(n):
			texts[i] = r.Type.String()
		case r.Type.Space != "":
			texts[i] = r.Type.data() + " in " + quoteWord(r.Type.Space)
		default:
			texts[i] = r.Type.data()
		}
	}
	return " : " + strings.Join(texts, ", ")
}

// tail returns the decisions of passes about a node.
func (p *printer) tail(n *Node) string {
	var b strings.Builder
	if p.has(ShowBackend) && n.Backend != "" {
		if isLeafOp(n) {
			b.WriteString(" backend=" + quoteWord(n.Backend))
		} else {
			b.WriteString(" @" + quoteName(n.Backend))
		}
	}
	if p.has(ShowSplit) && n.Split >= 0 {
		fmt.Fprintf(&b, " split=%d", n.Split)
	}
	if p.has(ShowPartition) {
		b.WriteString(partText(n.Part))
		if n.Epoch != 0 {
			fmt.Fprintf(&b, " epoch=%d", n.Epoch)
		}
	}
	if p.has(ShowQueue) {
		b.WriteString(queueText(n))
	}
	if r := n.Result(); p.has(ShowShard) && r != nil && r.Sharding().Kind != ShardNone {
		b.WriteString(" shard=" + r.Sharding().String())
	}
	if p.has(ShowPos) && n.Pos != "" {
		b.WriteString(" pos=" + quote(n.Pos))
	}
	if p.has(ShowPlace) {
		b.WriteString(places(n))
	}
	return b.String()
}

// queueText returns the submission of a node.
func queueText(n *Node) string {
	s := n.Submit
	if s == nil {
		return ""
	}
	var b strings.Builder
	if s.Queue != "" {
		b.WriteString(" queue=" + quoteWord(s.Queue))
	}
	if s.Slots > 1 {
		fmt.Fprintf(&b, " slots=%d", s.Slots)
	}
	if s.Within.Mode != PartNone {
		b.WriteString(" within=" + divisionText(s.Within))
	}
	if s.Concurrent {
		b.WriteString(" concurrent=true")
	}
	b.WriteString(waitText(s.Waits))
	if s.Event != 0 {
		fmt.Fprintf(&b, " event=%d", s.Event)
	}
	return b.String()
}

// waitText returns the events of this step, then those of the previous step.
func waitText(waits []Wait) string {
	var texts [2][]string
	for _, w := range waits {
		i := 0
		if w.Prev {
			i = 1
		}
		texts[i] = append(texts[i], strconv.Itoa(w.Event))
	}
	text := ""
	for i, key := range []string{"wait", "waitprev"} {
		if len(texts[i]) > 0 {
			text += " " + key + "=[" + strings.Join(texts[i], ",") + "]"
		}
	}
	return text
}

func partText(part Partition) string {
	if part.Mode == PartNone {
		return ""
	}
	return " part=" + divisionText(part)
}

// divisionText returns a partition as the parser reads it.
func divisionText(part Partition) string {
	if part.Mode != PartSplit {
		return part.Mode.String()
	}
	share := ""
	if part.Dynamic {
		share = ", dynamic"
	}
	return fmt.Sprintf("split(%d, %v, %d%s)", part.Axis, part.N, part.Granule, share)
}

func places(n *Node) string {
	placed := func(r *Value) bool { return r != nil && r.Place != nil }
	if !slices.ContainsFunc(n.Results, placed) {
		return ""
	}
	texts := make([]string, len(n.Results))
	for i, r := range n.Results {
		texts[i] = "-"
		if placed(r) {
			texts[i] = r.Place.String()
		}
	}
	return " at " + strings.Join(texts, ", ")
}

func (p *printer) causes(n *Node) string {
	text := ""
	for _, c := range n.ShownCauses(p.show) {
		if !p.has(ShowCauses) {
			c = Cause{Rule: c.Rule, Operands: c.Operands}
		}
		text += " ; " + c.String()
	}
	return text
}

// String returns the cause in the text form, such as assign/1.wgt %w was "cpu" now "gpu0".
func (c Cause) String() string {
	text := causeWord(c.Rule)
	if c.Pass != "" {
		text = causeWord(c.Pass) + "/" + text
	}
	for _, o := range c.Operands {
		text += " " + causeOperand(o)
	}
	if c.Before != "" {
		text += " was " + quote(c.Before)
	}
	if c.After != "" {
		text += " now " + quote(c.After)
	}
	return text
}

// causeWord returns s unchanged if it is words joined by hyphens, else in quotes.
func causeWord(s string) string {
	for part := range strings.SplitSeq(s, "-") {
		if part == "" || quoteWord(part) != part {
			return quote(s)
		}
	}
	if s == "was" || s == "now" {
		return quote(s)
	}
	return s
}

// causeOperand returns an operand as a name or as words. A name has the form that Value.String returns, and may have
// quotes already.
func causeOperand(s string) string {
	if len(s) > 1 && (s[0] == '%' || s[0] == '@') {
		if name, err := strconv.Unquote(s[1:]); err == nil && quote(name) == s[1:] {
			return s
		}
		return s[:1] + quoteName(s[1:])
	}
	return causeWord(s)
}
