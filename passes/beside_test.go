package passes

import "testing"

// TestBesideHandsOnPanics lets either half, or both, panic: the caller has it, when both are over.
func TestBesideHandsOnPanics(t *testing.T) {
	for _, tt := range []struct {
		name          string
		first, second any // what they panic with; nil for nothing
	}{
		{"none", nil, nil},
		{"first", "a", nil},
		{"second", nil, "b"},
		{"both", "a", "b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			over := make([]bool, 2)
			half := func(i int, with any) func() {
				return func() {
					over[i] = true
					if with != nil {
						panic(with)
					}
				}
			}
			defer func() {
				want := tt.first
				if want == nil {
					want = tt.second
				}
				if got := recover(); got != want {
					t.Errorf("panicked with %v, want %v", got, want)
				}
				if !over[0] || !over[1] {
					t.Errorf("over: %v", over)
				}
			}()
			beside(half(0, tt.first), half(1, tt.second))
		})
	}
}
