package shard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Choice is how a block of all layers is had by a group, of several ways that were compared. A block is a dimension of
// the model with all weights and states that are divided along it: heads, the inner dimension of feed-forward layers,
// the vocabulary.
type Choice struct {
	Block string `json:"block"`
	Way   Way    `json:"way"`

	Seconds float64    `json:"seconds"` // predicted, per token
	Others  []WayTaken `json:"others"`  // the ways that were not chosen
}

// WayTaken is a way that a block could be had, with the shortest predicted time in which it is.
type WayTaken struct {
	Way     Way     `json:"way"`
	Seconds float64 `json:"seconds,omitempty"` // per token; 0 if the devices' memories are too small
}

// Way is a way in which a group can have a block.
type Way string

const (
	WayDivided  Way = "divided"  // along the dimension
	WayColumns  Way = "columns"  // along the other dimension of its only matrix
	WayMirrored Way = "mirrored" // not
)

// maxTried bounds the combinations that are compared.
const maxTried = 256

var layerPrefix = regexp.MustCompile(`^blk\.\d+\.`)

// blockOf returns the block of a dimension: its name without the number of the layer. Layers are divided alike, so that
// they stay one function.
func blockOf(d *ir.Division) string { return layerPrefix.ReplaceAllString(d.Name, "") }

// blocksOf returns the blocks that the user's rules leave to the predicted time, in order of the module, and the ways
// of each.
func blocksOf(m *ir.Module, rules []pass.ShardRule) (blocks []string, ways map[string][]Way) {
	ways = make(map[string][]Way)
	matrices := make(map[string]int) // by dimension
	for _, l := range leavesOf(m) {
		if d := l.divide; d != nil && (l.state || l.typ.Rank() > 1) {
			matrices[d.Name]++
		}
	}
	for _, l := range leavesOf(m) {
		if l.divide == nil || !leftToCost(rules, l.name) || ways[blockOf(l.divide)] != nil {
			continue
		}
		list := []Way{WayDivided, WayMirrored}
		if !l.state && l.typ.Rank() == 2 && l.divide.Axis == 0 && matrices[l.divide.Name] == 1 {
			list = []Way{WayDivided, WayColumns, WayMirrored}
		}
		blocks = append(blocks, blockOf(l.divide))
		ways[blockOf(l.divide)] = list
	}
	return blocks, ways
}

// leftToCost reports whether the first rule that matches a name leaves its state to the predicted time.
func leftToCost(rules []pass.ShardRule, name string) bool {
	i := slices.IndexFunc(rules, func(r pass.ShardRule) bool { return r.Match.MatchString(name) })
	return i >= 0 && rules[i].Cost
}

// chooser compares ways by predicted time.
type chooser struct {
	options
	m       *ir.Module
	members []*target.Descriptor
	share   []float64
	rules   []pass.ShardRule

	best  map[string]map[Way]float64 // by block and way: the shortest time of all combinations with it
	taken combination                // with the shortest time of all
	least float64

	unfit bool  // some combination does not fit in the members' memories
	err   error // the first one of a combination that cannot be written out
}

// combination has a way for each block that is left to the predicted time.
type combination map[string]Way

// chooseWays returns the combination of ways of the shortest predicted time among those for which the members' memories
// are large enough, and what was compared. Of equal ones it is the first: divided before mirrored.
func chooseWays(m *ir.Module, members []*target.Descriptor, share []float64, rules []pass.ShardRule, o *options) (combination, []Choice, error) {
	blocks, ways := blocksOf(m, rules)
	if len(blocks) == 0 {
		return nil, nil, nil
	}
	if !known(members) {
		return nil, nil, fmt.Errorf("--shard %v: the rates of the devices are not known: ggmlc devices --measure writes them", costRule(rules))
	}
	n := 1
	for _, b := range blocks {
		if n *= len(ways[b]); n > maxTried {
			return nil, nil, fmt.Errorf("--shard %v: %d blocks have more than %d combinations: leave fewer to cost", costRule(rules), len(blocks), maxTried)
		}
	}
	x := &chooser{m: m, members: members, share: share, rules: rules, best: make(map[string]map[Way]float64)}
	x.devices, x.pins, x.orders, x.fixed = o.devices, o.pins, o.orders, o.fixed
	x.place = func(n *ir.Node, j int, _ bool) { n.Backend = members[j].Name }
	x.try(blocks, ways, combination{})
	switch {
	case x.taken == nil && x.unfit:
		return nil, nil, fmt.Errorf("--shard %v: the memories of the devices are too small for every way: quantize weights, or add devices", costRule(rules))
	case x.taken == nil:
		return nil, nil, x.err
	}
	return x.taken, x.choices(blocks, ways), nil
}

func costRule(rules []pass.ShardRule) pass.ShardRule {
	return rules[slices.IndexFunc(rules, func(r pass.ShardRule) bool { return r.Cost })]
}

// try evaluates all combinations that begin with c.
func (x *chooser) try(blocks []string, ways map[string][]Way, c combination) {
	if len(blocks) > 0 {
		for _, w := range ways[blocks[0]] {
			c[blocks[0]] = w
			x.try(blocks[1:], ways, c)
		}
		return
	}
	seconds, fits, err := x.seconds(c)
	switch {
	case err != nil:
		x.err = cmp.Or(x.err, err)
		return
	case !fits:
		x.unfit = true
		return
	}
	for b, w := range c {
		if x.best[b] == nil {
			x.best[b] = make(map[Way]float64)
		}
		if t, tried := x.best[b][w]; !tried || seconds < t {
			x.best[b][w] = seconds
		}
	}
	if x.taken == nil || seconds < x.least {
		x.taken, x.least = combination{}, seconds
		for b, w := range c {
			x.taken[b] = w
		}
	}
}

// choices returns what was compared.
func (x *chooser) choices(blocks []string, ways map[string][]Way) []Choice {
	var list []Choice
	for _, b := range blocks {
		c := Choice{Block: b, Way: x.taken[b], Seconds: x.least}
		for _, w := range ways[b] {
			if w != c.Way {
				c.Others = append(c.Others, WayTaken{w, x.best[b][w]})
			}
		}
		list = append(list, c)
	}
	return list
}

// seconds returns the predicted time of a token in a combination; fits is false if the members' memories are too small.
func (x *chooser) seconds(c combination) (_ float64, fits bool, err error) {
	m := x.m.Clone()
	o := x.options
	if o.given, err = statesIn(m, x.share, x.rules, c); err != nil {
		return 0, false, err
	}
	if _, err := divide(m, o); err != nil {
		return 0, false, err
	}
	if err := writeOut(m, o); err != nil {
		return 0, false, err
	}
	if !x.fits(m) {
		return 0, false, nil
	}
	total, often := 0.0, flow.StepWeights(m.Funcs)
	for _, f := range m.Funcs {
		total += often[f] * duration(f, x.members)
	}
	return total, true, nil
}

// fits reports whether the weights and states of each device fit in its memory. What has no device is stored on the
// first.
func (x *chooser) fits(m *ir.Module) bool {
	bytes := make([]int64, len(x.members))
	for _, l := range leavesOf(m) {
		i := strings.LastIndexByte(l.name, '@')
		at, err := strconv.Atoi(l.name[i+1:])
		if i < 0 || err != nil || at >= len(bytes) {
			at = 0
		}
		bytes[at] += l.typ.MaxBytes()
	}
	for j, t := range x.members {
		if t.Memory > 0 && bytes[j] > t.Memory {
			return false
		}
	}
	return true
}

// choicesKey is the key of the note that keeps choices in the module.
const choicesKey = "shard.choices"

// keepChoices keeps choices in the module.
func keepChoices(m *ir.Module, choices []Choice) {
	text, err := json.Marshal(choices)
	if err == nil {
		m.SetMeta(choicesKey, string(text))
	}
}

// ChoicesOf returns what pass shard has compared, block by block; nil if it has nothing.
func ChoicesOf(m *ir.Module) (choices []Choice) {
	if json.Unmarshal([]byte(m.GetMeta(choicesKey)), &choices) != nil {
		return nil
	}
	return choices
}

// words returns the choice as the operands of a cause: the block, and each way with its predicted time.
func (c *Choice) words() []string {
	words := []string{c.Block}
	for _, w := range append([]WayTaken{{c.Way, c.Seconds}}, c.Others...) {
		time := "unfit"
		if w.Seconds > 0 {
			time = strconv.FormatFloat(w.Seconds*1e6, 'g', 3, 64) + "us"
		}
		words = append(words, fmt.Sprintf("%s=%s", w.Way, time))
	}
	return words
}

// Text returns the way of a choice and its predicted time for a token, then the same of the others.
func (c *Choice) Text() []string {
	words := []string{fmt.Sprintf("%s %s", c.Way, pass.SecondsText(c.Seconds))}
	for _, o := range c.Others {
		time := "does not fit"
		if o.Seconds > 0 {
			time = pass.SecondsText(o.Seconds)
		}
		words = append(words, fmt.Sprintf("%s %s", o.Way, time))
	}
	return words
}
