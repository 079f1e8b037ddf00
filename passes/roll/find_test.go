package roll

import (
	"slices"
	"testing"
)

// TestPeriodsOfAlternatingLayers: two layers of four nodes are followed by one that lacks one of them. The group is the
// three layers, of whose nodes none is of a kind that occurs once.
func TestPeriodsOfAlternatingLayers(t *testing.T) {
	var s sequence
	for range 6 {
		s.kinds = append(s.kinds, 0, 1, 2, 3, 0, 1, 2, 3, 0, 2, 3)
	}
	if got := s.periods(); !slices.Contains(got, 11) {
		t.Errorf("the periods %v lack 11", got)
	}
}
