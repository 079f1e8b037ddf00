package runtime

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Offsets in the grid's IO arena.
const (
	gridX   = 0x0
	gridY   = 0x100
	gridOut = 0x200
	gridIO  = 0x400
)

// grid is a module that is no language model: out[r,c] = x[r,c] + row[y[r]] for x f32 [rows, cols], where cols is an
// inner symbol, and y i32 [rows], which selects one of 3 weights.
func grid() *Program {
	const maxCols = 5
	rows, cols := Dim{Sym: 0, Scale: 1}, Dim{Sym: 1, Scale: 1}
	weights := raw([]float32{10, 20, 30})
	sum := sha256.Sum256(weights)
	return &Program{
		Name: "grid", PlanID: "1", IOBytes: gridIO,
		Weights: WeightsInfo{Size: 12, SHA256: hexOf(sum[:]), Embedded: string(weights)},
		Symbols: []Symbol{{"rows", 1, 4}, {"cols", 1, maxCols}},
		Funcs: []Func{{
			Name: "add",
			Inputs: []Tensor{
				{Name: "x", Type: dtype.F32, Dims: []Dim{rows, cols}, Offset: gridX},
				{Name: "y", Type: dtype.I32, Dims: []Dim{rows}, Offset: gridY, Below: []Dim{{Const: 3}}},
			},
			Outputs: []Tensor{{Name: "out", Type: dtype.F32, Dims: []Dim{rows, cols}, Offset: gridOut}},
			Run: func(w *Worker, a *Args) {
				x, y, out := (*[32]float32)(unsafe.Add(a.IO, gridX)), (*[32]int32)(unsafe.Add(a.IO, gridY)), (*[32]float32)(unsafe.Add(a.IO, gridOut))
				lo, hi := share(a.Dims[0], w)
				for r := lo; r < hi; r++ {
					for c := range a.Dims[1] {
						out[r*a.Dims[1]+c] = x[r*a.Dims[1]+c] + (*[3]float32)(a.Weights)[y[r]]
					}
				}
			},
		}},
	}
}

func TestCallComputesForAnySize(t *testing.T) {
	_, s := openProgram(t, grid(), Options{})
	var out []float32
	err := s.Call(context.Background(), 0, []any{[]float32{1, 2, 3, 4, 5, 6}, []int32{0, 2}}, []any{&out})
	if want := []float32{11, 12, 13, 34, 35, 36}; err != nil || !slices.Equal(out, want) {
		t.Errorf("%v, %v, want %v", out, err, want)
	}
}

func TestCallRefusesBadArguments(t *testing.T) {
	_, s := openProgram(t, grid(), Options{})
	var out []float32
	var wrong []int32
	x, y := []float32{1, 2, 3, 4, 5, 6}, []int32{0, 2}
	cases := []struct {
		in, out []any
		want    string
	}{
		{[]any{x}, []any{&out}, "takes 2 inputs and has 1 outputs, not 1 and 1"},
		{[]any{x, x}, []any{&out}, "input y is i32, which a []float32 cannot hold"},
		{[]any{x, y}, []any{&wrong}, "output out is f32, which a *[]int32 cannot point to"},
		{[]any{x, y}, []any{out}, "output out is f32"},
		{[]any{x[:5], y}, []any{&out}, "x has 5 elements"},
		{[]any{x, []int32{0, 1, 2, 0, 1}}, []any{&out}, "y: bad input: rows = 5: the program was compiled for 1 to 4"},
		{[]any{x, []int32{0, 3}}, []any{&out}, "y: element 1 is 3: it selects one of 3"},
		{[]any{x, []int32{-1, 0}}, []any{&out}, "y: element 0 is -1"},
		{[]any{[]float32{}, y}, []any{&out}, "cols = 0"},
	}
	for _, c := range cases {
		if err := s.Call(context.Background(), 0, c.in, c.out); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, err := s.Prefill(context.Background(), y); !errors.Is(err, ErrInput) {
		t.Errorf("Prefill of a plain graph: %v", err)
	}
}

func writeNPY(t *testing.T, dir, name string, a Array) {
	t.Helper()
	var b bytes.Buffer
	if err := WriteNPY(&b, a); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestCallCommandReadsAndWritesArrays(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeNPY(t, dir, "x.npy", Array{dtype.F32, []int{2, 3}, raw([]float32{1, 2, 3, 4, 5, 6})})
	writeNPY(t, dir, "y.npy", Array{dtype.I64, []int{2}, raw([]int64{1, 0})})
	status, out, errs := invoke(grid(), "call", "add", "y="+at("y.npy"), "-o", at("made/here"), "x="+at("x.npy"))
	if status != 0 || out != "" || errs != "" {
		t.Fatalf("status %d, %q, %q", status, out, errs)
	}
	f, err := os.Open(at("made/here/out.npy"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, err := ReadNPY(f, 1<<20)
	if want := raw([]float32{21, 22, 23, 14, 15, 16}); err != nil || !slices.Equal(a.Shape, []int{2, 3}) || !bytes.Equal(a.Data, want) {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestCallStaysInItsFolder has names that are valid in a text and are paths, or contain an =.
func TestCallStaysInItsFolder(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeNPY(t, dir, "x.npy", Array{dtype.F32, []int{2, 3}, make([]byte, 24)})
	writeNPY(t, dir, "y.npy", Array{dtype.I32, []int{2}, make([]byte, 8)})
	p := grid()
	f := &p.Funcs[0]
	f.Inputs[0].Name, f.Inputs[1].Name = "x=1", "x"
	out := f.Outputs[0]
	f.Outputs = nil
	for _, name := range []string{"../../out", "/out", `..\out`, "\x1b[2J"} {
		out.Name = name
		f.Outputs = append(f.Outputs, out)
	}
	status, _, errs := invoke(p, "call", "add", "x="+at("y.npy"), "x=1="+at("x.npy"), "-o", at("a/b/c"))
	if status != 0 || strings.Contains(errs, "\x1b") || !strings.Contains(errs, `output "../../out" is in `+at("a/b/c/_.._.._out.npy")) {
		t.Fatalf("status %d, %q", status, errs)
	}
	var files []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	want := []string{"a/b/c/_.._.._out.npy", "a/b/c/_.._out.npy", "a/b/c/_[2J.npy", "a/b/c/_out.npy", "x.npy", "y.npy"}
	slices.Sort(files)
	slices.Sort(want)
	if err != nil || !slices.Equal(files, want) {
		t.Errorf("%q, want %q (%v)", files, want, err)
	}
}

// TestCallReplacesLinks: a result replaces a link and leaves the link's target unchanged.
func TestCallReplacesLinks(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeNPY(t, dir, "x.npy", Array{dtype.F32, []int{2, 3}, make([]byte, 24)})
	writeNPY(t, dir, "y.npy", Array{dtype.I32, []int{2}, make([]byte, 8)})
	if err := errors.Join(os.WriteFile(at("other"), []byte("kept"), 0o666), os.Mkdir(at("o"), 0o777)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../other", at("o/out.npy")); err != nil {
		t.Skip("skip: ", err) // systems without links, or on which they need a privilege
	}
	status, _, errs := invoke(grid(), "call", "add", "x="+at("x.npy"), "y="+at("y.npy"), "-o", at("o"))
	kept, err := os.ReadFile(at("other"))
	info, err2 := os.Lstat(at("o/out.npy"))
	if status != 0 || err != nil || err2 != nil || string(kept) != "kept" || !info.Mode().IsRegular() {
		t.Errorf("status %d, %s: the other file holds %q (%v, %v)", status, errs, kept, err, err2)
	}
	if files, _ := os.ReadDir(at("o")); len(files) != 1 {
		t.Errorf("%v is left", files)
	}
}

func TestCallCommandNamesTheFault(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeNPY(t, dir, "x.npy", Array{dtype.F32, []int{2, 3}, make([]byte, 24)})
	writeNPY(t, dir, "flat.npy", Array{dtype.F32, []int{6}, make([]byte, 24)})
	writeNPY(t, dir, "wide.npy", Array{dtype.F32, []int{2, 6}, make([]byte, 48)})
	writeNPY(t, dir, "y.npy", Array{dtype.I32, []int{2}, raw([]int32{1, 0})})
	writeNPY(t, dir, "y3.npy", Array{dtype.I32, []int{3}, make([]byte, 12)})
	writeNPY(t, dir, "high.npy", Array{dtype.I32, []int{2}, raw([]int32{1, 9})})
	writeNPY(t, dir, "big.npy", Array{dtype.I64, []int{2}, raw([]int64{1, 1 << 40})})
	os.WriteFile(at("text"), []byte("1 2 3"), 0o666)
	cases := []struct {
		x, y   string
		status int
		want   string
	}{
		{"none", "y.npy", 1, "none: input x: no such file"},
		{"text", "y.npy", 1, "text: input x: it is no .npy file"},
		{"y.npy", "y.npy", 1, "it holds i32, f32 is wanted"},
		{"x.npy", "big.npy", 1, "element 1 is 1099511627776, which an int32 cannot hold"},
		{"flat.npy", "y.npy", 2, "x has the shape (6,), [rows, cols] is wanted"},
		{"wide.npy", "y.npy", 2, "cols = 6: the program was compiled for 1 to 5"},
		{"x.npy", "y3.npy", 2, "x has the shape (2, 3), [rows, cols] is wanted (rows = 3"},
		{"x.npy", "high.npy", 2, "y: element 1 is 9: it selects one of 3"},
	}
	for _, c := range cases {
		status, _, errs := invoke(grid(), "call", "add", "x="+at(c.x), "y="+at(c.y), "-o", dir)
		if status != c.status || !strings.Contains(errs, c.want) {
			t.Errorf("%s %s: status %d, %s, want %q", c.x, c.y, status, errs, c.want)
		}
	}
	status, _, errs := invoke(grid(), "call", "add", "x="+at("x.npy"), "x="+at("wide.npy"), "y="+at("y.npy"), "-o", dir)
	if status != 2 || !strings.Contains(errs, "input x of add is given twice") {
		t.Errorf("twice: status %d, %s", status, errs)
	}
}

// TestCallChecksPositions: positions and lengths, each valid alone, are checked together.
func TestCallChecksPositions(t *testing.T) {
	tokens, seqs := Dim{Sym: 0, Scale: 1}, Dim{Const: 2}
	i32 := func(name string, d Dim, at int64, below int) Tensor {
		return Tensor{Name: name, Type: dtype.I32, Dims: []Dim{d}, Offset: at, Below: []Dim{{Const: below}}}
	}
	ran := 0
	_, s := openProgram(t, &Program{
		Name: "attending", PlanID: "1", IOBytes: 0xc0, Symbols: []Symbol{{"tokens", 1, 4}},
		Funcs: []Func{{
			Name:    "f",
			Inputs:  []Tensor{i32("pos", tokens, 0, 8), i32("slot", tokens, 0x40, 2), i32("lengths", seqs, 0x80, 9)},
			Attends: []Attend{{Slot: 1, Pos: 0, Lengths: 2}},
			Run:     func(*Worker, *Args) { ran++ },
		}},
	}, Options{Threads: 1})
	for _, c := range []struct {
		pos, slot, lengths []int32
		want               string
	}{
		{[]int32{0, 1, 7}, []int32{0, 0, 1}, []int32{2, 8}, ""},
		{[]int32{0, 2, 7}, []int32{0, 0, 1}, []int32{2, 8}, "pos: element 1 is 2: it has to be below the length of sequence 0"},
		{[]int32{0, 1, 7}, []int32{0, 0, 0}, []int32{2, 8}, "pos: element 2 is 7: it has to be below the length of sequence 0, given by lengths"},
		{[]int32{0}, []int32{0}, []int32{0, 0}, "pos: element 0 is 0"},
		{[]int32{8}, []int32{0}, []int32{8, 0}, "pos: element 0 is 8: it selects one of 8"},
		{[]int32{0}, []int32{0}, []int32{9, 0}, "lengths: element 0 is 9"},
	} {
		ran = 0
		err := s.Call(context.Background(), 0, []any{c.pos, c.slot, c.lengths}, nil)
		if c.want == "" && (err != nil || ran != 1) {
			t.Errorf("%v %v %v: %v", c.pos, c.slot, c.lengths, err)
		}
		if c.want != "" && (!errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.want) || ran != 0) {
			t.Errorf("%v %v %v: %v, want %q", c.pos, c.slot, c.lengths, err, c.want)
		}
	}
}

// TestCallSetsSizesFromPositions: a size is one more than the largest position of all inputs that determine it, in
// every call anew.
func TestCallSetsSizesFromPositions(t *testing.T) {
	tokens := Dim{Sym: 0, Scale: 1}
	i32 := func(name string, at int64) Tensor {
		return Tensor{Name: name, Type: dtype.I32, Dims: []Dim{tokens}, Offset: at, Below: []Dim{{Const: 100}}}
	}
	sizes := make([]int, 3)
	_, s := openProgram(t, &Program{
		Name: "reaching", PlanID: "1", IOBytes: 0xc0, Symbols: []Symbol{{"tokens", 1, 4}, {"kv", 1, 100}, {"other", 1, 50}},
		Funcs: []Func{{
			Name:    "f",
			Inputs:  []Tensor{i32("pos", 0), i32("late", 0x40)},
			Reaches: []Reach{{Sym: 1, Pos: 0}, {Sym: 2, Pos: 0}, {Sym: 1, Pos: 1}},
			Run:     func(_ *Worker, a *Args) { copy(sizes, a.Dims[:]) },
		}},
	}, Options{Threads: 1})
	for _, c := range []struct{ pos, late, want []int32 }{
		{[]int32{7, 3}, []int32{0, 2}, []int32{2, 8, 8}},
		{[]int32{3}, []int32{99}, []int32{1, 100, 4}},
		{[]int32{70}, []int32{0}, []int32{1, 71, 50}}, // no more than there is room for
		{[]int32{0}, []int32{0}, []int32{1, 1, 1}},
	} {
		if err := s.Call(context.Background(), 0, []any{c.pos, c.late}, nil); err != nil {
			t.Fatal(err)
		}
		for i, want := range c.want {
			if sizes[i] != int(want) {
				t.Errorf("positions %v and %v: sizes %v, want %v", c.pos, c.late, sizes, c.want)
				break
			}
		}
	}
}

// TestCallChecksSizes selects among as many rows as the call has. Each bound of an input counts.
func TestCallChecksSizes(t *testing.T) {
	n, kv := Dim{Sym: 0, Scale: 1}, Dim{Sym: 1, Scale: 1}
	i32 := func(name string, at int64, below ...Dim) Tensor {
		return Tensor{Name: name, Type: dtype.I32, Dims: []Dim{{Const: 2}}, Offset: at, Below: below}
	}
	ran := 0
	_, s := openProgram(t, &Program{
		Name: "selecting", PlanID: "1", IOBytes: 0x140, Symbols: []Symbol{{"n", 0, 20}, {"kv", 1, 100}},
		Funcs: []Func{{
			Name: "f",
			Inputs: []Tensor{
				{Name: "table", Type: dtype.U8, Dims: []Dim{n}, Offset: 0x80},
				i32("both", 0, n, Dim{Sym: 0, Scale: 2, Const: -4}, Dim{Const: 6}), i32("pos", 0x40), i32("seen", 0x100, kv),
			},
			Reaches: []Reach{{Sym: 1, Pos: 2}},
			Run:     func(*Worker, *Args) { ran++ },
		}},
	}, Options{Threads: 1})
	for _, c := range []struct {
		rows            int
		both, pos, seen []int32
		want            string
	}{
		{3, []int32{0, 1}, []int32{0, 0}, []int32{0, 0}, ""},
		{3, []int32{0, 2}, []int32{0, 0}, []int32{0, 0}, "both: element 1 is 2: it selects one of 2"},
		{4, []int32{4, 0}, []int32{0, 0}, []int32{0, 0}, "both: element 0 is 4: it selects one of 4"},
		{20, []int32{0, 6}, []int32{0, 0}, []int32{0, 0}, "both: element 1 is 6: it selects one of 6"},
		{20, []int32{5, 0}, []int32{0, 0}, []int32{0, 0}, ""},
		{20, []int32{5, -1}, []int32{0, 0}, []int32{0, 0}, "both: element 1 is -1"},
		{0, []int32{0, 0}, []int32{0, 0}, []int32{0, 0}, "both: element 0 is 0: it selects one of 0"},
		{3, []int32{0, 0}, []int32{0, 7}, []int32{7, 0}, ""},
		{3, []int32{0, 0}, []int32{0, 6}, []int32{7, 0}, "seen: element 0 is 7: it selects one of 7"},
	} {
		ran = 0
		err := s.Call(context.Background(), 0, []any{make([]uint8, c.rows), c.both, c.pos, c.seen}, nil)
		if c.want == "" && (err != nil || ran != 1) {
			t.Errorf("%+v: %v", c, err)
		}
		if c.want != "" && (!errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.want) || ran != 0) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
