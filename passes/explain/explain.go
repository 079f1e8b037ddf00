// Package explain describes in words why a module is as it is, one node or the whole: backends, splits, copies, waits,
// addresses, limits, and what a pin would change. It reads causes, targets and the finished plan, and decides nothing.
package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/assign"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// explainVersion is the version of the JSON form of explanations.
const explainVersion = 2

// Options are the question, and the options under which the module was compiled.
type Options struct {
	Targets *target.List
	Rules   string   // as Options.Rules
	Deny    []string // as Options.Deny

	MaxMemory map[string]int64 // as Options.MaxMemory

	// Node is what to explain: the name of a value (with or without %, or with its function
	// in front, as decode.v11), of a weight, state or tensor, or a position in the model
	// file such as blk.3.ffn; such a name with * for any text; or a split as errors and
	// timelines name it, such as "@prefill split 3[l=2]". A name of a value may end with
	// [l=2], an iteration. Empty asks for a summary.
	Node string
}

// Explanations is the answer to one question, as a document. Sizes are bytes at the symbols' upper bounds, times are
// seconds as the targets' rates predict them.
type Explanations struct {
	Version int      `json:"version"`
	Module  string   `json:"module"`
	After   string   `json:"after"`           // the last pass that has run
	Sizes   []string `json:"sizes,omitempty"` // the symbols at their upper bounds, as tokens=256
	Rules   string   `json:"rules"`
	Targets []string `json:"targets"`
	Query   string   `json:"query,omitempty"`

	Summary *Summary        `json:"summary,omitempty"`
	Splits  []SplitReport   `json:"splits,omitempty"` // that the question names by their label
	Nodes   []*NodeReport   `json:"nodes,omitempty"`
	Members []*MemberReport `json:"members,omitempty"`

	// Calls are the predicted calls of the entry points in a summary.
	Calls []*Call `json:"-"`

	// Notes are what the reader should know about the whole, such as why a plan must not run.
	Notes []string `json:"notes,omitempty"`
}

// WhyCause is a cause with the sentence of its rule.
type WhyCause struct {
	Pass     string   `json:"pass"`
	Rule     string   `json:"rule"`
	Node     string   `json:"node"` // whose cause it is
	Operands []string `json:"operands,omitempty"`
	Before   string   `json:"before,omitempty"`
	After    string   `json:"after,omitempty"`
	Text     string   `json:"text"`
}

// Explain answers a question about a module from what the module records: causes, splits, places. So a dump that was
// read back gives the same answer. It leaves out what no pass has decided yet. Cost: O(nodes + operands), and for one
// node the values of its entry point.
func Explain(m *ir.Module, o Options) (*Explanations, error) {
	x := newExplainer(m, o)
	doc := x.document()
	if o.Node == "" {
		doc.Summary, doc.Calls = x.summary()
		return doc, nil
	}
	found, err := x.find(o.Node)
	if err != nil {
		return nil, err
	}
	if found.split != nil {
		doc.Splits = x.labelled(found.split)
	}
	for _, at := range found.nodes {
		doc.Nodes = append(doc.Nodes, x.node(at))
	}
	for _, v := range found.params {
		doc.Nodes = append(doc.Nodes, x.param(v))
	}
	for _, l := range found.members {
		doc.Members = append(doc.Members, x.member(l))
	}
	doc.Notes = append(doc.Notes, found.notes...)
	return doc, nil
}

// document returns the head of the answer: what the module is, and notes about the whole.
func (x *explainer) document() *Explanations {
	m, o := x.m, x.o
	doc := &Explanations{Version: explainVersion, Module: cmp.Or(m.Name, "the module"), After: m.Last, Rules: x.rules(), Query: o.Node}
	for _, t := range o.Targets.All() {
		doc.Targets = append(doc.Targets, t.Name)
	}
	for _, s := range m.Symbols {
		doc.Sizes = append(doc.Sizes, fmt.Sprintf("%s=%d", s.Name, s.Max))
	}
	if m.Plan != nil && m.Plan.Cut {
		doc.Notes = append(doc.Notes, "--plan-time ended the search for addresses: another run may find other addresses")
	}
	if names := x.unrated(); len(names) > 0 {
		doc.Notes = append(doc.Notes, fmt.Sprintf("the speed of %s is not known: predicted times leave out what runs there", strings.Join(names, ", ")))
	}
	return doc
}

// WriteJSON writes the explanations as one document.
func (d *Explanations) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(d)
}

// explainer has the module and the tables that answers are looked up in.
type explainer struct {
	m      *ir.Module
	o      Options
	uses   map[*ir.Value][]*ir.Node // nodes with the value as an operand, in order, each once
	copied map[*ir.Value][]*ir.Node // those of them that copy it to another space
	begins map[splitKey][]WhyCause  // why splits begin
	times  map[*ir.Func]*history    // of entry points, made when asked for

	weights map[string]*ir.Weight
	states  map[string]*ir.State
	named   map[leafMember][]*ir.Node // the nodes that name each member
	byName  *nameIndex                // made when asked for
	records map[entryEvent]*ir.Node   // made when asked for
}

// entryEvent is an event of an entry point.
type entryEvent struct {
	entry *ir.Func
	event int
}

// splitKey names a split: entry points and bodies count their own.
type splitKey struct {
	f      *ir.Func
	number int
}

func newExplainer(m *ir.Module, o Options) *explainer {
	x := &explainer{
		m: m, o: o,
		uses: make(map[*ir.Value][]*ir.Node), copied: make(map[*ir.Value][]*ir.Node), begins: make(map[splitKey][]WhyCause), times: make(map[*ir.Func]*history),
		weights: make(map[string]*ir.Weight), states: make(map[string]*ir.State), named: make(map[leafMember][]*ir.Node),
	}
	for _, w := range m.Weights {
		x.weights[w.Name] = w
	}
	for _, s := range m.States {
		x.states[s.Name] = s
	}
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			x.index(n)
			if key := (splitKey{f, n.Split}); n.Split >= 0 && x.begins[key] == nil {
				x.begins[key] = causesOf(n, func(c ir.Cause) bool {
					return c.Pass == "split" || c.Rule == string(pass.RuleCopyOut) || c.Rule == string(pass.RuleCopyIdx) || c.Rule == string(pass.RuleCopyVia)
				})
			}
		}
	}
	return x
}

// index notes the operands of n, and what it names.
func (x *explainer) index(n *ir.Node) {
	if m, ok := x.leaf(n); ok {
		x.named[m] = append(x.named[m], n)
	}
	for i, a := range n.Args {
		if a != nil && !slices.Contains(n.Args[:min(i, maxPlainArgs)], a) {
			x.uses[a] = append(x.uses[a], n)
		}
	}
	if flow.IsTransfer(n) {
		x.copied[n.Args[0]] = append(x.copied[n.Args[0]], n)
	}
}

// maxPlainArgs is up to where equal operands are looked for: nodes with more are repeats
// and calls, where one that occurs twice does no harm.
const maxPlainArgs = 8

func (x *explainer) rules() string {
	if x.o.Rules == "" {
		return assign.KnownRuleSets[0].Name
	}
	return x.o.Rules
}

// target returns the target that runs n; nil before assign.
func (x *explainer) target(n *ir.Node) *target.Descriptor { return x.o.Targets.Get(n.Backend) }

// runsOf returns how often the nodes of f run in a call of its entry point.
func runsOf(f *ir.Func) int64 {
	times := int64(1)
	for ; f.Owner != nil; f = f.Owner.Func {
		times *= flow.Iterations(f.Owner)
	}
	return times
}

// causesOf returns the causes of n that take accepts, with the sentences of their rules.
func causesOf(n *ir.Node, take func(ir.Cause) bool) []WhyCause {
	var list []WhyCause
	for _, c := range n.Causes() {
		if take(c) {
			w := withSentence(c)
			w.Node = n.String()
			list = append(list, w)
		}
	}
	return list
}

// withSentence returns a cause with the sentence of its rule.
func withSentence(c ir.Cause) WhyCause {
	_, doc := passes.RuleDoc(c.Rule)
	return WhyCause{Pass: c.Pass, Rule: c.Rule, Operands: c.Operands, Before: c.Before, After: c.After, Text: doc}
}

// byPass accepts the causes of some passes.
func byPass(names ...string) func(ir.Cause) bool {
	return func(c ir.Cause) bool { return slices.Contains(names, c.Pass) }
}
