package mem

import (
	"slices"
	"strings"
	"testing"
)

func TestValidateReportsEachMistake(t *testing.T) {
	p := Problem{[]Buffer{{ID: "a", Lower: 0, Upper: 2, Size: 4}, {ID: "b", Lower: 1, Upper: 3, Size: 4, Align: 4}, {ID: "c", Lower: 2, Upper: 3, Size: 2}}}
	tests := []struct {
		name     string
		offsets  []int64
		height   int64
		capacity int64
		want     string // substring of the error; empty for none
	}{
		{"good", []int64{0, 4, 0}, 8, 8, ""},
		{"good without capacity", []int64{0, 4, 100}, 102, 0, ""},
		{"missing", []int64{0, 4}, 8, 8, "2 offsets for 3 buffers"},
		{"negative", []int64{-1, 4, 0}, 8, 8, `buffer "a": its offset is -1`},
		{"misaligned", []int64{0, 5, 0}, 9, 0, `buffer "b": its offset 5 is no multiple of 4`},
		{"too high", []int64{0, 4, 7}, 9, 8, `buffer "c": 2 bytes at 7 exceed the capacity 8`},
		{"overlap", []int64{0, 0, 4}, 6, 8, `buffers "a" and "b" overlap`},
		{"overlap at an end", []int64{0, 4, 3}, 8, 8, `buffers "b" and "c" overlap`},
		{"height", []int64{0, 4, 0}, 7, 8, "the height is 8, not 7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := p.Validate(Solution{tt.offsets, tt.height}, tt.capacity)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestBoundIsTheLargestLiveSum(t *testing.T) {
	tests := []struct {
		name    string
		p       Problem
		bound   int64
		setters []int
	}{
		{"none", Problem{}, 0, nil},
		{"half open", Problem{[]Buffer{{Lower: 0, Upper: 5, Size: 7}, {Lower: 5, Upper: 9, Size: 8}}}, 8, []int{1}},
		{"largest first", Problem{[]Buffer{{Lower: -3, Upper: 5, Size: 1}, {Lower: 4, Upper: 9, Size: 8}, {Lower: 4, Upper: 5}}}, 9, []int{1, 0}},
		{"first instant", Problem{[]Buffer{{Lower: 0, Upper: 1, Size: 3}, {Lower: 7, Upper: 8, Size: 3}}}, 3, []int{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bound, setters := Bound(tt.p)
			if bound != tt.bound || !slices.Equal(setters, tt.setters) {
				t.Errorf("bound %d by %v, want %d by %v", bound, setters, tt.bound, tt.setters)
			}
		})
	}
}

func TestGreedyFillsTheSmallestGap(t *testing.T) {
	// There are gaps of 4 bytes below the first range, and of 2 between both.
	if got := smallestGap([]byteRange{{4, 8}, {10, 15}}, 2, 1); got != 8 {
		t.Errorf("offset %d, want 8", got)
	}
}
