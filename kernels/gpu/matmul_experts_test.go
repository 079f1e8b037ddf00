package gpu_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
	"github.com/ggmlc/ggmlc/kernels/gpu/interp"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// expertsMachines compute tiles of experts in different ways.
func expertsMachines(t *testing.T) []simulated {
	list := []simulated{
		{Options: interp.Options{Subgroup: 32}},
		{Options: interp.Options{Subgroup: 32}, on: gpu.Machine{Caps: kir.CapSubgroup}},
		{Options: interp.Options{Subgroup: 8}, on: gpu.Machine{Caps: kir.CapSubgroup}}, // row by row
	}
	for _, on := range append(slices.Clone(tileMachines), slabMachine(t)) {
		list = append(list, simulated{Options: interp.Options{Subgroup: on.Lanes}, on: on})
	}
	return list
}

// TestPromptsOfExperts compares prompts with hard choices with package eval. All numbers of workgroups compute the same
// bits.
func TestPromptsOfExperts(t *testing.T) {
	for n, p := range gputest.Prompts() {
		for m, on := range expertsMachines(t) {
			if testing.Short() && (n+m)%4 != 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", p.Name, m), func(t *testing.T) {
				t.Parallel()
				var first []byte
				for _, groups := range []int{1, 7} {
					on := on
					on.Memory, on.Seed = interp.NewMemory(), uint64(n+groups)
					call, err := p.Call()
					if err != nil {
						t.Fatal(err)
					}
					r := &recorder{simulated: on}
					if err := gputest.Compare(t.Context(), call, r, groups, gputest.Tolerance(p.Case(), on.on)); err != nil {
						t.Fatal(err)
					}
					if first == nil {
						first = r.read
					}
					if !bytes.Equal(r.read, first) {
						t.Errorf("%d workgroups compute something else than one", groups)
					}
				}
			})
		}
	}
}

// expertsKernel returns the kernel of tokens, a number or a symbol, that choose 2 of 8 experts.
func expertsKernel(t *testing.T, tokens string, on gpu.Machine) *kir.Kernel {
	t.Helper()
	m := irtest.Parse(t, strings.ReplaceAll(`ggir 1
props imported
symbol many 1 200
symbol few 1 16
func @f(%x: f32[N,1,64], %w: f16[8,40,64], %i: i32[N,2]) -> f32[N,2,40] {
  %y = experts_matmul %x, %w, %i : f32[N,2,40]
  return %y
}
`, "N", tokens))
	list, err := gpu.Lower(m.Funcs[0].Nodes[0], on)
	if err != nil || len(list) != 1 || m.Funcs[0].Nodes[0].Op != ir.OpExpertsMatMul {
		t.Fatalf("%d kernels, error %v", len(list), err)
	}
	return list[0].Kernel
}

// TestTilesOfExpertsAreForPrompts demands that kernels collect the rows of an expert if there may be more than four for
// each expert, and the subgroups of the device may be wide enough. A step for one token has no such code.
func TestTilesOfExpertsAreForPrompts(t *testing.T) {
	any, some := gpu.Machine{}, gpu.Machine{Caps: kir.CapSubgroup}
	known := gpu.Machine{Caps: kir.CapSubgroup | kir.CapTile, Lanes: 32}
	for _, tt := range []struct {
		tokens                string
		on                    gpu.Machine
		tiles, rows, multiply bool
	}{
		{"1", any, false, true, false}, {"16", any, false, true, false}, {"17", any, true, false, false},
		{"few", some, false, true, false}, {"many", some, true, true, false}, {"17", some, true, true, false},
		{"many", known, true, true, true}, {"17", known, true, false, true},
	} {
		k := expertsKernel(t, tt.tokens, tt.on)
		text := k.String()
		if got := strings.Contains(text, "shared_store found"); got != tt.tiles {
			t.Errorf("%s tokens, %+v: tiles %v, want %v", tt.tokens, tt.on, got, tt.tiles)
		}
		if got := k.Needs&kir.CapTile != 0; got != tt.multiply {
			t.Errorf("%s tokens, %+v: tiles are multiplied: %v", tt.tokens, tt.on, got)
		}
		if got := rowByRow(text); got != tt.rows {
			t.Errorf("%s tokens, %+v: computed row by row: %v, want %v", tt.tokens, tt.on, got, tt.rows)
		}
	}
}

// rowByRow reports whether a kernel computes aligned rows one by one, as it does unaligned rows: whether in two places
// an index is multiplied, as it tells the first row of an expert, and not compared with an expert.
func rowByRow(text string) bool {
	n, lines := 0, strings.Split(text, "\n")
	for i, line := range lines {
		name, what, _ := strings.Cut(strings.TrimSpace(line), " = ")
		if strings.HasPrefix(what, "load i32 ") && strings.Contains(lines[i+1]+lines[i+2], "mul "+name+",") {
			n++
		}
	}
	return n == 2
}
