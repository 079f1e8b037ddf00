package passes

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// explainVersion is the version of the JSON form of explanations.
const explainVersion = 1

// Explanation is why a node is as it is.
type Explanation struct {
	Func    string     `json:"func"`
	Node    string     `json:"node"`
	Op      string     `json:"op"`
	Pos     string     `json:"pos,omitempty"` // where in the model file it comes from
	Backend string     `json:"backend,omitempty"`
	Split   int        `json:"split"`
	Causes  []WhyCause `json:"causes"` // in the order in which they were given
}

// WhyCause is a cause with the sentence of its rule.
type WhyCause struct {
	Pass     string   `json:"pass"`
	Rule     string   `json:"rule"`
	Operands []string `json:"operands,omitempty"`
	Before   string   `json:"before,omitempty"`
	After    string   `json:"after,omitempty"`
	Text     string   `json:"text"`
}

// Explanations is the answer to one question, as a document.
type Explanations struct {
	Version int           `json:"version"`
	Module  string        `json:"module"`
	Nodes   []Explanation `json:"nodes"`
}

// Explain returns the causes of the nodes that have a result named node (with or without
// the %), or that come from that place in the model file. With an empty node it explains
// all that have causes.
func Explain(m *ir.Module, node string) (*Explanations, error) {
	node = strings.TrimPrefix(node, "%")
	doc := &Explanations{Version: explainVersion, Module: m.Name}
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if node == "" && len(n.Causes) > 0 || node != "" && isNamed(n, node) {
				doc.Nodes = append(doc.Nodes, explainNode(f, n))
			}
		}
	}
	if len(doc.Nodes) == 0 && node != "" {
		return nil, fmt.Errorf("module %s has no node %q: ggmlc dump shows their names", m.Name, node)
	}
	return doc, nil
}

func isNamed(n *ir.Node, name string) bool {
	for _, r := range n.Results {
		if r.Name == name {
			return true
		}
	}
	return n.Pos == name
}

func explainNode(f *ir.Func, n *ir.Node) Explanation {
	x := Explanation{Func: f.Name, Node: n.String(), Op: n.Op.String(), Pos: n.Pos, Backend: n.Backend, Split: n.Split}
	for _, c := range n.Causes {
		_, doc := RuleDoc(c.Rule)
		x.Causes = append(x.Causes, WhyCause{c.Pass, c.Rule, c.Operands, c.Before, c.After, doc})
	}
	return x
}

// WriteJSON writes the explanations as one document.
func (d *Explanations) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(d)
}

// WriteText writes the explanations for people: a line for each node, and one below it for
// each cause.
func (d *Explanations) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, x := range d.Nodes {
		fmt.Fprintf(&b, "@%s %s = %s", x.Func, x.Node, x.Op)
		if x.Backend != "" {
			fmt.Fprintf(&b, " on %s", x.Backend)
		}
		if x.Pos != "" {
			fmt.Fprintf(&b, ", from %s", x.Pos)
		}
		b.WriteByte('\n')
		for _, c := range x.Causes {
			b.WriteString("  " + c.String() + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// String returns the cause as one line.
func (c WhyCause) String() string {
	text := fmt.Sprintf("%s %s: %s", c.Pass, c.Rule, c.Text)
	if len(c.Operands) > 0 {
		text += " (" + strings.Join(c.Operands, ", ") + ")"
	}
	if c.Before != "" || c.After != "" {
		text += fmt.Sprintf(": %s -> %s", orNone(c.Before), orNone(c.After))
	}
	return text
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
