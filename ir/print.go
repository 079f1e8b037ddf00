package ir

import (
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Show is a set of columns of the text form.
type Show uint32

const (
	ShowHead      Show = 1 << iota // what stands outside functions: headers, weights, states, plan
	ShowTypes                      // parameters, result types, leaf nodes
	ShowBackend                    // the backend of each node
	ShowSplit                      // the split of each node
	ShowPartition                  // partition and epoch
	ShowQueue                      // queue, slots and events
	ShowPlace                      // addresses
	ShowPos                        // where nodes come from
	ShowCause                      // the last cause of each node, without its pass
	ShowCauses                     // all causes

	// ShowAll is the lossless form, which Parse reads back.
	ShowAll = ShowCauses<<1 - 1
)

var showNames = []string{"head", "type", "backend", "split", "partition", "queue", "place", "pos", "cause", "causes"}

// String returns the names of the columns, separated by commas.
func (s Show) String() string {
	var names []string
	for i, name := range showNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// ParseShow returns the set of columns with the given names, separated by commas, as in
// --show backend,cause; "all" is ShowAll.
func ParseShow(text string) (Show, error) {
	if text == "all" {
		return ShowAll, nil
	}
	var s Show
	for name := range strings.SplitSeq(text, ",") {
		i := indexOf(showNames, name)
		if i < 0 {
			return 0, fmt.Errorf("unknown column %q: the known ones are all, %s", name, strings.Join(showNames, ", "))
		}
		s |= 1 << i
	}
	return s, nil
}

// PrintOptions say what Print shows. The zero value shows nothing but the nodes.
type PrintOptions struct {
	Show  Show
	Funcs []string // only these entry points; nil means all

	// Bare leaves out the head that marks a narrowed text as partial: for goldens.
	Bare bool
}

// full reports whether nothing is left out.
func (o PrintOptions) full() bool { return o.Show == ShowAll && o.Funcs == nil }

// String returns the lossless text form of m.
func (m *Module) String() string {
	p := printer{show: ShowAll}
	p.module(m, PrintOptions{Show: ShowAll})
	return p.b.String()
}

// Print writes the text form of m. With ShowAll and all functions it is lossless. Anything
// narrower is headed "partial", unless Bare; without types it is the short form of
// goldens, in which functions have no parameters and leaf nodes do not appear.
func Print(w io.Writer, m *Module, opts PrintOptions) error {
	p := printer{show: opts.Show}
	p.module(m, opts)
	_, err := io.WriteString(w, p.b.String())
	return err
}

type printer struct {
	b      strings.Builder
	show   Show
	indent string
}

func (p *printer) linef(format string, args ...any) {
	p.b.WriteString(p.indent)
	fmt.Fprintf(&p.b, format, args...)
	p.b.WriteByte('\n')
}

func (p *printer) has(s Show) bool { return p.show&s != 0 }

func (p *printer) module(m *Module, opts PrintOptions) {
	switch {
	case opts.full():
		p.linef("ggir %d", FormatVersion)
	case !opts.Bare:
		p.linef("ggir %d\npartial", FormatVersion)
	}
	if p.has(ShowHead) {
		p.head(m)
		p.members(m)
	}
	for _, f := range m.Funcs {
		if opts.Funcs == nil || slices.Contains(opts.Funcs, f.Name) {
			p.function("func", f)
		}
	}
	if p.has(ShowHead) && m.Plan != nil {
		p.plan(m.Plan)
	}
}

func (p *printer) head(m *Module) {
	if m.Name != "" {
		p.linef("module %s", quote(m.Name))
	}
	if m.Last != "" {
		p.linef("after %s", quoteWord(m.Last))
	}
	if m.Props != 0 {
		p.linef("props %v", m.Props)
	}
	for _, h := range m.Headers {
		p.header(h)
	}
	for _, s := range m.Sources {
		p.source(s)
	}
	for _, s := range m.Symbols {
		p.linef("symbol %s %d %d", s.Name, s.Min, s.Max)
	}
	if m.LM != nil {
		p.linef("%s", m.LM.text(m))
	}
	for _, kv := range m.Meta {
		p.linef("meta %s %s", quote(kv.Key), quote(kv.Value))
	}
}

func (p *printer) header(h Header) {
	if slices.Contains(rawHeaders, h.Key) && isRaw(h.Text) {
		p.linef("%s", strings.TrimSpace(h.Key+" "+h.Text))
		return
	}
	p.linef("header %s %s", quote(h.Key), quote(h.Text))
}

// isRaw reports whether text can stand on a line as it is.
func isRaw(text string) bool {
	return utf8.ValidString(text) && text == strings.TrimSpace(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

func (p *printer) source(s *Source) {
	hash := ""
	if s.SHA256 != "" {
		hash = " " + quoteWord(s.SHA256)
	}
	p.linef("source %s %s %d%s", quoteWord(s.Name), quote(s.Path), s.Size, hash)
}

func (p *printer) members(m *Module) {
	for _, w := range m.Weights {
		expr := ""
		if w.Expr != nil {
			expr = " = " + w.Expr.String()
		}
		p.linef("weight %s : %v%s%s", quote(w.Name), w.Type, expr, p.place(w.Place))
	}
	for _, s := range m.States {
		p.linef("state %s : %v%s", quote(s.Name), s.Type, p.place(s.Place))
	}
}

// place returns " at …" for a value's address, if it has one that is to be shown.
func (p *printer) place(pl *Place) string {
	if pl == nil || !p.has(ShowPlace) {
		return ""
	}
	return " at " + pl.String()
}

// String returns the place as the text form shows it: arena, offset and bytes, as in
// 2:0x40+256; the chunk stands behind the arena where it is not the first, as in 2.1.
func (p *Place) String() string {
	if p == nil {
		return "-"
	}
	chunk := ""
	if p.Chunk != 0 {
		chunk = "." + strconv.Itoa(p.Chunk)
	}
	return fmt.Sprintf("%d%s:0x%x+%d", p.Arena, chunk, p.Offset, p.Bytes)
}

// String returns the expression as the text form shows it.
func (e *Expr) String() string {
	switch e.Op {
	case ExprTensor:
		return quoteWord(e.Source) + "[" + quote(e.Tensor) + "]"
	case ExprConcat:
		args := make([]string, len(e.Args))
		for i, a := range e.Args {
			args[i] = a.String()
		}
		return "concat(" + strings.Join(args, ", ") + ")"
	case ExprQuantize:
		return "quantize(" + e.Args[0].String() + ", " + quoteWord(e.To) + ")"
	case ExprPack:
		return "pack(" + e.Args[0].String() + ", " + quoteWord(e.To) + ")"
	case ExprLiteral:
		return `literal "` + hex.EncodeToString(e.Data) + `"`
	}
	return "file " + quote(e.File)
}

// function prints an entry point or, with the keyword body, the body of a node.
func (p *printer) function(keyword string, f *Func) {
	if !p.has(ShowTypes) {
		p.linef("%s @%s", keyword, quoteName(f.Name))
		p.nodes(f)
		return
	}
	p.linef("%s @%s(%s)%s%s {", keyword, quoteName(f.Name), p.params(f), results(f), p.funcKeys(f))
	p.nodes(f)
	p.indent += "  "
	p.linef("%s", strings.TrimSpace("return "+valueNames(f.Results)))
	p.indent = p.indent[2:]
	p.linef("}")
}

func (p *printer) nodes(f *Func) {
	p.indent += "  "
	for _, n := range f.Nodes {
		p.node(n)
	}
	p.indent = p.indent[2:]
}

func (p *printer) params(f *Func) string {
	texts := make([]string, len(f.Params))
	for i, v := range f.Params {
		texts[i] = valueName(v) + ": " + v.Type.String() + p.place(v.Place)
	}
	return strings.Join(texts, ", ")
}

// results returns " -> …", without names where there is one result that has none.
func results(f *Func) string {
	texts := make([]string, len(f.Results))
	for i, v := range f.Results {
		if name := f.resultName(i); name != "" {
			texts[i] = quoteWord(name) + ": "
		}
		if v == nil {
			texts[i] += "?"
			continue
		}
		texts[i] += v.Type.data()
	}
	if len(f.Results) == 1 && f.resultName(0) == "" {
		return " -> " + texts[0]
	}
	return " -> (" + strings.Join(texts, ", ") + ")"
}

func (p *printer) funcKeys(f *Func) string {
	text := ""
	if f.Doc != "" {
		text += " doc=" + quote(f.Doc)
	}
	if f.Epochs != 0 && p.has(ShowPartition) {
		text += fmt.Sprintf(" epochs=%d", f.Epochs)
	}
	if f.HeadBarrier && p.has(ShowPartition) {
		text += " head=barrier"
	}
	return text
}

// valueName returns a value as the text form names it; _ for none.
func valueName(v *Value) string {
	if v == nil {
		return "_"
	}
	return v.String()
}

func valueNames(vs []*Value) string {
	names := make([]string, len(vs))
	for i, v := range vs {
		names[i] = valueName(v)
	}
	return strings.Join(names, ", ")
}

func (p *printer) node(n *Node) {
	if !p.has(ShowTypes) && isLeafOp(n) {
		return
	}
	text := nodeText(n)
	if p.has(ShowTypes) {
		text += nodeTypes(n)
	}
	if tail := p.tail(n) + p.causes(n); tail != "" {
		if !p.has(ShowTypes) {
			text += "  " // the columns of goldens stand apart
		}
		text += tail
	}
	p.linef("%s", text)
	if n.Body != nil {
		p.function("body", n.Body)
	}
}

// isLeafOp reports whether a node is a weight, state or constant: what it is and where it
// lies stands in its type. A foreign leaf is printed like other nodes.
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

// tail returns what passes have decided about a node.
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
	if p.has(ShowPos) && n.Pos != "" {
		b.WriteString(" pos=" + quote(n.Pos))
	}
	if p.has(ShowPlace) {
		b.WriteString(places(n))
	}
	return b.String()
}

// queueText returns where a node is submitted and what it waits for.
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
	b.WriteString(waitText(s.Waits))
	if s.Event != 0 {
		fmt.Fprintf(&b, " event=%d", s.Event)
	}
	return b.String()
}

// waitText returns the events of this step, then those of the step before.
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
	switch part.Mode {
	case PartNone:
		return ""
	case PartSplit:
		tail := ""
		if part.Tail {
			tail = ", tail"
		}
		return fmt.Sprintf(" part=split(%d, %v, %d%s)", part.Axis, part.N, part.Granule, tail)
	}
	return " part=" + part.Mode.String()
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
	if p.has(ShowCauses) {
		for _, c := range n.Causes() {
			text += " ; " + c.String()
		}
	} else if c, ok := n.LastCause(); ok && p.has(ShowCause) {
		text = " ; " + Cause{Rule: c.Rule, Operands: c.Operands}.String()
	}
	return text
}

// String returns the cause as the text form shows it, such as
// assign/1.wgt %w was "cpu" now "gpu0".
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

// causeWord returns s as words joined by hyphens, in quotes where it is none.
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

// causeOperand returns an operand as a name or as words. What a value's String gave is in
// quotes already, where it needs some.
func causeOperand(s string) string {
	if len(s) > 1 && (s[0] == '%' || s[0] == '@') {
		if name, err := strconv.Unquote(s[1:]); err == nil && quote(name) == s[1:] {
			return s
		}
		return s[:1] + quoteName(s[1:])
	}
	return causeWord(s)
}

func (p *printer) plan(plan *Plan) {
	head := "plan"
	if plan.Pipeline > 1 {
		head += fmt.Sprintf(" pipeline=%d", plan.Pipeline)
	}
	if plan.Threads != 0 {
		head += fmt.Sprintf(" threads=%d", plan.Threads)
	}
	if plan.Cut {
		head += " cut=clock"
	}
	p.linef("%s {", head)
	for i := range plan.Arenas {
		p.linef("  %s", plan.Arenas[i].String())
	}
	for _, f := range plan.Funcs {
		p.linef("  func %s barriers=%d nodes=%d parts=%d {", quote(f.Func), f.Barriers, f.Nodes, f.MaxParts)
		for _, s := range f.Splits {
			p.linef("    %s", s.String())
		}
		p.linef("  }")
	}
	p.linef("}")
}

// String returns the arena as the text form shows it.
func (a *Arena) String() string {
	chunks := make([]string, len(a.Chunks))
	for i, c := range a.Chunks {
		chunks[i] = strconv.FormatInt(c, 10)
	}
	return fmt.Sprintf("arena %s %v align=%d chunks=[%s] bound=%d func=%s setters=%s", quoteWord(a.Space), a.Class,
		a.Align, strings.Join(chunks, ","), a.Bound, quote(a.BoundFunc), quotedList(a.Setters))
}

// String returns the split as the text form shows it.
func (s Split) String() string {
	text := "split @" + quoteName(s.Backend)
	if len(s.Inputs) > 0 {
		text += " inputs=" + quotedList(s.Inputs)
	}
	if !s.Cause.Equal(Cause{}) {
		text += " ; " + s.Cause.String()
	}
	return text
}

func quotedList(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = quote(t)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
