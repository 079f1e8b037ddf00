package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/shard"
)

// summary writes a summary in paragraphs: what each entry point takes, how memory is used, which decisions take most
// time.
func (t *explainText) summary(s *Summary) {
	for _, text := range s.Head {
		t.line(0, "%s", text)
	}
	for _, e := range s.Entries {
		t.entry(e)
	}
	if len(s.Arenas) > 0 {
		t.line(0, "memory: %s", spacesText(s.Spaces))
	}
	for _, a := range s.Arenas {
		t.arena(a)
	}
	if s.Rings != nil {
		t.ringStates(s.Rings)
	}
	if s.Rounded != nil {
		t.roundedWeights(s.Rounded)
	}
	if len(s.Expensive) > 0 {
		t.line(0, "the most expensive decisions, by their share of the predicted time of their function, and what would change each")
	}
	for i, d := range s.Expensive {
		t.decision(i+1, d)
	}
}

func (t *explainText) entry(e *EntrySummary) {
	t.line(0, "@%s: %s run%s%s", e.Func, plural(e.Nodes, "node", "nodes"), copiesAmong(e), predicted(e))
	if g := e.Group; g != nil {
		t.group(g)
	}
	for _, b := range e.Backends {
		t.line(1, "%-10s %s, %s, %s moved%s", b.Target, plural(b.Nodes, "node", "nodes"), flopsText(b.FLOPs), pass.BytesText(b.Bytes), inSeconds(b.Seconds))
	}
	t.splits(e.Splits)
	if c := e.Copies; c != nil && len(e.Backends) > 0 && c.Count+c.Bound > 0 {
		t.copySummary(c)
	}
	if e.Barriers != nil {
		t.line(1, "%s%s", plural(*e.Barriers, "barrier", "barriers"), inSeconds(e.BarrierSeconds))
	}
}

// group writes what the devices of a group send each other, and what other ways would take.
func (t *explainText) group(g *shard.Figures) {
	t.line(1, "group %s: %s added up, %s gathered: %s, %s", g.Group, plural(g.Sums, "value", "values"), plural(g.Gathers, "value", "values"),
		plural(g.Messages, "message", "messages"), pass.BytesText(g.Bytes))
	t.line(2, "ggml's exchange for the same sums: %s, %s", plural(g.GGMLMessages, "message", "messages"), pass.BytesText(g.GGMLBytes))
	for _, o := range g.Orders {
		t.line(2, "%s", orderText(o, g.Sums))
	}
	for _, why := range g.Whole {
		t.line(2, "weights and states that are not divided: %s", why)
	}
	if g.Seconds > 0 && g.Layers > 0 {
		t.line(2, "predicted: %s, and %s with layers on one device each", pass.SecondsText(g.Seconds), pass.SecondsText(g.Layers))
	}
	for _, c := range g.Choices {
		t.line(2, "%s: %s", c.Block, strings.Join(c.Text(), ", "))
	}
}

// orderText states how many sums have an order, and what all would take in it.
func orderText(o shard.OrderFigures, sums int64) string {
	text := fmt.Sprintf("order %-6s %d of %s; all in it: %s, %s", o.Order, o.Sums, plural(sums, "sum", "sums"), plural(o.Messages, "message", "messages"), pass.BytesText(o.Bytes))
	if o.Seconds > 0 {
		text += ", " + pass.SecondsText(o.Seconds)
	}
	return text
}

// copiesAmong returns how many of the nodes that run are copies. Splits do not count these.
func copiesAmong(e *EntrySummary) string {
	switch {
	case e.Copies == nil || e.Copies.Count == 0:
		return ""
	case e.Copies.Count == 1:
		return ", 1 of them a copy"
	}
	return fmt.Sprintf(", %d of them copies", e.Copies.Count)
}

// predicted returns the time of all nodes that the lines below list, one after the other. Shares of decisions refer to
// it. Devices with queues work in parallel, so a step may take less.
func predicted(e *EntrySummary) string {
	if e.Seconds == 0 {
		return ""
	}
	return ", " + pass.SecondsText(e.Seconds) + " if all run one after the other"
}

// maxSplitLines is how many splits a summary lists; of more it counts those of
// each cause.
const maxSplitLines = 12

func (t *explainText) splits(list []SplitReport) {
	if len(list) == 0 {
		return
	}
	var runs int64
	for _, s := range list {
		runs += s.Times
	}
	t.line(1, "%s", plural(runs, "split", "splits"))
	// In plan order: splits of a body are at the place of its repeat.
	shown := slices.SortedStableFunc(slices.Values(list), func(a, b SplitReport) int { return cmp.Compare(a.Number, b.Number) })
	shown = shown[:min(len(list), maxSplitLines)]
	if len(shown) < len(list) {
		t.splitCauses(list)
	}
	for _, s := range shown {
		t.split(s)
	}
	if len(shown) < len(list) {
		t.line(2, "… (--json lists all)")
	}
}

func (t *explainText) splitCauses(list []SplitReport) {
	count := make(map[string]int64)
	var order []WhyCause
	for _, s := range list {
		for _, c := range s.Causes {
			if count[c.Rule] == 0 {
				order = append(order, c)
			}
			count[c.Rule] += s.Times
		}
	}
	for _, c := range order {
		t.line(2, "%d because %s (%s)", count[c.Rule], c.Text, c.Rule)
	}
}

func (t *explainText) split(s SplitReport) {
	id := fmt.Sprint(s.Number)
	if s.Times > 1 {
		id += "[l]"
	}
	text := fmt.Sprintf("%s on %s: %s%s from %s", id, s.Backend, plural(int64(s.Nodes), "node", "nodes"), repeatedRuns(s), s.First)
	if s.Times > 1 {
		text += fmt.Sprintf(", %d times", s.Times)
	}
	if len(s.Inputs) > 0 {
		text += fmt.Sprintf("; copies in %s (%s)", firstFew(s.Inputs), pass.BytesText(s.Bytes))
	}
	if len(s.Causes) == 0 {
		text += "; the backend stays: the iterations of a repeat begin or end here"
	}
	for _, c := range s.Causes {
		text += "; " + c.Text + " (" + c.Rule + ")"
		if c.Rule == string(pass.RuleSplitWgt) || c.Rule == string(pass.RuleSplitMax) {
			text += ": " + strings.Join(c.Operands, ", ")
		}
	}
	t.line(2, "%s", text)
}

// repeatedRuns returns how often the nodes of a split run in a call if those of a body run several times.
func repeatedRuns(s SplitReport) string {
	if s.Runs == int64(s.Nodes)*s.Times {
		return ""
	}
	return fmt.Sprintf(" (%d runs with all iterations)", s.Runs)
}

func firstFew(names []string) string {
	if len(names) > maxSamples {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxSamples], ", "), len(names)-maxSamples)
	}
	return strings.Join(names, ", ")
}

func (t *explainText) copySummary(c *CopySummary) {
	t.line(1, "%s, %s a call%s; lower bound %s (each value once per space that reads it)", plural(c.Count, "copy", "copies"), pass.BytesText(c.Bytes), inSeconds(c.Seconds), pass.BytesText(c.Bound))
	if c.Apart > 0 {
		t.line(2, "%s (copy.apart): a limit of memory leaves no room to keep an earlier one", plural(c.Apart, "is made again", "are made again"))
	}
	if len(c.Needless) > 0 {
		t.line(2, "%s that the plan could do without", plural(int64(len(c.Needless)), "copy", "copies"))
	}
	for i, n := range c.Needless {
		if i == maxSamples {
			t.line(3, "… (--json lists all)")
			break
		}
		t.line(3, "%s = %s to %s, %s: %s", n.Node, n.Value, n.To, pass.BytesText(n.Bytes), n.Because)
	}
}

func (t *explainText) arena(a ArenaSummary) {
	text := fmt.Sprintf("%-8s %-11s %s", a.Space, a.Class, pass.BytesText(a.Bytes))
	if a.Chunks > 1 {
		text += fmt.Sprintf(" in %d chunks", a.Chunks)
	}
	switch {
	case a.Bytes == a.Bound:
		text += ", which is the lower bound"
	case a.Bound > 0:
		text += fmt.Sprintf(", %s above the lower bound of %s", pass.BytesText(a.Bytes-a.Bound), pass.BytesText(a.Bound))
	}
	t.line(1, "%s", text)
	if len(a.Setters) > 0 {
		t.line(2, "set in @%s by what is live at once%s: %s", a.BoundFunc, instancesText(a.Setters), setterText(a.Setters))
	}
}

// maxSetters is how many of the values that set a bound a line names.
const maxSetters = 6

func setterText(list []Setter) string {
	var parts []string
	for i, s := range list {
		if i == maxSetters {
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%%%s %s%s", s.ID, slotsText(s.Slots), pass.BytesText(s.Bytes)))
	}
	return strings.Join(parts, ", ")
}

// spacesText states what the plan takes of each space.
func spacesText(list []SpaceSummary) string {
	var parts []string
	for _, s := range list {
		parts = append(parts, s.Space+" "+pass.BytesText(s.Bytes))
	}
	return strings.Join(parts, ", ")
}

// instancesText states for how many steps the setters of a bound have instances; empty if they have one.
func instancesText(list []Setter) string {
	most := 0
	for _, s := range list {
		most = max(most, s.Slots)
	}
	if most == 0 {
		return ""
	}
	return fmt.Sprintf(" with %d steps under way", most)
}

// slotsText returns "2 × " for two instances; empty for one.
func slotsText(slots int) string {
	if slots == 0 {
		return ""
	}
	return fmt.Sprintf("%d × ", slots)
}

func (t *explainText) decision(i int, d Decision) {
	nodes := ""
	if len(d.Nodes) > 0 {
		nodes = " (such as " + strings.Join(d.Nodes, ", ") + ")"
	}
	t.line(1, "%d. @%s: %s%s%s, %.0f %% of it", i, d.Func, d.What, nodes, inSeconds(d.Seconds), 100*d.Share)
	t.line(2, "because %s", d.Because)
	for _, c := range d.Change {
		t.line(2, "alternative: %s", c)
	}
}
