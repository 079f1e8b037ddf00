package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/passes/pass"
)

// A question may name many nodes, such as those of a layer. Of more than manyMatches there is a list first, and of more
// than maxDetailed there is nothing else.
const (
	manyMatches = 3
	maxDetailed = 8
	maxMatches  = 60 // lines of the list
)

// matches writes a list of what a question has found if that is a lot. It reports whether each of them is written in
// full after that.
func (t *explainText) matches(d *Explanations) bool {
	count := len(d.Nodes) + len(d.Members)
	if d.Query == "" || count <= manyMatches {
		return true
	}
	t.line(0, "%s: %s", d.Query, matchCount(d))
	for _, s := range matchShares(d.Nodes) {
		t.line(1, "%s", s)
	}
	rows := matchRows(d)
	for _, r := range rows[:min(len(rows), maxMatches)] {
		t.line(1, "%s", r)
	}
	if more := len(rows) - maxMatches; more > 0 {
		t.line(1, "… %d more (--json lists all)", more)
	}
	if count > maxDetailed {
		t.line(0, "explain tells all about each by its name")
		return false
	}
	return true
}

// matchCount is what kinds of things were found.
func matchCount(d *Explanations) string {
	var kinds []string
	count := make(map[string]int64)
	note := func(kind string) {
		if count[kind] == 0 {
			kinds = append(kinds, kind)
		}
		count[kind]++
	}
	for _, n := range d.Nodes {
		if n.Op == "" {
			note("parameter")
		} else {
			note("node")
		}
	}
	for _, m := range d.Members {
		note(m.Kind)
	}
	var parts []string
	for _, k := range kinds {
		parts = append(parts, plural(count[k], k, k+"s"))
	}
	return strings.Join(parts, ", ")
}

// matchShares sums nodes up by function and backend: how many there are, and the time that they take in a call of its
// entry point, or in the iteration that was asked for.
func matchShares(nodes []*NodeReport) []string {
	type key struct{ f, backend string }
	type share struct {
		nodes   int64
		seconds float64
	}
	var order []key
	shares := make(map[key]*share)
	for _, n := range nodes {
		if n.Backend == "" || n.Cost == nil {
			continue
		}
		k := key{n.Func, n.Backend}
		if shares[k] == nil {
			shares[k] = &share{}
			order = append(order, k)
		}
		shares[k].nodes++
		shares[k].seconds += n.matchSeconds()
	}
	var list []string
	for _, k := range order {
		list = append(list, fmt.Sprintf("in @%s: %s on %s%s", k.f, plural(shares[k].nodes, "node", "nodes"), k.backend, inSeconds(shares[k].seconds)))
	}
	return list
}

// matchSeconds returns the time of a node in the iteration that was asked for, or in all of a call.
func (n *NodeReport) matchSeconds() float64 {
	switch {
	case n.Cost == nil:
		return 0
	case n.Round != nil:
		return n.Cost.Seconds
	}
	return n.Cost.Step
}

// matchRows are the rows of the list: name, op, backend, time and origin, in columns.
func matchRows(d *Explanations) []string {
	var rows [][]string
	for _, n := range d.Nodes {
		id := n.Func + "." + strings.TrimPrefix(n.Node, "%")
		if n.Round != nil {
			id += fmt.Sprintf("[l=%d]", *n.Round)
		}
		time := ""
		if s := n.matchSeconds(); s > 0 {
			time = pass.SecondsText(s)
		}
		rows = append(rows, []string{id, orWord(n.Op, "parameter"), n.Backend, time, n.Pos})
	}
	for _, m := range d.Members {
		rows = append(rows, []string{m.Name, m.Kind, m.Space, pass.BytesText(m.Bytes), ""})
	}
	return aligned(rows)
}

func orWord(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// maxColumn is the widest that a column makes the others move.
const maxColumn = 40

// aligned joins cells to lines, in columns.
func aligned(rows [][]string) []string {
	var widths []int
	for _, r := range rows {
		for i, c := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = min(max(widths[i], len([]rune(c))), maxColumn)
		}
	}
	lines := make([]string, 0, len(rows))
	for _, r := range rows {
		var b strings.Builder
		for i, c := range r {
			if widths[i] > 0 {
				fmt.Fprintf(&b, "%-*s  ", widths[i], c)
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return slices.Clip(lines)
}

// labelled writes the splits that a label names.
func (t *explainText) labelled(list []SplitReport) {
	for _, s := range list {
		t.line(0, "in @%s", s.Func)
		t.split(s)
	}
}
