package copies

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// This file finds the copies that elide-copy has to keep although an earlier split has copied the same value: between
// the two copies, the bytes of the first one are free for other values. Such a copy is a cut of the live range.
//
// For example, %a has 4 MiB, %b 2, %c 6 and %d 1, and gpu may take 11 MiB:
//
//	                       live with one copy       live with a cut
//	%a.gpu = copy %a       %a.gpu             4     %a.gpu          4
//	%b = f(%a.gpu)         %a.gpu %b          6     %a.gpu %b       6
//	%c = g(%b)             %a.gpu %b %c      12     %b %c           8
//	%a.gpu1 = copy %a      removed                  %c %a.gpu1     10    the cut
//	%d = h(%c, %a.gpu1)    %a.gpu %c %d      11     %c %a.gpu1 %d  11
//
// The search knows the live bytes of a module with one copy for each value and space. It cuts where more bytes are live
// than allowed, the cheapest cuts for each byte first, and plans the module with these cuts in a dry run. If the plan
// exceeds a limit, less is allowed in the next try. In the end it takes back the cuts that the limits do not need.

// maxApartTries is how many dry runs look for cuts that keep the limits. As many again may take cuts back.
const maxApartTries = 6

// copiesApart returns the cuts with which the plan keeps the limits of memory: the copies that elide-copy has to keep.
// over is, by space, the bytes by which the plan exceeds its limits without cuts.
func copiesApart(c *pass.Context, m *ir.Module) (keep pass.CopySet, over map[string]int64, err error) {
	s := &apartSearch{c: c, m: m, limits: make(map[string]int64)}
	spaces := c.Targets.Spaces()
	for i, limit := range pass.SpaceLimits(c, spaces) {
		if limit >= 0 {
			s.limits[spaces[i].Name] = limit
		}
	}
	if len(s.limits) == 0 || !c.Enabled(pass.RuleCopyApart) || !s.survey() {
		return nil, nil, nil
	}
	return s.find()
}

// apartSearch looks for cuts.
type apartSearch struct {
	c      *pass.Context
	m      *ir.Module       // before elide-copy
	limits map[string]int64 // by space
	funcs  []*liveBytes
}

// liveBytes is the bytes that are live at each node of a function with one copy for each value and space.
type liveBytes struct {
	f       *ir.Func
	change  map[string][]int64     // by space with a limit, then by node: bytes that become live, minus bytes that end
	regions map[string][]useRegion // by space: possible cuts
}

// useRegion is a region of use of a copied value. A cut before it frees the bytes of the copy between two uses.
type useRegion struct {
	at       pass.NodeAt // the copy that begins the region
	from, to int         // a cut frees the bytes during the nodes from to to-1
	bytes    int64
	seconds  float64 // of copying again
}

// survey finds the live bytes and the possible cuts of all functions. It reports whether there are possible cuts.
func (s *apartSearch) survey() bool {
	m := s.m.Clone()
	quiet := *s.c
	quiet.Stats, quiet.Fuel = &pass.PassStats{}, pass.NewFuel(-1)
	found := false
	merges := elideAll(&quiet, m, nil, nil)
	for i, f := range m.AllFuncs() {
		l := &liveBytes{f: f, change: make(map[string][]int64), regions: make(map[string][]useRegion)}
		for space := range s.limits {
			l.change[space] = make([]int64, len(f.Nodes)+1)
		}
		l.survey(s, merges[i])
		s.funcs = append(s.funcs, l)
		found = found || len(l.regions) > 0
	}
	return found
}

// survey finds the live bytes of a function, and the possible cuts at the copies that elide-copy has merged.
func (l *liveBytes) survey(s *apartSearch, merges []mergedCopy) {
	begin, uses := l.positions()
	l.eachWithBytes(func(v *ir.Value) {
		if change := l.change[v.Type.Space]; change != nil {
			bytes := s.bytes(v)
			change[begin[v.ID]] += bytes
			change[lastUse(uses[v.ID], begin[v.ID])+1] -= bytes
		}
	})
	for _, x := range merges {
		l.addRegion(s, x, begin[x.by.ID], uses)
	}
}

// positions returns, by value id, the position of the node that makes a value, and those of the nodes that use its
// bytes, in order. A result of the function is used at the end.
func (l *liveBytes) positions() (begin []int, uses [][]int) {
	begin, uses = make([]int, l.f.NumValues()), make([][]int, l.f.NumValues())
	use := func(v *ir.Value, at int) {
		if root := flow.Origin(v); root.Func == l.f { // the repeat uses the values that its body is given
			uses[root.ID] = append(uses[root.ID], at)
		}
	}
	for at, n := range l.f.Nodes {
		for _, a := range n.Args {
			if a != nil {
				use(a, at)
			}
		}
		for _, v := range n.Results {
			begin[v.ID] = at
		}
	}
	for _, v := range l.f.Results {
		use(v, len(l.f.Nodes)-1)
	}
	return begin, uses
}

// eachWithBytes calls do with the values whose bytes are live during some nodes: parameters, and results that own their
// bytes. Weights, states and constants are always live.
func (l *liveBytes) eachWithBytes(do func(*ir.Value)) {
	for _, v := range l.f.Params {
		do(v)
	}
	for _, n := range l.f.Nodes {
		for _, v := range n.Results {
			if flow.Source(v) == nil && !n.Is(ir.Leaf) {
				do(v)
			}
		}
	}
}

// lastUse returns the last use of a value, or the position where it begins if there is none.
func lastUse(uses []int, begin int) int {
	if len(uses) == 0 {
		return begin
	}
	return max(begin, uses[len(uses)-1])
}

// addRegion adds the region of use that the merged copy x would begin, if a cut there frees bytes for some nodes. begin
// is the position of the copy with which x is merged.
func (l *liveBytes) addRegion(s *apartSearch, x mergedCopy, begin int, uses [][]int) {
	space := x.by.Type.Space
	if l.change[space] == nil || slices.Contains(l.f.Results, x.by) {
		return
	}
	list := uses[x.by.ID]
	before := begin // the last use before the region
	if i, _ := slices.BinarySearch(list, x.pos); i > 0 {
		before = max(before, list[i-1])
	}
	source := flow.Origin(x.by.Def.Args[0])
	if before+1 >= x.pos || l.endsBefore(source, x.pos, uses) {
		return
	}
	l.regions[space] = append(l.regions[space], useRegion{
		at: x.at, from: before + 1, to: x.pos, bytes: s.bytes(x.by),
		seconds: flow.TargetOf(s.c, space).TransferSeconds(flow.TargetOf(s.c, source.Type.Space), float64(x.by.Type.MaxBytes())),
	})
}

// endsBefore reports whether v is in a space with a limit and its bytes end before a position. Copying v again at this
// position would keep its own bytes live for longer.
func (l *liveBytes) endsBefore(v *ir.Value, at int, uses [][]int) bool {
	leaf := v.Def != nil && v.Def.Is(ir.Leaf)
	return l.change[v.Type.Space] != nil && !leaf && lastUse(uses[v.ID], 0) < at
}

// bytes returns the bytes of all instances of v, as many as pass pipeline will give it.
func (s *apartSearch) bytes(v *ir.Value) int64 {
	if v.Def != nil && flow.IsTransfer(v.Def) && s.c.Target(v.Def).Asynchronous() {
		return v.Type.MaxBytes() * int64(max(1, s.c.Options.Pipeline))
	}
	return v.Type.MaxBytes()
}

// find returns cuts with which the plan keeps the limits, and by how much it exceeds them without cuts. The set is
// empty if no cuts are needed, or if none help.
func (s *apartSearch) find() (cuts pass.CopySet, over map[string]int64, err error) {
	over, err = s.over(pass.CopySet{}) // empty, not nil: nil would search again
	if err != nil || len(over) == 0 {
		return pass.CopySet{}, nil, err
	}
	cuts, err = s.enough(over)
	return cuts, over, err
}

// enough returns cuts with which the plan keeps the limits; an empty set if none help. over is, by space, the bytes by
// which the plan exceeds its limits without cuts.
func (s *apartSearch) enough(over map[string]int64) (cuts pass.CopySet, err error) {
	allowed := make(map[string]int64) // by space: live bytes
	for range maxApartTries {
		for space, bytes := range over {
			if _, known := allowed[space]; !known {
				allowed[space] = s.peak(space)
			}
			allowed[space] -= bytes
		}
		again := s.cut(allowed)
		if len(again) == 0 || maps.Equal(again, cuts) {
			break
		}
		cuts = again
		if over, err = s.over(cuts); err != nil || len(over) == 0 {
			return s.fewer(cuts, err)
		}
	}
	for space := range allowed {
		allowed[space] = 0
	}
	cuts = s.cut(allowed) // all cuts that may help
	if over, err = s.over(cuts); err != nil || len(over) == 0 {
		return s.fewer(cuts, err)
	}
	s.c.Count("apart.in-vain", 1)
	return pass.CopySet{}, nil
}

// peak returns the most bytes that are live at once in a space, over all functions.
func (s *apartSearch) peak(space string) (most int64) {
	for _, l := range s.funcs {
		most = max(most, peakOf(l.change[space]))
	}
	return most
}

// over plans the module with cuts in a dry run, and returns by how many bytes the plan exceeds limits, by space.
func (s *apartSearch) over(cuts pass.CopySet) (map[string]int64, error) {
	m := s.m.Clone()
	if err := s.c.TryPlan(m, cuts); err != nil {
		return nil, err
	}
	s.c.Count("dry-runs", 1)
	over := flow.SpaceBytes(m.Plan)
	maps.DeleteFunc(over, func(space string, bytes int64) bool {
		limit, limited := s.limits[space]
		over[space] = bytes - limit
		return !limited || bytes <= limit
	})
	return over, nil
}

// peakOf returns the largest sum of the first changes.
func peakOf(changes []int64) (most int64) {
	var live int64
	for _, c := range changes {
		live += c
		most = max(most, live)
	}
	return most
}

// cut returns cuts that reduce the live bytes of spaces to the allowed ones, as far as cuts can.
func (s *apartSearch) cut(allowed map[string]int64) pass.CopySet {
	cuts := make(pass.CopySet)
	for _, l := range s.funcs {
		for _, space := range slices.Sorted(maps.Keys(allowed)) {
			l.cut(space, allowed[space], cuts)
		}
	}
	return cuts
}

// cut walks over the nodes and adds cuts where more bytes of a space are live than allowed.
func (l *liveBytes) cut(space string, allowed int64, cuts pass.CopySet) {
	change := slices.Clone(l.change[space])
	next := slices.SortedStableFunc(slices.Values(l.regions[space]), func(x, y useRegion) int { return x.from - y.from })
	var open []useRegion // regions whose cuts free bytes at the current node
	var live int64
	for at := range change {
		live += change[at]
		for len(next) > 0 && next[0].from <= at {
			open, next = append(open, next[0]), next[1:]
		}
		if live <= allowed {
			continue
		}
		open = slices.DeleteFunc(open, func(r useRegion) bool { return r.to <= at })
		slices.SortStableFunc(open, cheaperCut)
		for len(open) > 0 && live > allowed {
			cuts[open[0].at] = true
			live -= open[0].bytes
			change[open[0].to] += open[0].bytes // copied again there
			open = open[1:]
		}
	}
}

// cheaperCut orders regions by the seconds that a cut costs for each byte that it frees, then by the position where the
// bytes are needed again, the last one first.
func cheaperCut(x, y useRegion) int {
	return cmp.Or(cmp.Compare(x.seconds*float64(y.bytes), y.seconds*float64(x.bytes)), y.to-x.to)
}

// fewer takes back cuts that the limits do not need: it tries each half of them, then each quarter, and so on, as long
// as there are tries left. If err is not nil, it returns it at once.
func (s *apartSearch) fewer(cuts pass.CopySet, err error) (pass.CopySet, error) {
	list := slices.SortedFunc(maps.Keys(cuts), func(x, y pass.NodeAt) int { return cmp.Or(x.Fn-y.Fn, x.Node-y.Node) })
	tries := maxApartTries
	for size := (len(list) + 1) / 2; size > 0 && len(list) > 1; size /= 2 {
		for from := 0; from < len(list) && len(list) > 1 && tries > 0 && err == nil; tries-- {
			part := list[from:min(from+size, len(list))]
			less := maps.Clone(cuts)
			for _, at := range part {
				delete(less, at)
			}
			var over map[string]int64
			if over, err = s.over(less); err == nil && len(over) == 0 {
				cuts, list = less, slices.Delete(list, from, from+len(part))
			} else {
				from += size
			}
		}
	}
	return cuts, err
}
