package explain

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/passes/pass"
)

// WriteText writes the explanations for people.
func (d *Explanations) WriteText(w io.Writer) error {
	t := &explainText{}
	if d.Summary != nil {
		t.line(0, "%s after %s, rules %s, targets %s%s", d.Module, d.After, d.Rules, strings.Join(d.Targets, ", "), sizesText(d.Sizes))
		t.notes(d.Notes)
		t.summary(d.Summary)
	} else {
		t.notes(d.Notes)
	}
	if len(d.Splits) > 0 {
		t.labelled(d.Splits)
	}
	if !t.matches(d) {
		d = &Explanations{} // the list is all
	}
	for _, n := range d.Nodes {
		t.node(n)
	}
	for _, m := range d.Members {
		t.member(m)
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

// explainText writes lines, indented by levels of two blanks.
type explainText struct{ b strings.Builder }

func (t *explainText) line(level int, format string, args ...any) {
	t.b.WriteString(strings.Repeat("  ", level))
	fmt.Fprintf(&t.b, format, args...)
	t.b.WriteByte('\n')
}

// sizesText states the sizes for which figures hold.
func sizesText(sizes []string) string {
	if len(sizes) == 0 {
		return ""
	}
	return "; figures are for " + strings.Join(sizes, ", ")
}

func (t *explainText) notes(notes []string) {
	for _, n := range notes {
		lines := strings.Split(n, "\n")
		if more := len(lines) - maxNoteLines; more > 0 {
			lines = append(lines[:maxNoteLines], fmt.Sprintf("  and %d more", more))
		}
		t.line(0, "note: %s", strings.Join(lines, "\n  "))
	}
}

// maxNoteLines is how much of a long note, such as a list of errors, is shown.
const maxNoteLines = 4

// node writes the report of a node in paragraphs: where and why, what else was possible,
// cost, copies, operands, results.
func (t *explainText) node(n *NodeReport) {
	t.line(0, "%s", n.Text)
	t.line(1, "in @%s%s%s", n.Func, timesText(n.Times, n.Round), fromText(n.Pos))
	if n.Backend != "" {
		word := "on"
		if n.isTransfer { // a queue of either side may run it
			word = "for"
		}
		t.line(1, "runs %s %s%s", word, n.Backend, whyHead(n.Assigned))
		t.assigned(n.Assigned)
	}
	if n.Split >= 0 && n.Op != "" {
		t.line(1, "split %d", n.Split)
		t.causes(2, "begins at", n.SplitWhy)
	}
	if n.partitionDoc != "" {
		t.line(1, "epoch %d: %s", n.Epoch, n.partitionDoc)
		t.causes(2, "because", n.PartWhy)
	}
	t.queue(n)
	t.tried(n)
	t.cost(n)
	t.copies(n)
	t.operands(n.Operands)
	for _, r := range n.Results {
		t.result(n, r)
	}
	t.history(n)
}

// assigned writes the causes of the backend of a node, and the prediction for its step if the node has it.
func (t *explainText) assigned(list []WhyCause) {
	for _, c := range list {
		word := "because"
		if c.Rule == string(pass.RuleAssignStep) {
			word = "of the step:"
		}
		t.line(2, "%s %s", word, c.String())
	}
}

func whyHead(list []WhyCause) string {
	if len(list) == 0 {
		return ": nothing was decided, it follows what reads or makes its operand"
	}
	return ""
}

func timesText(times int64, round *int64) string {
	text := ""
	if times > 1 {
		text = fmt.Sprintf(", which runs %d times a call", times)
	}
	if round != nil {
		text += fmt.Sprintf(", in iteration %d", *round)
	}
	return text
}

func fromText(pos string) string {
	if pos == "" {
		return ""
	}
	return ", from " + pos
}

// causes writes causes, one a line.
func (t *explainText) causes(level int, word string, list []WhyCause) {
	for _, c := range list {
		head := word
		if word == "begins at" {
			head += " " + c.Node + ":"
		}
		t.line(level, "%s %s", head, c.String())
	}
}

// String returns the cause as one line: the sentence of its rule, the rule, what it looked
// at.
func (c WhyCause) String() string {
	text := fmt.Sprintf("%s (%s)", c.Text, c.Rule)
	if c.Text == "" {
		text = c.Rule
	}
	if len(c.Operands) > 0 {
		text += ": " + joinOperands(c.Operands)
	}
	if c.Before != "" && c.After != "" && c.Before != c.After {
		text += fmt.Sprintf("; it was %s and is %s", c.Before, c.After)
	}
	return text
}

// asciiMicro matches times of causes, which are ASCII.
var asciiMicro = regexp.MustCompile(`\b([0-9][0-9.]*(?:e[+-]?[0-9]+)?) us\b`)

// joinOperands lists what a rule looked at: names, or phrases that hold commas themselves. A value and its bytes have
// one name if the value is no view.
func joinOperands(list []string) string {
	list = slices.Compact(slices.Clone(list))
	for i, s := range list {
		list[i] = asciiMicro.ReplaceAllString(s, "$1 µs")
	}
	if slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, " ") }) {
		return strings.Join(list, "; ")
	}
	return strings.Join(list, ", ")
}

func (t *explainText) queue(n *NodeReport) {
	if n.Queue == "" && len(n.Waits)+len(n.Prev) == 0 && n.Event == 0 {
		return
	}
	text := "the host runs it"
	if n.Queue != "" {
		text = "submitted to queue " + n.Queue
	}
	if n.Slots > 1 {
		text += fmt.Sprintf(", %d instances of its results", n.Slots)
	}
	if len(n.Waits) > 0 {
		text += fmt.Sprintf(", waits for %s", n.eventText(n.Waits))
	}
	if len(n.Prev) > 0 {
		text += fmt.Sprintf(", waits for %s of the call before", n.eventText(n.Prev))
	}
	if n.Concurrent {
		text += ", at the same time as the node before it"
	}
	if n.Event != 0 {
		text += fmt.Sprintf(", records event %d", n.Event)
	}
	t.line(1, "%s", text)
}

// eventText names events, each with the node that records it.
func (n *NodeReport) eventText(events []int) string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = fmt.Sprint(e)
		if by := n.recorders[e]; by != "" {
			names[i] += " (" + by + ")"
		}
	}
	if len(names) == 1 {
		return "event " + names[0]
	}
	return "events " + strings.Join(names, ", ")
}

func (t *explainText) tried(n *NodeReport) {
	if len(n.Tried) == 0 {
		return
	}
	t.line(1, "tried")
	for _, a := range n.Tried {
		t.line(2, "%-10s %s", a.Target, a.text())
	}
}

// text returns the answer of a target as a phrase.
func (a Attempt) text() string {
	switch a.Verdict {
	case verdictChosen:
		if a.Why != "" {
			return "chosen, although it cannot run it: " + a.Why
		}
		return "chosen" + inSeconds(a.Seconds)
	case verdictPossible:
		text := "runs it too" + inSeconds(a.Seconds)
		if a.Moving != nil {
			text += "; " + a.Moving.String()
		}
		if a.NoRoom != "" {
			text += "; " + a.NoRoom
		}
		return text
	}
	return a.Verdict + ": " + a.Why
}

// inSeconds is a predicted time as an apposition; empty where none is known.
func inSeconds(s float64) string {
	if s == 0 {
		return ""
	}
	return ", " + pass.SecondsText(s)
}

// String states what moving would change.
func (m *Move) String() string {
	var parts []string
	if m.Added > 0 {
		parts = append(parts, fmt.Sprintf("moving would add %s, %s", plural(int64(m.Added), "copy", "copies"), pass.BytesText(m.AddedBytes)))
	}
	if m.Removed > 0 {
		verb := "save"
		if m.Added == 0 {
			verb = "moving would save"
		}
		parts = append(parts, fmt.Sprintf("%s %s, %s", verb, plural(int64(m.Removed), "copy", "copies"), pass.BytesText(m.RemovedBytes)))
	}
	if m.WeightBytes > 0 {
		parts = append(parts, fmt.Sprintf("its weights, %s, would move there", pass.BytesText(m.WeightBytes)))
	}
	if len(parts) == 0 {
		return "moving would change no copy"
	}
	text := strings.Join(parts, ", ")
	if m.Seconds != 0 {
		text += fmt.Sprintf(" (%s of copying)", signedSeconds(m.Seconds))
	}
	return text
}

func (t *explainText) cost(n *NodeReport) {
	c := n.Cost
	if c == nil {
		return
	}
	text := fmt.Sprintf("costs %s, reads %s, writes %s%s", flopsText(c.FLOPs), pass.BytesText(c.Read), pass.BytesText(c.Written), inSeconds(c.Seconds))
	if c.Times > 1 && c.Step > 0 {
		text += fmt.Sprintf("; %s a call", pass.SecondsText(c.Step))
	}
	t.line(1, "%s (at the largest sizes)", text)
}

func (t *explainText) copies(n *NodeReport) {
	if n.isTransfer {
		t.line(1, "copies between spaces")
		return
	}
	t.copyList("reads copies", n.Reads)
	t.copyList("is copied", n.CopiedBy)
}

func (t *explainText) copyList(head string, list []CopyReport) {
	if len(list) == 0 {
		return
	}
	t.line(1, "%s", head)
	for _, c := range list {
		t.line(2, "%s = %s from %s to %s for %s, %s%s", c.Node, c.Value, c.From, c.To, c.Backend, pass.BytesText(c.Bytes), inSeconds(c.Seconds))
		t.causes(3, "because", c.Causes)
	}
}

func (t *explainText) operands(list []Operand) {
	if len(list) == 0 {
		return
	}
	t.line(1, "reads")
	for _, o := range list {
		t.line(2, "%s", o.text())
		t.causes(3, "because", o.Why)
	}
}

func (o Operand) text() string {
	text := fmt.Sprintf("%s: %s, %s", o.Value, strings.Split(o.Type, " @")[0], pass.BytesText(o.Bytes))
	if o.Space != "" {
		text += " in " + o.Space
	}
	if o.Of != "" {
		text += ", shares the bytes of " + o.Of
	}
	return text
}

// result writes a value and its place.
func (t *explainText) result(n *NodeReport, o Operand) {
	if n.Op == "" {
		t.line(1, "%s", o.text())
	} else {
		t.line(1, "makes %s", o.text())
	}
	t.place(2, o.Place)
}

func (t *explainText) place(level int, p *PlaceReport) {
	if p == nil {
		return
	}
	chunk := ""
	if p.Chunk > 0 {
		chunk = fmt.Sprintf(" of chunk %d", p.Chunk)
	}
	t.line(level, "placed in %s %s at %#x%s, %s: %s", p.Space, p.Class, p.Offset, chunk, pass.BytesText(p.Bytes), p.Why)
	if p.From != "" {
		t.line(level, "needed from %s to %s", p.From, p.Until)
	}
	t.residents(level, "before it", p.Before)
	t.residents(level, "after it", p.After)
}

func (t *explainText) residents(level int, word string, list []Resident) {
	for _, o := range list {
		t.line(level, "%s %s has the bytes: %s at %#x, from %s to %s", word, "%"+o.Value, pass.BytesText(o.Bytes), o.Offset, o.From, o.Until)
	}
}

// history writes the causes that no paragraph above has written.
func (t *explainText) history(n *NodeReport) {
	for _, c := range n.Causes {
		switch c.Pass {
		case "spread", "assign", "unfuse", "split", "partition", "roll", "order", "plan":
		default:
			t.line(1, "%s: %s", c.Pass, c.String())
		}
	}
}

func (t *explainText) member(m *MemberReport) {
	t.line(0, "%s %q: %s, %s", m.Kind, m.Name, strings.Split(m.Type, " @")[0], pass.BytesText(m.Bytes))
	switch {
	case m.There != "":
		t.line(1, "in %s: %s", m.Space, m.There)
	case m.Space != "":
		t.line(1, "in %s", m.Space)
	}
	t.place(1, m.Place)
	if m.Made != "" {
		t.line(1, "made of %s", m.Made)
	}
	t.causes(1, "because", m.Causes)
	for _, r := range m.Readers {
		verb := "read by"
		if r.Writes {
			verb = "written by"
		}
		on := ""
		if r.Backend != "" {
			on = " on " + r.Backend
		}
		t.line(1, "%s %s (%s)%s in @%s%s%s", verb, r.Node, r.Op, on, r.Func, timesText(1, r.Round), fromText(r.Pos))
	}
	t.copyList("is copied", m.Copies)
}

func flopsText(n int64) string {
	units := []string{"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"}
	x, i := float64(n), 0
	for ; x >= 10000 && i < len(units)-1; i++ {
		x /= 1000
	}
	return fmt.Sprintf("%.4g %s", x, units[i])
}

func signedSeconds(s float64) string {
	switch {
	case s == 0:
		return "no difference"
	case s < 0:
		return pass.SecondsText(math.Abs(s)) + " less"
	}
	return pass.SecondsText(s) + " more"
}
