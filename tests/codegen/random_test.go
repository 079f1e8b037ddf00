package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen/casetest"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// placementRules are the rules by which the backends of nodes decide what attention rounds.
var placementRules = []string{"pack.state", "fuse-late.attention-bf16"}

// TestRandomPlacements runs random modules with their nodes on random backends, and
// compares with what the processor alone computes, bit by bit: the kernels are the same.
func TestRandomPlacements(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: -short: go build takes seconds")
	}
	wanted := 1
	if needtest.Required("e2e") {
		wanted = 12
	}
	for seed := uint64(0); wanted > 0; seed++ {
		if seed == maxSeeds {
			t.Fatalf("%d more of the first %d random modules are wanted that the processor runs", wanted, maxSeeds)
		}
		p, err := irtest.Random(seed, randomMoves)
		if err != nil {
			t.Fatal(err)
		}
		if compile(p.Module.Clone()) == nil { // many have nodes without a kernel
			wanted--
			t.Run(fmt.Sprint(seed), func(t *testing.T) { randomPlacement(t, p, seed) })
		}
	}
}

const (
	randomMoves = 12   // nodes of a random function, more or less
	maxSeeds    = 3000 // to look for modules that the processor runs
)

func randomPlacement(t *testing.T, p *irtest.Program, seed uint64) {
	src := make(casetest.Tensors)
	for _, w := range p.Module.Weights {
		src[w.Name] = casetest.Tensor{Type: w.Type, Data: p.Tensors[w.Name]}
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	targets, err := target.Select("fake:0,fake:1:queues=2,cpu")
	if err != nil {
		t.Fatal(err)
	}
	o := passes.RunOptions{Targets: targets, Options: pass.Options{
		Pipeline: 1 + rng.IntN(3), Pins: randomPins(t, p.Module, targets, rng), Disable: placementRules}}
	alone, spread := p.Module.Clone(), p.Module.Clone()
	if err := compileWith(alone, passes.RunOptions{Options: pass.Options{Disable: placementRules}}); err != nil {
		t.Fatal(err)
	}
	if err := compileWith(spread, o); err != nil {
		t.Fatal(err)
	}
	exes := [2]*casetest.Program{build(t, t.TempDir(), alone, src), buildWith(t, t.TempDir(), spread, src, targets)}
	for i, c := range p.Calls {
		want := callRandom(t, exes[0], p, i)
		for seed := range 3 {
			got := callRandom(t, exes[1], p, i, "--fake-seed", fmt.Sprint(seed))
			for name, data := range want {
				if !slices.Equal(data, got[name]) {
					t.Errorf("call %d of @%s, seed %d: %s differs from what the processor computes alone", i, c.Func, seed, name)
				}
			}
		}
	}
}

// randomPins puts runs of nodes on one backend each. A writer of a state has to run where the state
// is, so that the compiler places it.
func randomPins(t *testing.T, m *ir.Module, targets *target.List, rng *rand.Rand) []pass.Pin {
	var pins []pass.Pin
	seen := make(map[string]bool) // or not to be pinned: a pin is for all functions
	for _, f := range m.Funcs {
		for _, n := range f.Nodes {
			if n.Is(ir.Alias) {
				seen[n.Result().Name()] = true
			}
		}
	}
	for _, f := range m.Funcs {
		backend := targets.Last().Name
		for _, n := range f.Nodes {
			if n.Is(ir.Leaf) || n.Is(ir.View) || n.Is(ir.Alias) || n.Result() == nil || seen[n.Result().Name()] {
				continue
			}
			seen[n.Result().Name()] = true
			if rng.IntN(3) == 0 {
				backend = targets.All()[rng.IntN(len(targets.All()))].Name
			}
			pins = append(pins, pinOf(t, "^"+regexp.QuoteMeta(n.Result().Name())+"$="+backend))
		}
	}
	return pins
}

// callRandom makes one call of a random program, in a new session, and returns the files
// that it writes.
func callRandom(t *testing.T, exe *casetest.Program, p *irtest.Program, call int, flags ...string) map[string][]byte {
	t.Helper()
	c := p.Calls[call]
	args := []string{"call", c.Func}
	for _, param := range p.Module.Func(c.Func).Params {
		path := filepath.Join(exe.Dir, fmt.Sprintf("%d.%s.npy", call, param.Name()))
		if err := casetest.WriteArray(path, param.Type.DType, c.Inputs[param.Name()]); err != nil {
			t.Fatal(err)
		}
		args = append(args, param.Name()+"="+path)
	}
	out := t.TempDir()
	if text, err := exec.Command(exe.Exe, slices.Concat(args, []string{"-o", out}, flags)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	files, err := filepath.Glob(filepath.Join(out, "*.npy"))
	if err != nil || len(files) == 0 {
		t.Fatalf("@%s wrote %d results, error %v", c.Func, len(files), err)
	}
	results := make(map[string][]byte)
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		results[filepath.Base(path)] = data
	}
	return results
}
