package eval

import (
	"slices"
	"testing"
)

func TestTensorViewsShareData(t *testing.T) {
	x := Of([]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 2, 3, 2)
	must := func(v Tensor, err error) Tensor {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	tests := []struct {
		name  string
		got   Tensor
		shape []int
		flat  []float64
		dense bool
	}{
		{"reshape", must(x.Reshape(4, 3)), []int{4, 3}, x.Data, true},
		{"permute", must(x.Permute(2, 0, 1)), []int{2, 2, 3}, []float64{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}, false},
		{"slice", must(x.Slice(1, 1, 2)), []int{2, 2, 2}, []float64{2, 3, 4, 5, 8, 9, 10, 11}, false},
		{"outer slice", must(x.Slice(0, 1, 1)), []int{1, 3, 2}, []float64{6, 7, 8, 9, 10, 11}, true},
		{"empty", must(x.Slice(0, 2, 0)), []int{0, 3, 2}, nil, true},
		{"reshaped view", must(must(x.Slice(1, 1, 1)).Reshape(4)), []int{4}, []float64{2, 3, 8, 9}, true},
		{"broadcast", must(Of([]float64{1, 2}, 2, 1).Broadcast(2, 2, 3)), []int{2, 2, 3}, []float64{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}, false},
		{"scalar", must(Of([]float64{7}).Broadcast(2)), []int{2}, []float64{7, 7}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !slices.Equal(tt.got.Shape, tt.shape) || !slices.Equal(tt.got.Flat(), tt.flat) || tt.got.IsDense() != tt.dense {
				t.Errorf("%v %v dense=%v, want %v %v dense=%v", tt.got.Shape, tt.got.Flat(), tt.got.IsDense(), tt.shape, tt.flat, tt.dense)
			}
		})
	}
	if got := tests[1].got.At(1, 0, 2); got != 5 {
		t.Errorf("element 1,0,2 of the permuted tensor is %v, want 5", got)
	}
}

func TestTensorViewsOutsideAreErrors(t *testing.T) {
	x := New(2, 3)
	for name, f := range map[string]func() (Tensor, error){
		"reshape":        func() (Tensor, error) { return x.Reshape(5) },
		"permute twice":  func() (Tensor, error) { return x.Permute(0, 0) },
		"permute few":    func() (Tensor, error) { return x.Permute(0) },
		"slice axis":     func() (Tensor, error) { return x.Slice(2, 0, 1) },
		"slice range":    func() (Tensor, error) { return x.Slice(1, 2, 2) },
		"broadcast":      func() (Tensor, error) { return x.Broadcast(2, 4) },
		"broadcast rank": func() (Tensor, error) { return x.Broadcast(3) },
	} {
		if _, err := f(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
