package codegen

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/target"
)

// reluOn returns a module as the passes leave it: y = relu(x) on a backend, with the arenas
// of the text.
func reluOn(t *testing.T, backend, arenas string) *ir.Module {
	t.Helper()
	m, err := ir.Parse("placed", []byte(`ggir 1
module "placed"
after import
props imported
func @f(%x: f32[2,32]) -> (y: f32[2,32]) {
  %y = relu %x : f32[2,32]
  return %y
}
plan {
`+arenas+`}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range m.Funcs[0].Nodes {
		n.Backend = backend
	}
	return m
}

func TestUnsupportedTargetsAreRefused(t *testing.T) {
	const io = "  arena host io align=64 chunks=[512] bound=512 func=\"f\" setters=[]\n"
	for _, c := range []struct {
		name, targets, backend, arenas string
		want                           []string // all of them; none: it can be emitted
	}{
		{"the processor", "target cpu like=cpu", "cpu", io, nil},
		{"a device", "target fake like=fake\ntarget cpu like=cpu", "fake", io, nil},
		{"a kind that nobody emits, idle", "target x kind=x space=x ops=*\ntarget cpu like=cpu", "cpu", io, nil},
		{"a kind that nobody emits", "target x kind=x space=x ops=*\ntarget cpu like=cpu", "x", io,
			[]string{"target x: code is emitted for targets of kind cpu, cpugroup, fake, cuda, gpusim and vulkan, not x"}},
		{"another memory of the processor", "target cpu like=cpu space=ram", "cpu", io, []string{"write space=host"}},
		{"several chunks", "target cpu like=cpu", "cpu", strings.Replace(io, "[512]", "[256, 256]", 1), []string{"in 2 chunks", "from the pass before plan"}},
		{"inputs on a device", "target fake like=fake space=dev", "fake", strings.Replace(io, "host", "dev", 1),
			[]string{"inputs and outputs are in the space dev"}},
		{"memory of nobody", "target cpu like=cpu", "cpu", io + strings.Replace(io, "host io", "moon state", 1), []string{"has the space moon"}},
		{"a kernel that there is not", "target odd space=dev ops=relu(f16)\ntarget cpu like=cpu", "odd", io, nil},
	} {
		targets, err := target.Parse("t", c.targets)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		err = CheckTargets(reluOn(t, c.backend, c.arenas), targets)
		var unfit *TargetError
		if (err != nil) != (c.want != nil) || err != nil && !errors.As(err, &unfit) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", c.name, err, want)
			}
		}
	}
}

// A node whose operands no kernel of the CPU reads is refused, each op once.
func TestMissingKernelsAreRefused(t *testing.T) {
	m := reluOn(t, "odd", "")
	f := m.Funcs[0]
	for range 3 {
		f.Append(f.NewNode(ir.OpReLU, nil, []*ir.Value{f.Params[0]}, "again", f.Params[0].Type)).Backend = "odd"
	}
	for _, n := range f.Nodes {
		n.Args[0].Type.DType = 0
	}
	targets, err := target.Parse("t", "target odd space=dev ops=*\ntarget cpu like=cpu")
	if err != nil {
		t.Fatal(err)
	}
	err = CheckTargets(m, targets)
	if err == nil || strings.Count(err.Error(), "none for relu") != 1 || !strings.Contains(err.Error(), "like=fake") {
		t.Errorf("error %v, want one for relu", err)
	}
}

// TestPiecesOfTheHostAreRefused has arenas in two chunks, and targets that bound the size of one.
func TestPiecesOfTheHostAreRefused(t *testing.T) {
	for class, want := range map[string]string{
		"weights": "weights of the space host: 512 bytes: a program has it in one piece, and odd, cpu can address at most 300 bytes in one: quantize, ",
		"state":   "at most 300 bytes in one: lower --ctx or --batch, leave out space=host, or write a larger maxalloc if the device allows it",
	} {
		m := reluOn(t, "cpu", "  arena host "+class+" align=64 chunks=[256, 256] bound=0 func=\"\" setters=[]\n")
		targets, err := target.Parse("t", "target odd space=host maxalloc=300 ops=*\ntarget cpu like=cpu maxalloc=400")
		if err != nil {
			t.Fatal(err)
		}
		var piece *PieceError
		if err := CheckTargets(m, targets); !errors.As(err, &piece) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", class, err, want)
		}
	}
}

// TestUnreadWeightsAreRefused has a matrix in a format that no kernel of the processor reads, on the processor.
func TestUnreadWeightsAreRefused(t *testing.T) {
	m := irtest.Parse(t, `ggir 1
props imported
weight "w" : q6_k[8,256]
func @f(%x: f32[1,256]) -> f32[1,8] {
  %w = weight "w" : q6_k[8,256]
  %y = matmul %x, %w : f32[1,8]
  return %y
}
`)
	m.Plan = new(ir.Plan)
	for _, n := range m.Funcs[0].Nodes {
		n.Backend = "cpu"
	}
	var unfit *TargetError
	if err := CheckTargets(m, nil); !errors.As(err, &unfit) || !strings.Contains(err.Error(), "the processor has no kernel for matmul of f32[1,256], q6_k[8,256]: ") {
		t.Errorf("error %v", err)
	}
	counts := make(map[string]int64)
	if countKernels(m.Funcs[0], 2, counts); counts["MatMulQ6_K"] != 2 {
		t.Errorf("kernels %v", counts)
	}
}

// TestWeightTypesHaveConstants looks for the constants of package dtype that programs name.
func TestWeightTypesHaveConstants(t *testing.T) {
	src, err := os.ReadFile(filepath.Join("..", "ir", "dtype", "dtype.go"))
	if err != nil {
		t.Fatal(err)
	}
	for d := range dtype.NumDTypes {
		if d.Valid() && (d.IsQuantized() || d.IsFloat()) && !regexp.MustCompile(`(?m)^\t`+suffix(d)+`\s`).Match(src) {
			t.Errorf("package dtype has no constant %s for %v", suffix(d), d)
		}
	}
}

// TestBlobBeginsWithTheHost demands the host's weights first, then the weights of other spaces, each
// part aligned.
func TestBlobBeginsWithTheHost(t *testing.T) {
	m := reluOn(t, "cpu", `  arena dev weights align=64 chunks=[100, 10] bound=0 func="" setters=[]
  arena host weights align=64 chunks=[65] bound=0 func="" setters=[]
  arena host io align=64 chunks=[512] bound=0 func="" setters=[]
`)
	want := []blobPart{{1, 0, 0, 65}, {0, 0, 128, 100}, {0, 1, 256, 10}}
	got := blobParts(m)
	if len(got) != len(want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("part %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	if n := WeightsBytes(m); n != 266 {
		t.Errorf("%d bytes, want 266", n)
	}
	if at := blobOffset(m, 0, 1); at != 256 {
		t.Errorf("chunk 1 of arena 0 is at %d, want 256", at)
	}
}

// A text may claim instances for which the program has no steps.
func TestOddInstancesAreRefused(t *testing.T) {
	m := reluOn(t, "cpu", "")
	m.Plan.Pipeline = 2
	for slots, fits := range map[int]bool{0: true, 1: true, 2: true, 3: false} {
		m.Funcs[0].Nodes[0].Submitted().Slots = slots
		var unfit *TargetError
		if err := CheckTargets(m, nil); (err == nil) != fits || err != nil && !errors.As(err, &unfit) {
			t.Errorf("%d instances, 2 steps: %v", slots, err)
		}
	}
}

// TestForeignIsNotBuilt refuses foreign nodes, whose meaning is unknown, leaves included.
func TestForeignIsNotBuilt(t *testing.T) {
	m := reluOn(t, "cpu", "")
	m.Funcs[0].Nodes[0].Op, m.Funcs[0].Nodes[0].Attr = ir.OpForeign, &ir.ForeignAttr{Op: "NONE", Leaf: true}
	var unfit *TargetError
	if err := CheckTargets(m, nil); !errors.As(err, &unfit) || !strings.Contains(err.Error(), `what foreign "NONE" does is not known`) {
		t.Errorf("error %v", err)
	}
}
