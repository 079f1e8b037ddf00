package copies

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Making a copy again
//
// One copy of a value serves all its readers in a space, and takes memory from the first reader to the last. If the plan
// would exceed the limit of a space, the readers are cut into several regions of use, each with a copy of its own.
// Between two regions the bytes are free for other values. Each further copy costs time, so they are only made where a
// limit asks for them.
//
// Example: %w is copied to the space dev and read by the nodes 3, 5 and 90, and the plan exceeds the limit of dev at
// node 40. With the regions {3, 5} and {90} the copy takes no bytes there: node 90 reads a second copy, made before it.
//
// Real plans decide. A dry run of the passes up to plan, with one copy of each value, shows by how much each space
// exceeds its limit. Cuts are chosen that bring the live bytes of the space at each node below the limit. Live bytes are
// an estimate, without in-place results and gaps between buffers, so a dry run with the cuts follows, and more cuts if it
// still exceeds the limit, a few times. Then cuts that are not needed are removed again. If no cuts help, none are made.
//
// Of several cuts the one with the shortest copies for its bytes is taken. Among equals it is Belady's choice (A study of
// replacement algorithms, 1966): the value that is needed again last.
//
// Three things are not cut: values whose longer life would need memory where it is short as well, copies of inputs that
// are made ahead of the function, as the caller may have overwritten the input since, and copies of the chosen experts,
// which a single layer uses.

// maxApartTries is how many plans are looked at to find cuts that keep the limits, and as many
// to take back some.
const maxApartTries = 6

// copiesApart returns the copies that have to stay besides earlier ones of the same values so
// that the plan keeps the limits of memory, if there are such, and by how many bytes it exceeds
// those of which spaces without them.
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
	m      *ir.Module
	limits map[string]int64
	funcs  []*liveBytes
}

// liveBytes are the bytes that are live at each node of a function with one copy for each
// value and space.
type liveBytes struct {
	f       *ir.Func
	change  map[string][]int64 // by space that has a limit: at each node, to those before it
	regions map[string][]useRegion
}

// useRegion is where a cut can be made.
type useRegion struct {
	at       pass.NodeAt // the copy that begins it
	from, to int         // the nodes for which the cut frees the bytes: from, and up to before to
	bytes    int64
	seconds  float64 // of copying again
}

// survey notes what is live, and where cuts can be made; it reports whether there are any.
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

// survey fills in a function of which elide-copy has merged copies.
func (l *liveBytes) survey(s *apartSearch, merges []mergedCopy) {
	uses := make([][]int, l.f.NumValues()) // of bytes, by the value that has them: its nodes, in order
	begin := make([]int, l.f.NumValues())
	for at, n := range l.f.Nodes {
		for _, a := range n.Args {
			if a == nil {
				continue
			}
			if root := flow.Origin(a); root.Func == l.f { // what a body is given, the repeat uses
				uses[root.ID] = append(uses[root.ID], at)
			}
		}
		for _, v := range n.Results {
			begin[v.ID] = at
		}
	}
	for _, v := range l.f.Results {
		if root := flow.Origin(v); root.Func == l.f {
			uses[root.ID] = append(uses[root.ID], len(l.f.Nodes)-1)
		}
	}
	l.eachWithBytes(func(v *ir.Value) {
		if change := l.change[v.Type.Space]; change != nil {
			bytes := s.bytes(v)
			change[begin[v.ID]] += bytes
			change[lastUse(uses[v.ID], begin[v.ID])+1] -= bytes
		}
	})
	for _, x := range merges {
		l.cuttable(s, x, begin[x.by.ID], uses)
	}
}

// eachWithBytes calls do with the values that have bytes of their own for a time.
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

// lastUse returns the last of the uses; where there are none, the place where the value begins.
func lastUse(uses []int, begin int) int {
	if len(uses) == 0 {
		return begin
	}
	return max(begin, uses[len(uses)-1])
}

// cuttable notes the region that the merged copy x would begin, if that frees bytes for a while.
func (l *liveBytes) cuttable(s *apartSearch, x mergedCopy, begin int, uses [][]int) {
	space := x.by.Type.Space
	if l.change[space] == nil || slices.Contains(l.f.Results, x.by) {
		return
	}
	list := uses[x.by.ID]
	before := begin
	if i := sort.SearchInts(list, x.pos); i > 0 {
		before = max(before, list[i-1])
	}
	from := flow.Origin(x.by.Def.Args[0])
	if before+1 >= x.pos || l.change[from.Type.Space] != nil && !(from.Def != nil && from.Def.Is(ir.Leaf)) && lastUse(uses[from.ID], 0) < x.pos {
		return
	}
	bytes := s.bytes(x.by)
	l.regions[space] = append(l.regions[space], useRegion{
		at: x.at, from: before + 1, to: x.pos, bytes: bytes,
		seconds: flow.TargetOf(s.c, space).TransferSeconds(flow.TargetOf(s.c, from.Type.Space), float64(x.by.Type.MaxBytes())),
	})
}

// bytes returns what v takes, in all instances.
func (s *apartSearch) bytes(v *ir.Value) int64 {
	if v.Def != nil && flow.IsTransfer(v.Def) && s.c.Target(v.Def).Asynchronous() {
		return v.Type.MaxBytes() * int64(max(1, s.c.Options.Pipeline))
	}
	return v.Type.MaxBytes()
}

// find returns cuts with which the plan keeps the limits, and by how much it exceeds them without;
// an empty set where none are needed or none help.
func (s *apartSearch) find() (cuts pass.CopySet, over map[string]int64, err error) {
	over, err = s.over(pass.CopySet{})
	if err != nil || len(over) == 0 {
		return pass.CopySet{}, nil, err
	}
	cuts, err = s.enough(over)
	return cuts, over, err
}

// enough is find for a plan that exceeds limits by over.
func (s *apartSearch) enough(over map[string]int64) (cuts pass.CopySet, err error) {
	allowed := make(map[string]int64) // bytes live at a time
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
	cuts = s.cut(allowed) // whatever may help
	if over, err = s.over(cuts); err != nil || len(over) == 0 {
		return s.fewer(cuts, err)
	}
	s.c.Count("apart.in-vain", 1)
	return pass.CopySet{}, nil
}

// peak returns the most bytes that are live at once in a space, in any function.
func (s *apartSearch) peak(space string) (most int64) {
	for _, l := range s.funcs {
		most = max(most, peakOf(l.change[space]))
	}
	return most
}

// over returns by how many bytes the plan with some cuts exceeds limits.
func (s *apartSearch) over(cuts pass.CopySet) (map[string]int64, error) {
	m := s.m.Clone()
	if err := s.c.TryPlan(m, cuts); err != nil {
		return nil, err
	}
	s.c.Count("rehearsals", 1)
	over := flow.SpaceBytes(m.Plan)
	maps.DeleteFunc(over, func(space string, bytes int64) bool {
		limit, limited := s.limits[space]
		over[space] = bytes - limit
		return !limited || bytes <= limit
	})
	return over, nil
}

// peakOf returns the largest sum of changes from the first on.
func peakOf(changes []int64) (most int64) {
	var live int64
	for _, c := range changes {
		live += c
		most = max(most, live)
	}
	return most
}

// cut returns cuts that bring the bytes live in spaces down to what is allowed, as far as cuts
// can.
func (s *apartSearch) cut(allowed map[string]int64) pass.CopySet {
	cuts := make(pass.CopySet)
	for _, l := range s.funcs {
		for _, space := range slices.Sorted(maps.Keys(allowed)) {
			l.cut(space, allowed[space], cuts)
		}
	}
	return cuts
}

// cut walks over the nodes and adds cuts where more is live than allowed.
func (l *liveBytes) cut(space string, allowed int64, cuts pass.CopySet) {
	change := slices.Clone(l.change[space])
	next := slices.SortedStableFunc(slices.Values(l.regions[space]), func(x, y useRegion) int { return x.from - y.from })
	var open []useRegion
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
			change[open[0].to] += open[0].bytes
			open = open[1:]
		}
	}
}

// cheaperCut orders regions by the time that a byte costs which a cut frees, then by when it is
// needed again, the last one first.
func cheaperCut(x, y useRegion) int {
	return cmp.Or(cmp.Compare(x.seconds*float64(y.bytes), y.seconds*float64(x.bytes)), y.to-x.to)
}

// fewer takes back cuts without which the limits are kept as well: half of them at once, then
// smaller parts, as long as there are tries left.
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
