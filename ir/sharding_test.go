package ir

import "testing"

func TestShardingIsPrinted(t *testing.T) {
	for want, s := range map[string]Sharding{
		"none": {}, "mirrored": Mirrored(), "partial": Partial(),
		"split(1, 3 0 1)":             SplitOn(1, Segment{Times: 1, Counts: []int64{3, 0, 1}}),
		"split(0, 192 64, 2*(96 32))": SplitOn(0, Segment{Times: 1, Counts: []int64{192, 64}}, Segment{Times: 2, Counts: []int64{96, 32}}),
		"held(1 0 1)":                 Held([]int64{4, 0, 2}),
		"split(0, 2*(32 32 at 0 0))":  SplitOn(0, Segment{2, []int64{32, 32}, []int64{0, 0}}),
	} {
		if got := s.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestAlikeStatesHaveTheSameCounts(t *testing.T) {
	once, twice := SplitOn(0, Segment{1, []int64{4, 2}, nil}), SplitOn(0, Segment{2, []int64{2, 1}, nil})
	for _, tt := range []struct {
		a, b         Sharding
		alike, equal bool
	}{
		{once, once, true, true},
		{once, twice, true, false},
		{once, SplitOn(1, Segment{1, []int64{4, 2}, nil}), false, false},
		{once, SplitOn(0, Segment{1, []int64{2, 4}, nil}), false, false},
		{Mirrored(), Mirrored(), true, true},
		{Mirrored(), Partial(), false, false},
		{Mirrored(), once, false, false},
	} {
		if tt.a.Alike(tt.b) != tt.alike || tt.a.Equal(tt.b) != tt.equal {
			t.Errorf("%v and %v: alike %v, equal %v", tt.a, tt.b, tt.a.Alike(tt.b), tt.a.Equal(tt.b))
		}
	}
}

// TestSegmentsHaveElementsInCommon has segments with starts.
func TestSegmentsHaveElementsInCommon(t *testing.T) {
	for _, tt := range []struct {
		starts, counts []int64
		want           string
		covered        bool
	}{
		{[]int64{0, 2}, []int64{2, 3}, "split(0, 2 3)", true},
		{[]int64{0, 7, 2}, []int64{2, 0, 3}, "split(0, 2 0 3)", true},
		{[]int64{0, 0, 1}, []int64{1, 1, 1}, "split(0, 1 1 1 at 0 0 1)", true},
		{[]int64{2, 0}, []int64{2, 2}, "split(0, 2 2 at 2 0)", true},
		{[]int64{0, 2}, []int64{1, 1}, "split(0, 1 1 at 0 2)", false},
		{[]int64{0, 0, 0}, []int64{4, 0, 4}, "held(1 0 1)", true},
		{[]int64{0, 0}, []int64{4, 0}, "split(0, 4 0)", true},
	} {
		s := SegmentAt(tt.starts, tt.counts)
		if got := SplitOn(0, s).Normal().String(); got != tt.want || s.isCovered() != tt.covered {
			t.Errorf("%v from %v: %s, covered %v", tt.counts, tt.starts, got, s.isCovered())
		}
	}
}

// TestRangesAreWidened has 2 heads of keys, each for 3 of queries.
func TestRangesAreWidened(t *testing.T) {
	kv := Share{Kind: ShardSplit, Axis: 1, Num: 1, Den: 3, Shared: true}
	for _, tt := range []struct{ lo, hi, first, end int64 }{
		{0, 3, 0, 1}, {0, 6, 0, 2}, {1, 2, 0, 1}, {1, 3, 0, 1}, {3, 5, 1, 2}, {2, 4, -1, -1}, {1, 6, -1, -1},
	} {
		first, end, ok := kv.Range(tt.lo, tt.hi)
		if !ok {
			first, end = -1, -1
		}
		if first != tt.first || end != tt.end {
			t.Errorf("[%d,%d) reads [%d,%d), want [%d,%d)", tt.lo, tt.hi, first, end, tt.first, tt.end)
		}
	}
}
