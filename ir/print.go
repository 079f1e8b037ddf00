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

// String returns the lossless text form of m.
func (m *Module) String() string {
	p := printer{show: ShowAll}
	p.module(m, PrintOptions{Show: ShowAll})
	return p.b.String()
}

// Print writes the text form of m. With ShowAll and all functions it is lossless. A narrower text
// begins with "partial", unless Bare is set. Without types it is the short form of goldens: functions
// have no parameters, and leaf nodes are omitted.
func Print(w io.Writer, m *Module, opts PrintOptions) error {
	p := printer{show: opts.Show, only: opts.Only}
	p.module(m, opts)
	_, err := io.WriteString(w, p.b.String())
	return err
}

type printer struct {
	b      strings.Builder
	show   Show
	only   func(*Node) bool // nil means all nodes
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
	if m.Encoder != nil {
		p.linef("%s", m.Encoder.text(m))
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

// isRaw reports whether text needs no quotes on a header line.
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
		p.linef("weight %s : %v%s%s", quote(w.Name), w.Type, expr, p.division(w.Divide)+p.place(w.Place))
	}
	for _, s := range m.States {
		p.linef("state %s : %v%s", quote(s.Name), s.Type, p.division(s.Divide)+p.place(s.Place))
	}
}

// place returns " at …" for an address if it has to be shown.
func (p *printer) place(pl *Place) string {
	if pl == nil || !p.has(ShowPlace) {
		return ""
	}
	return " at " + pl.String()
}

// String returns the place in the text form: arena, offset and bytes, as in 2:0x40+256. A chunk other
// than the first follows the arena, as in 2.1:0x40+256.
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

// String returns the expression in the text form.
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
	case ExprExpand:
		return "expand(" + e.Args[0].String() + ", " + quoteWord(e.To) + ")"
	case ExprPack:
		return "pack(" + e.Args[0].String() + ", " + quoteWord(e.To) + ")"
	case ExprRows:
		return fmt.Sprintf("rows(%v, %d, %d)", e.Args[0], e.First, e.Count)
	case ExprColumns:
		return fmt.Sprintf("columns(%v, %d, %d)", e.Args[0], e.First, e.Count)
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
	if p.has(ShowShard) {
		for _, parts := range f.Parts {
			p.linef("%v", parts)
		}
	}
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

// results returns " -> …", without names if there is one result without a name.
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
	if f.Observed != nil {
		text += " observed=" + quotedList(f.Observed)
	}
	if f.Epochs != 0 && p.has(ShowPartition) {
		text += fmt.Sprintf(" epochs=%d", f.Epochs)
	}
	if f.HeadBarrier && p.has(ShowPartition) {
		text += " head=barrier"
	}
	return text
}

// valueName returns a value in the text form; _ for nil.
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

func quotedList(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = quote(t)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
