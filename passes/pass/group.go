package pass

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ggmlc/ggmlc/ir"
)

// Group is several targets that compute each node together.
type Group struct {
	Name    string
	Members []string  // names of targets, in order
	Shares  []float64 // of the work, by member; nil: by their memory and speed
}

// ParseGroup reads NAME=A*3,B*1 or NAME=A,B.
func ParseGroup(text string) (*Group, error) {
	name, list, ok := strings.Cut(text, "=")
	if !ok || name == "" || list == "" {
		return nil, fmt.Errorf("group %q: write NAME=TARGET*SHARE,TARGET*SHARE", text)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return nil, fmt.Errorf("group %q: its name has spaces or control characters: choose another", text)
	}
	g := &Group{Name: name}
	for word := range strings.SplitSeq(list, ",") {
		member, share, has := strings.Cut(strings.TrimSpace(word), "*")
		if member == "" {
			return nil, fmt.Errorf("group %q: a member has no name", text)
		}
		g.Members = append(g.Members, member)
		if !has {
			continue
		}
		x, err := strconv.ParseFloat(share, 64)
		if err != nil || !(x >= 0 && x <= maxShare) {
			return nil, fmt.Errorf("group %q: the share %q of %s is no number from 0 to %g", text, share, member, maxShare)
		}
		g.Shares = append(g.Shares, x)
	}
	return g, g.check()
}

// maxShare is the largest share that a member can have.
const maxShare = 1e9

// check reports a group that no values can be divided over.
func (g *Group) check() error {
	sum := 0.0
	for _, s := range g.Shares {
		sum += s
	}
	switch {
	case len(g.Members) < 2:
		return fmt.Errorf("group %s has one member: it needs two or more", g.Name)
	case len(g.Shares) > 0 && len(g.Shares) < len(g.Members):
		return fmt.Errorf("group %s: %d of %d members have a share: give one to each, or to none", g.Name, len(g.Shares), len(g.Members))
	case len(g.Shares) > 0 && sum == 0:
		return fmt.Errorf("group %s: the shares add up to 0: give a member a share", g.Name)
	}
	for i, m := range g.Members {
		if slices.Contains(g.Members[:i], m) {
			return fmt.Errorf("group %s has %s twice: give each of its backends once", g.Name, m)
		}
	}
	return nil
}

// String returns the group as ParseGroup reads it.
func (g *Group) String() string {
	words := slices.Clone(g.Members)
	for i, s := range g.Shares {
		words[i] += "*" + strconv.FormatFloat(s, 'g', -1, 64)
	}
	return g.Name + "=" + strings.Join(words, ",")
}

// ShardRule gives weights and states whose name matches a state.
type ShardRule struct {
	Match *regexp.Regexp
	State ir.Sharding // mirrored, or split on an axis without segments
	Cost  bool        // the state is that of the shortest predicted time
}

// ParseShardRule reads REGEX=axis0, REGEX=mirrored or REGEX=cost.
func ParseShardRule(text string) (ShardRule, error) {
	i := strings.LastIndexByte(text, '=')
	if i <= 0 || i == len(text)-1 {
		return ShardRule{}, fmt.Errorf("shard %q: write REGEX=STATE", text)
	}
	re, err := regexp.Compile(text[:i])
	if err != nil {
		return ShardRule{}, fmt.Errorf("shard %q: %w", text, err)
	}
	r := ShardRule{Match: re, State: ir.Mirrored()}
	switch text[i+1:] {
	case "cost":
		r.Cost = true
		fallthrough
	case "mirrored":
		return r, nil
	}
	axis, isAxis := strings.CutPrefix(text[i+1:], "axis")
	n, err := strconv.ParseUint(axis, 10, 8)
	if !isAxis || err != nil {
		return ShardRule{}, fmt.Errorf("shard %q: %q is no state: the states of weights are mirrored, axis0, axis1 and so on, or cost to choose", text, text[i+1:])
	}
	r.State = ir.SplitOn(int(n))
	return r, nil
}

// String returns the rule as ParseShardRule reads it.
func (r ShardRule) String() string {
	if r.State.IsSplit() {
		return fmt.Sprintf("%v=axis%d", r.Match, r.State.Axis)
	}
	if r.Cost {
		return r.Match.String() + "=cost"
	}
	return r.Match.String() + "=mirrored"
}
