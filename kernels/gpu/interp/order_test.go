package interp

import (
	"math"
	"slices"
	"testing"
)

// TestOrdersAreEven counts how often each number is drawn, and each place of a permutation.
func TestOrdersAreEven(t *testing.T) {
	const n, draws = 7, 70000
	var numbers, places [n]int
	o := order{1}
	for range draws {
		numbers[o.below(n)]++
		list := o.permutation(n)
		places[slices.Index(list, 3)]++
		if slices.Sort(list); list[0] != 0 || list[n-1] != n-1 {
			t.Fatalf("no permutation: %v", list)
		}
	}
	deviation := math.Sqrt(draws / n)
	for i := range n {
		if math.Abs(float64(numbers[i]-draws/n)) > 6*deviation || math.Abs(float64(places[i]-draws/n)) > 6*deviation {
			t.Errorf("%d: drawn %d times, at that place %d times, of %d", i, numbers[i], places[i], draws)
		}
	}
}
