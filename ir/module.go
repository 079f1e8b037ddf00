package ir

import (
	"cmp"
	"slices"
	"strings"
)

// Module is a model: weights, persistent states and the functions that share them.
type Module struct {
	Name    string
	Symbols []*Symbol
	Sources []*Source
	Weights []*Weight
	States  []*State
	Funcs   []*Func // entry points; a body is stored at its node

	// LM declares how the module generates tokens; nil if it is not a language model.
	LM *LanguageModel

	// Encoder declares how the module makes embeddings of texts; nil if it is no encoder.
	Encoder *Encoder

	// Meta has notes that passes ignore: keys such as "lm.arch" with text values, in order of
	// insertion.
	Meta []Meta

	// Props are the properties that hold. Last is the pass that ran last, at first "import".
	Props Props
	Last  string

	// Headers are lines of the text form's head that have no meaning here (targets, options). They are
	// kept unchanged.
	Headers []Header

	// Plan is the finished plan; nil before the plan pass has run.
	Plan *Plan

	nextFunc                int
	weightNames, stateNames names
}

// Meta is one entry of Module.Meta.
type Meta struct{ Key, Value string }

// Header is one line of the text form's head: a keyword and the rest of the line, such as {"target",
// "cpu threads=64"} or {"option", "ctx=4096"}.
type Header struct{ Key, Text string }

// Weight is a constant of the module whose bytes come from its sources.
type Weight struct {
	Name  string
	Type  Type
	Expr  *Expr  // how its bytes are made; may be nil in tests
	Place *Place // in the weights arena; set by plan

	Divide *Division // how devices may divide it; pass shard reads and removes it
}

// State is memory that outlives a call, such as a KV cache. Each session has its own instance, which is
// zero at first.
type State struct {
	Name  string
	Type  Type
	Place *Place // in the state arena; set by plan

	Divide *Division // how devices may divide it; pass shard reads and removes it
}

// Symbol returns the symbol of that name, or nil.
func (m *Module) Symbol(name string) *Symbol {
	return find(m.Symbols, func(s *Symbol) bool { return s.Name == name })
}

// AddSymbol declares a symbol; the name must be free.
func (m *Module) AddSymbol(name string, lo, hi int64) *Symbol {
	s := &Symbol{Name: name, Min: lo, Max: hi}
	m.Symbols = append(m.Symbols, s)
	return s
}

// Weight returns the weight of that name, or nil.
func (m *Module) Weight(name string) *Weight {
	return at(m.Weights, indexNamed(&m.weightNames, m.Weights, name, func(w *Weight) string { return w.Name }))
}

// State returns the state of that name, or nil.
func (m *Module) State(name string) *State {
	return at(m.States, indexNamed(&m.stateNames, m.States, name, func(s *State) string { return s.Name }))
}

// Func returns the entry point of that name, or nil.
func (m *Module) Func(name string) *Func {
	return find(m.Funcs, func(f *Func) bool { return f.Name == name })
}

// AddFunc appends an entry point.
func (m *Module) AddFunc(name string) *Func {
	f := m.NewBody(name)
	m.Funcs = append(m.Funcs, f)
	return f
}

// NewBody returns a function that is not an entry point: the body of a node.
func (m *Module) NewBody(name string) *Func {
	f := &Func{ID: m.nextFunc, Name: name, Module: m}
	m.nextFunc++
	return f
}

// AllFuncs returns all functions: each entry point, followed by the bodies of its nodes in order, each
// followed by the bodies in it.
func (m *Module) AllFuncs() []*Func {
	var all []*Func
	var visit func(f *Func)
	visit = func(f *Func) {
		all = append(all, f)
		for _, n := range f.Nodes {
			if n.Body != nil {
				visit(n.Body)
			}
		}
	}
	for _, f := range m.Funcs {
		visit(f)
	}
	return all
}

// entryNames lists the entry points for messages.
func (m *Module) entryNames() string {
	names := make([]string, len(m.Funcs))
	for i, f := range m.Funcs {
		names[i] = "@" + quoteName(f.Name)
	}
	return strings.Join(names, ", ")
}

// GetMeta returns the value of a metadata key; empty where absent.
func (m *Module) GetMeta(key string) string {
	for _, kv := range m.Meta {
		if kv.Key == key {
			return kv.Value
		}
	}
	return ""
}

// SetMeta sets a metadata key.
func (m *Module) SetMeta(key, value string) {
	i := slices.IndexFunc(m.Meta, func(kv Meta) bool { return kv.Key == key })
	if i >= 0 {
		m.Meta[i].Value = value
		return
	}
	m.Meta = append(m.Meta, Meta{key, value})
}

// GetHeaders returns the texts of all headers with that keyword, in order.
func (m *Module) GetHeaders(key string) []string {
	var texts []string
	for _, h := range m.Headers {
		if h.Key == key {
			texts = append(texts, h.Text)
		}
	}
	return texts
}

// SortHeaders orders headers by keyword, keeping the order within each.
func (m *Module) SortHeaders() {
	slices.SortStableFunc(m.Headers, func(a, b Header) int { return cmp.Compare(a.Key, b.Key) })
}

func find[T any](s []*T, ok func(*T) bool) *T {
	return at(s, slices.IndexFunc(s, ok))
}

// at returns element i; nil if i is -1.
func at[T any](s []*T, i int) *T {
	if i < 0 {
		return nil
	}
	return s[i]
}
