package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/tests/e2etest"
)

// indexText is a module with a function for each kind of input that selects rows.
var indexText = `ggir 1
module "indexes"
after import
props imported
symbol n 1 100
state "k" : f32[2,1,16,32]
weight "w" : f32[2,4,32] = literal "` + strings.Repeat("0000803f", 2*4*32) + `"
func @gather(%t: f32[n,8], %i: i32[2]) -> (y: f32[2,8]) {
  %y = gather %t, %i : f32[2,8]
  return %y
}
func @take(%x: f32[2,n], %i: i32[2,3]) -> (y: f32[2,3]) {
  %y = take %x, %i : f32[2,3]
  return %y
}
func @experts(%x: f32[1,1,32], %i: i32[1,1]) -> (y: f32[1,1,4]) {
  %w = weight "w" : f32[2,4,32]
  %y = experts_matmul %x, %w, %i : f32[1,1,4]
  return %y
}
func @write(%x: f32[1,1,32], %slot: i32[1], %pos: i32[1]) -> (y: f32[1,1,32]) {
  %k = state "k" : f32[2,1,16,32]
  %k1 = state_write %k, %x, %slot, %pos : f32[2,1,16,32]
  %y = exp %x : f32[1,1,32]
  return %y
}
func @attend(%q: f32[1,1,32], %slot: i32[1], %pos: i32[1], %len: i32[2]) -> (y: f32[1,1,32]) {
  %k = state "k" : f32[2,1,16,32]
  %y = attention %q, %k, %k, %slot, %pos, %len {scale=0.25} : f32[1,1,32]
  return %y
}
func @swap(%y: f32[1,8], %i: i32[1], %j: i32[1], %t: f32[10,8]) -> (z: f32[1,8]) {
  %y1 = copy %y : f32[1,8]
  %i1 = copy %i : i32[1]
  %j1 = copy %j : i32[1]
  %z, %q, %r = repeat %y1, %i1, %j1, %t {count=4, carried=3, invariant=1} : f32[1,8], i32[1], i32[1]
  body @b(%a: f32[1,8], %c: i32[1], %d: i32[1], %u: f32[10,8]) -> (f32[1,8], i32[1], i32[1]) {
    %g = gather %u, %c : f32[1,8]
    %s = add %a, %g : f32[1,8]
    %tc = copy %c : i32[1]
    %td = copy %d : i32[1]
    %c1 = copy %td : i32[1]
    %d1 = copy %tc : i32[1]
    return %s, %c1, %d1
  }
  return %z
}
`

// TestIndexesAreChecked calls a program with rows that exist and with rows that do not, for each kind of input.
// Without checks, rows beyond a symbolic extent or a carried value would be read from other arrays.
func TestIndexesAreChecked(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "indexes.ggir")
	e2etest.WriteFile(t, text, []byte(indexText))
	exe := e2etest.Build(t, text, "--disable", "inline")
	f32 := func(shape ...int) e2etest.Array { return e2etest.Array{DType: dtype.F32, Shape: shape} }
	ints := func(data ...int32) e2etest.Array {
		return e2etest.Array{DType: dtype.I32, Shape: []int{len(data)}, Ints: data}
	}
	rows, row, table := f32(1, 1, 32), f32(1, 8), f32(10, 8)
	for _, c := range []struct {
		fn   string
		in   map[string]e2etest.Array
		want string // empty for success
	}{
		{"gather", map[string]e2etest.Array{"t": f32(3, 8), "i": ints(2, 0)}, ""},
		{"gather", map[string]e2etest.Array{"t": f32(3, 8), "i": ints(2, 3)}, "i: element 1 is 3: it selects one of 3"},
		{"gather", map[string]e2etest.Array{"t": f32(100, 8), "i": ints(99, -1)}, "i: element 1 is -1: it selects one of 100"},
		{"take", map[string]e2etest.Array{"x": f32(2, 4), "i": {DType: dtype.I32, Shape: []int{2, 3}, Ints: []int32{0, 1, 2, 3, 3, 3}}}, ""},
		{"take", map[string]e2etest.Array{"x": f32(2, 1), "i": {DType: dtype.I32, Shape: []int{2, 3}, Ints: []int32{0, 0, 0, 0, 1, 0}}}, "i: element 4 is 1: it selects one of 1"},
		{"experts", map[string]e2etest.Array{"x": rows, "i": {DType: dtype.I32, Shape: []int{1, 1}, Ints: []int32{1}}}, ""},
		{"experts", map[string]e2etest.Array{"x": rows, "i": {DType: dtype.I32, Shape: []int{1, 1}, Ints: []int32{2}}}, "i: element 0 is 2: it selects one of 2"},
		{"write", map[string]e2etest.Array{"x": rows, "slot": ints(1), "pos": ints(15)}, ""},
		{"write", map[string]e2etest.Array{"x": rows, "slot": ints(2), "pos": ints(0)}, "slot: element 0 is 2: it selects one of 2"},
		{"write", map[string]e2etest.Array{"x": rows, "slot": ints(0), "pos": ints(16)}, "pos: element 0 is 16: it selects one of 16"},
		{"attend", map[string]e2etest.Array{"q": rows, "slot": ints(1), "pos": ints(15), "len": ints(0, 16)}, ""},
		{"attend", map[string]e2etest.Array{"q": rows, "slot": ints(2), "pos": ints(0), "len": ints(1, 1)}, "slot: element 0 is 2: it selects one of 2"},
		{"attend", map[string]e2etest.Array{"q": rows, "slot": ints(0), "pos": ints(16), "len": ints(16, 16)}, "pos: element 0 is 16: it selects one of 16"},
		{"attend", map[string]e2etest.Array{"q": rows, "slot": ints(0), "pos": ints(0), "len": ints(17, 1)}, "len: element 0 is 17: it selects one of 17"},
		{"attend", map[string]e2etest.Array{"q": rows, "slot": ints(1), "pos": ints(1), "len": ints(16, 1)}, "pos: element 0 is 1: it has to be below the length of sequence 1"},
		{"swap", map[string]e2etest.Array{"y": row, "i": ints(9), "j": ints(0), "t": table}, ""},
		{"swap", map[string]e2etest.Array{"y": row, "i": ints(10), "j": ints(0), "t": table}, "i: element 0 is 10: it selects one of 10"},
		{"swap", map[string]e2etest.Array{"y": row, "i": ints(0), "j": ints(2000000000), "t": table}, "j: element 0 is 2000000000: it selects one of 10"},
	} {
		args := []string{"call", c.fn, "-o", filepath.Join(dir, "out")}
		for name, a := range c.in {
			path := filepath.Join(dir, name+".npy")
			e2etest.WriteFile(t, path, a.NPY(t))
			args = append(args, name+"="+path)
		}
		cmd := exec.CommandContext(t.Context(), exe, args...)
		out, err := cmd.CombinedOutput()
		status := cmd.ProcessState.ExitCode()
		if c.want == "" && err != nil || c.want != "" && (status != 2 || !strings.Contains(string(out), "bad input: "+c.want)) {
			t.Errorf("%s %v: status %d, want %q:\n%s", c.fn, c.in, status, c.want, out)
		}
	}
}
