package ir

import "testing"

func TestShardingIsPrinted(t *testing.T) {
	for want, s := range map[string]Sharding{
		"none": {}, "mirrored": Mirrored(), "partial": Partial(),
		"split(1, 3 0 1)":             SplitOn(1, Segment{Times: 1, Counts: []int64{3, 0, 1}}),
		"split(0, 192 64, 2*(96 32))": SplitOn(0, Segment{Times: 1, Counts: []int64{192, 64}}, Segment{Times: 2, Counts: []int64{96, 32}}),
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
