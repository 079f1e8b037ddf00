package runtime

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// array returns an array of slices of numbers.
func array[T any](d dtype.DType, v []T, shape ...int) Array {
	return Array{Type: d, Shape: shape, Data: raw(v)}
}

// TestInputsAndOutputsByName runs a function on inputs that were written by name.
func TestInputsAndOutputsByName(t *testing.T) {
	_, s := openProgram(t, grid(), Options{})
	if err := errors.Join(s.WriteInput(0, "x", array(dtype.F32, []float32{1, 2, 3, 4, 5, 6}, 2, 3)), s.WriteInput(0, "y", array(dtype.I32, []int32{0, 2}, 2)), s.Run(t.Context(), 0)); err != nil {
		t.Fatal(err)
	}
	out, err := s.ReadOutput(0, "out")
	if want := raw([]float32{11, 12, 13, 34, 35, 36}); err != nil || !slices.Equal(out.Data, want) || !slices.Equal(out.Shape, []int{2, 3}) {
		t.Errorf("%v, %v", out, err)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{s.WriteInput(0, "z", Array{}), `add has no input "z": it has x, y`},
		{second(s.ReadOutput(0, "x")), `add has no output "x": it has out`},
		{second(s.Input(0, "out")), `add has no input "out"`},
		{s.WriteInput(0, "x", array(dtype.I32, []int32{1}, 1, 1)), "add: x is f32 [rows, cols]; given is i32 (1, 1)"},
		{s.WriteInput(0, "x", array(dtype.F32, []float32{1}, 1)), "given is f32 (1,)"},
		{s.WriteInput(0, "x", array(dtype.F32, []float32{1}, 1, 2)), "x has 4 bytes"},
		{s.WriteInput(0, "x", array(dtype.F32, make([]float32, 6), 6, 1)), "rows = 6"},
	} {
		if c.err == nil || !errors.Is(c.err, ErrInput) || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
	if s.Dim(0) != 2 || s.Dim(1) != 3 {
		t.Errorf("refused inputs have set sizes %d and %d", s.Dim(0), s.Dim(1))
	}
}

// TestPlacedInputsAndOutputs runs on memory of the caller's, which has the outputs afterwards, and refuses memory that
// does not fit.
func TestPlacedInputsAndOutputs(t *testing.T) {
	m, s := openProgram(t, grid(), Options{})
	size, align := m.IOSize()
	room := newArena(size + int64(align)).bytes
	for _, frame := range [][]byte{room[:size], room[align : int64(align)+size]} {
		clear(room)
		if err := s.PlaceIO(frame); err != nil {
			t.Fatal(err)
		}
		f := &s.model.program.Funcs[0]
		x, y := (*[6]float32)(unsafe.Pointer(&frame[f.Input("x").Offset])), (*[2]int32)(unsafe.Pointer(&frame[f.Input("y").Offset]))
		*x, *y = [6]float32{1, 2, 3, 4, 5, 6}, [2]int32{0, 2}
		var out []float32
		if err := s.Call(t.Context(), 0, []any{x[:], y[:]}, []any{&out}); err != nil {
			t.Fatal(err)
		}
		want := []float32{11, 12, 13, 34, 35, 36}
		got := (*[6]float32)(unsafe.Pointer(&frame[f.Output("out").Offset]))
		if !slices.Equal(got[:], want) || !slices.Equal(out, want) {
			t.Errorf("%v and %v, want %v", got, out, want)
		}
		if in, err := s.Input(0, "x"); err != nil || unsafe.SliceData(in.Data) != (*byte)(unsafe.Pointer(x)) {
			t.Errorf("x is not in the caller's memory (%v)", err)
		}
	}
	for _, bad := range [][]byte{nil, room[:size-1], room[1 : 1+size]} {
		if err := s.PlaceIO(bad); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "at a multiple of 64") {
			t.Errorf("%d bytes: %v", len(bad), err)
		}
	}
}
