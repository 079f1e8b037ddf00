package opcase

import (
	"math"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
)

func TestMeasureFindsTheLargestDifference(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		name      string
		got, want []float64
		nmse, abs float64
		at        int
	}{
		{"equal", []float64{1, nan, inf}, []float64{1, nan, inf}, 0, 0, 0},
		{"nothing", nil, nil, 0, 0, 0},
		{"off by a tenth", []float64{3, 4.5}, []float64{3, 4}, 0.25 / 25, 0.125, 1},
		{"from zero", []float64{0, 1e-9}, []float64{0, 0}, inf, inf, 1},
		{"NaN", []float64{nan, 1}, []float64{1, 1}, inf, inf, 0},
		{"wrong infinity", []float64{1, -inf}, []float64{1, inf}, inf, inf, 1},
		{"finite for infinite", []float64{1, 5}, []float64{1, inf}, inf, inf, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Measure(tt.got, tt.want)
			if d.NMSE != tt.nmse || d.MaxAbs != tt.abs || d.At != tt.at {
				t.Errorf("%+v, want NMSE %v, MaxAbs %v at %d", d, tt.nmse, tt.abs, tt.at)
			}
		})
	}
}

func TestCompareNamesTheWorstElement(t *testing.T) {
	want := eval.Of([]float64{1, 2, 2}, 3)
	tests := []struct {
		name string
		got  eval.Tensor
		tol  ir.Tolerance
		err  string
	}{
		{"exact", eval.Of([]float64{1, 2, 2}, 3), ir.Tolerance{}, ""},
		{"within", eval.Of([]float64{1, 2, 2.1}, 3), ir.Tolerance{NMSE: 0.01, MaxAbs: 0.06}, ""},
		{"NMSE", eval.Of([]float64{1, 2, 5}, 3), ir.Tolerance{NMSE: 0.5}, "NMSE 1 exceeds 0.5: element 2 of [3] is 5, want 2"},
		{"MaxAbs", eval.Of([]float64{1, 2, 5}, 3), ir.Tolerance{NMSE: 2, MaxAbs: 1}, "largest relative difference 1.5 exceeds 1: element 2 of [3] is 5, want 2"},
		{"no bound on MaxAbs", eval.Of([]float64{1, 2, 5}, 3), ir.Tolerance{NMSE: 2}, ""},
		{"shape", eval.Of([]float64{1, 2, 2}, 1, 3), ir.Tolerance{NMSE: 1}, "shape [1 3], want [3]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Compare(tt.got, want, tt.tol)
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || err.Error() != tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}
