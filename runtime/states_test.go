package runtime

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// counter is a module that is no language model, with two states: total f32 [2, 3] is added to, and last f16 [2, 18, 4]
// in panels is not used by its function.
func counter() *Program {
	const last = 128
	bytes := dtype.PackedBytes(dtype.F16, dtype.R16, 18, 4) * 2
	return &Program{
		Name: "counter", PlanID: "c", IOBytes: 128, StateBytes: last + bytes,
		States: []StateInfo{
			{Name: "total", Type: dtype.F32, Dims: []int{2, 3}, Offset: 64, Bytes: 24},
			{Name: "last", Type: dtype.F16, Layout: dtype.R16, Dims: []int{2, 18, 4}, Offset: last, Bytes: bytes},
		},
		Funcs: []Func{{
			Name:    "add",
			Inputs:  []Tensor{{Name: "x", Type: dtype.F32, Dims: []Dim{{Const: 6}}}},
			Outputs: []Tensor{{Name: "sum", Type: dtype.F32, Dims: []Dim{{Const: 6}}, Offset: 64}},
			Run: func(w *Worker, a *Args) {
				x, out, total := (*[6]float32)(a.IO), (*[6]float32)(unsafe.Add(a.IO, 64)), (*[6]float32)(unsafe.Add(a.State, 64))
				lo, hi := share(6, w)
				for i := lo; i < hi; i++ {
					total[i] += x[i]
					out[i] = total[i]
				}
			},
		}},
	}
}

// add calls the counter's function.
func add(t testing.TB, s *Session, x float32) float32 {
	t.Helper()
	var out []float32
	if err := s.Call(t.Context(), 0, []any{[]float32{x, 0, 0, 0, 0, 0}}, []any{&out}); err != nil {
		t.Fatal(err)
	}
	return out[0]
}

func TestStatesAreReadAndWritten(t *testing.T) {
	_, s := openProgram(t, counter(), Options{})
	add(t, s, 5)
	a, err := s.ReadState("total")
	if err != nil || a.Type != dtype.F32 || !slices.Equal(a.Shape, []int{2, 3}) || !bytes.Equal(a.Data, raw([]float32{5, 0, 0, 0, 0, 0})) {
		t.Errorf("%v, %v", a, err)
	}
	a.Data = raw([]float32{10, 20, 30, 40, 50, 60})
	if err := s.WriteState("total", a); err != nil {
		t.Fatal(err)
	}
	if got := add(t, s, 1); got != 11 {
		t.Errorf("%v after the write", got)
	}
}

// TestStatesInPanelsAreRows writes a state that is stored in panels, and compares the stored bytes with package tile's.
func TestStatesInPanelsAreRows(t *testing.T) {
	_, s := openProgram(t, counter(), Options{})
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]uint16, 2*18*4)
	for i := range rows {
		rows[i] = uint16(r.Uint32())
	}
	a := Array{Type: dtype.F16, Shape: []int{2, 18, 4}, Data: raw(rows)}
	if err := s.WriteState("last", a); err != nil {
		t.Fatal(err)
	}
	each := int(dtype.PackedBytes(dtype.F16, dtype.R16, 18, 4))
	for i := range 2 {
		want := make([]byte, each)
		tile.Pack(dtype.F16, want, raw(rows[i*72:(i+1)*72]), 18, 4)
		if !bytes.Equal(s.state.bytes[128+i*each:128+(i+1)*each], want) {
			t.Errorf("matrix %d is stored in other bytes", i)
		}
	}
	if got, err := s.ReadState("last"); err != nil || !bytes.Equal(got.Data, a.Data) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestStatesInOrderOfSteps starts reads and writes between steps: each sees what was started before it.
func TestStatesInOrderOfSteps(t *testing.T) {
	_, s := openProgram(t, counter(), Options{})
	var outs [4][]float32
	start := func(i int) {
		if _, err := s.Start(t.Context(), 0, []any{[]float32{1, 1, 1, 1, 1, 1}}, []any{&outs[i]}); err != nil {
			t.Fatal(err)
		}
	}
	start(0)
	first, err := s.StartReadState(t.Context(), "total")
	if err != nil {
		t.Fatal(err)
	}
	start(1)
	if _, err := s.StartWriteState(t.Context(), "total", Array{Type: dtype.F32, Shape: []int{2, 3}, Data: raw([]float32{7, 7, 7, 7, 7, 7})}); err != nil {
		t.Fatal(err)
	}
	start(2)
	last, err := s.ReadState("total")
	if err != nil || !bytes.Equal(last.Data, raw([]float32{8, 8, 8, 8, 8, 8})) {
		t.Errorf("%v, %v", last, err)
	}
	if a, err := first.Wait(); err != nil || !bytes.Equal(a.Data, raw([]float32{1, 1, 1, 1, 1, 1})) {
		t.Errorf("%v, %v", a, err)
	}
	if outs[1][0] != 2 || outs[2][0] != 8 {
		t.Errorf("%v", outs)
	}
}

func TestStatesRefuse(t *testing.T) {
	_, s := openProgram(t, counter(), Options{})
	for _, c := range []struct {
		err  error
		want string
	}{
		{second(s.ReadState("sum")), `there is no state "sum": counter has 2, the first is "total"`},
		{s.WriteState("total", Array{}), `state "total" is f32 (2, 3), 24 bytes`},
		{s.WriteState("total", Array{Type: dtype.F32, Shape: []int{2, 3}, Data: make([]byte, 23)}), "23 bytes"},
		{s.WriteState("total", Array{Type: dtype.I32, Shape: []int{2, 3}, Data: make([]byte, 24)}), "given is i32"},
		{s.WriteState("total", Array{Type: dtype.F32, Shape: []int{3, 2}, Data: make([]byte, 24)}), "(3, 2)"},
		{second(seatOf(t, openSessions(t, 2, nil)).ReadState("")), "several sessions"},
	} {
		if c.err == nil || !errors.Is(c.err, ErrInput) || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestSavedStatesContinue saves and loads a module that is no language model.
func TestSavedStatesContinue(t *testing.T) {
	m, s := openProgram(t, counter(), Options{})
	add(t, s, 5)
	data := save(t, s)
	other := mustSession(t, m)
	add(t, other, 100)
	if err := other.Load(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	if got := add(t, other, 1); got != 6 {
		t.Errorf("the loaded session has %v", got)
	}
	for i := range data {
		bad := slices.Clone(data)
		bad[i]++
		if err := other.Load(bytes.NewReader(bad)); !errors.Is(err, ErrSaved) {
			t.Errorf("byte %d changed: %v", i, err)
		}
		if err := other.Load(bytes.NewReader(data[:i])); !errors.Is(err, ErrSaved) {
			t.Errorf("the first %d bytes: %v", i, err)
		}
	}
	if got := add(t, other, 1); got != 1 {
		t.Errorf("after damaged states it has %v, not 0 and 1", got)
	}
	_, none := openProgram(t, grid(), Options{})
	if err := none.Save(io.Discard); !errors.Is(err, ErrInput) {
		t.Errorf("without states: %v", err)
	}
}

// TestForksContinueByThemselves forks sessions of all lengths, of their own and of several that share memory.
func TestForksContinueByThemselves(t *testing.T) {
	for n := range toyContext - 1 {
		alone, _ := saved(t, n)
		g := openSessions(t, 2, nil)
		shared := seatOf(t, g)
		if n > 0 {
			if _, err := shared.Prefill(t.Context(), prompt(n)); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range []*Session{alone, shared} {
			f, err := s.Fork(t.Context())
			if err != nil || f.Len() != n {
				t.Fatalf("%d positions: %v", n, err)
			}
			for _, c := range []struct {
				s  *Session
				id int32
			}{{f, 7}, {s, 9}} {
				got, err := c.s.Decode(t.Context(), c.id)
				if err != nil || !slices.Equal(got, toyWant(append(prompt(n), c.id))) {
					t.Errorf("%d positions, then %d: %v, %v", n, c.id, got, err)
				}
			}
			if saved, again := save(t, f), save(t, s); n > 0 && bytes.Equal(saved, again) {
				t.Error("the fork is what it was forked from")
			}
		}
	}
	_, s := openProgram(t, counter(), Options{})
	add(t, s, 5)
	f, err := s.Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if a, b := add(t, s, 1), add(t, f, 10); a != 6 || b != 15 {
		t.Errorf("%v and %v", a, b)
	}
}

// TestForksWaitForASeat: a fork of a session of several waits as NewSession does.
func TestForksWaitForASeat(t *testing.T) {
	g := openSessions(t, 1, nil)
	s := seatOf(t, g)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Fork(ctx); !errors.Is(err, ErrCancelled) {
		t.Error(err)
	}
	if _, err := s.Decode(t.Context(), 1); err != nil {
		t.Error(err)
	}
}
