package ptx

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/interp"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// slabCase is the sample of slabs, printed, and what it leaves in memory.
func slabCase(t *testing.T) (text string, k *kir.Kernel) {
	t.Helper()
	for _, s := range corpus() {
		if s.name == "slab" {
			k = s.kernel(t)
			return emit(t, k, SM90a), k
		}
	}
	t.Fatal("there is no such sample")
	return "", nil
}

// slabInput has numbers of 16 bits of which all sums are exact.
func slabInput() []byte {
	memory := make([]byte, 2*corpusBytes)
	for n := 0; n < corpusBytes; n += 2 {
		put(memory[n:], 0x3c00|uint64(n*n%61)<<4, 16) // 1 to 2 as f16, of six bits; less than 0.03 as bf16
	}
	return memory
}

// launchText runs a module and returns what it leaves in the memory of results.
func launchText(text string, seed int64) ([]byte, error) {
	p, err := Load(text)
	if err != nil {
		return nil, err
	}
	memory, block := slabInput(), make([]byte, 4*argBytes)
	for i, a := range []uint64{deviceBase, deviceBase + corpusBytes, 0, 0} {
		put(block[argBytes*i:], a, 64)
	}
	err = p.Run(Launch{Groups: 1, Words: []uint64{argsBase}, Seed: seed}, withArgs{memory, block})
	return memory[corpusBytes:], err
}

// TestSlabsRunAsInInterp compares the sample bit for bit with package interp.
func TestSlabsRunAsInInterp(t *testing.T) {
	text, k := slabCase(t)
	want := make([]byte, corpusBytes)
	m := interp.NewMemory()
	in, out := m.Alloc(corpusBytes), m.Alloc(corpusBytes)
	m.Write(in, slabInput()[:corpusBytes])
	m.Write(out, want)
	if err := interp.Run(k, interp.Launch{Groups: 1, Args: []uint64{in, out, 0, 0}}, m, interp.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := m.Read(out, want); err != nil {
		t.Fatal(err)
	}
	for seed := range int64(3) {
		got, err := launchText(text, seed)
		if err != nil {
			t.Fatal(err)
		}
		if at := firstDifference(got, want); at >= 0 {
			t.Fatalf("byte %d: got % x, want % x", at, got[at&^7:at&^7+8], want[at&^7:at&^7+8])
		}
	}
}

// TestWrongProductsAreNoticed edits the text: a fence, a commit or a wait that is missing or late, and descriptors with
// other fields. Each is an error, or leaves other results.
func TestWrongProductsAreNoticed(t *testing.T) {
	const product = "wgmma.mma_async.sync.aligned.m64n48k16.f32.f16.f16"
	text, _ := slabCase(t)
	right, err := launchText(text, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(text, product+" {")
	first, _, _ := strings.Cut(after, ",") // register of the sums
	strides := fmt.Sprint(uint64(128/16)<<16 | uint64(256/16)<<32)
	if !strings.Contains(text, strides) {
		t.Fatalf("no descriptor has the strides %s", strides)
	}
	tests := []struct{ from, to, want string }{ // want is the error; empty if results differ
		{"fence.proxy.async.shared::cta;", "", ""},
		{"wgmma.fence.sync.aligned;", "", "a register of the sums was written after the last wgmma.fence"},
		{"wgmma.commit_group.sync.aligned;", "", "is read before it is written"},
		{"wgmma.wait_group.sync.aligned 0;", "", "is read before it is written"},
		{"wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;", "is read before it is written"},
		{"wgmma.commit_group.sync.aligned;", "mov.f32 " + first + ", 0f00000000;\n\twgmma.commit_group.sync.aligned;", "is written while the product is under way"},
		{"wgmma.fence.sync.aligned;", "wgmma.fence.sync.aligned;\n\tmov.f32 " + first + ", 0f00000000;", "was written after the last wgmma.fence"},
		{strides, fmt.Sprint(uint64(256/16)<<16 | uint64(128/16)<<32), ""},
		{strides, fmt.Sprint(uint64(128/16)<<16 | uint64(256/16)<<32 | 1<<62), "has a swizzling mode, or bits that have to be 0"},
		{strides, fmt.Sprint(uint64(128/16)<<16 | uint64(256/16)<<32 | 1<<49), "has a swizzling mode, or bits that have to be 0"},
		{strides, fmt.Sprint(uint64(128/16)<<16 | uint64(8192/16)<<32), "describes bytes outside of shared memory"},
		{"mov.pred", "setp.eq.u32", "operands instead of"},
		{", 1, 1, 0, 0;", ", 1, 1, 1, 0;", "factors along m or n are not run here"},
	}
	for _, tt := range tests {
		edited := strings.Replace(text, tt.from, tt.to, 1)
		if edited == text {
			t.Fatalf("%q is not in the text", tt.from)
		}
		got, err := launchText(edited, 1)
		switch {
		case tt.want == "" && err == nil && firstDifference(got, right) >= 0:
		case tt.want != "" && err != nil && strings.Contains(err.Error(), tt.want):
		default:
			t.Errorf("%q instead of %q: error %v, want %q", tt.to, tt.from, err, tt.want)
		}
	}
}

// TestCheckKnowsWarpgroups has text that Check refuses.
func TestCheckKnowsWarpgroups(t *testing.T) {
	text, _ := slabCase(t)
	tests := []struct{ from, to, want string }{
		{".target sm_90a", ".target sm_90", "exists for sm_90a only, this is for sm_90"},
		{".target sm_90a", ".target sm_80", "needs version 8.0 and sm_90"},
		{".version 8.0", ".version 7.8", "needs version 8.0 and sm_90"},
		{".reqntid 128", ".reqntid 64", "64 threads are no whole number of warpgroups of 128"},
		{"wgmma.fence", "@%p0 wgmma.fence", "so it has no guard"},
		{"m64n48k16.f32.f16.f16", "m64n56k16.f32.f16.f16", "is no list of 28 registers"},
		{"m64n48k16.f32.f16.f16", "m64n48k16.f32.bf16.f16", "does not exist with these types"},
		{"m64n48k16.f32.f16.f16", "m64n44k16.f32.f16.f16", "is not known"},
		{", 1, 1, 0, 0;", ", 2, 1, 0, 0;", "an operand is none of 1|"},
		{", 1, 1, 0, 0;", ", 1, 1, 0, 2;", "an operand is none of 0|1"},
		{", 1, 1, 0, 0;", ", 1, 1, 0;", "7 operands instead of 8"},
		{"wait_group.sync.aligned 0", "wait_group.sync.aligned -1", "an operand is no number"},
		{"fence.proxy.async.shared::cta", "fence.proxy.async.shared:cta", "\"fence.proxy.async.shared\" instead of a name"},
	}
	for _, tt := range tests {
		edited := strings.Replace(text, tt.from, tt.to, 1)
		if err := Check(edited); err == nil || !strings.Contains(err.Error(), tt.want) || edited == text {
			t.Errorf("%q instead of %q: got %v, want %s", tt.to, tt.from, err, tt.want)
		}
	}
	// Sums that nothing wrote.
	_, after, _ := strings.Cut(text, "mov.f32 ")
	first, _, _ := strings.Cut(after, ",")
	edited := strings.Replace(text, "mov.f32 "+first, "mov.f32 %f999", 1)
	edited = strings.Replace(edited, ".reg .f32 %f<", ".reg .f32 %f999;\n\t.reg .f32 %f<", 1)
	if err := Check(edited); err == nil || !strings.Contains(err.Error(), first+" is read, but not written") {
		t.Errorf("sums that nothing wrote: %v", err)
	}
}

// TestOnlySM90aHasSlabs prints for an earlier target.
func TestOnlySM90aHasSlabs(t *testing.T) {
	_, k := slabCase(t)
	if _, err := Emit(k, SM80); err == nil || !strings.Contains(err.Error(), "sm_80 does not have slab_") {
		t.Error(err)
	}
}

// TestAssemblesProducts has ptxas assemble the products of all formats. It reports those where it lets products
// run one after the other, as it does where something touches the sums of products under way.
func TestAssemblesProducts(t *testing.T) {
	ptxas := needtest.Tool(t, "ptxas", "ptxas")
	help, err := exec.Command(ptxas, "--help").Output()
	if err != nil || assembledFor(SM90a, string(help)) == "" {
		t.Skipf("this ptxas does not know %v: %v", SM90a, err)
	}
	text, _ := slabCase(t)
	texts := map[string]string{"sample": text}
	for _, dt := range []dtype.DType{
		dtype.F16, dtype.BF16, dtype.Q8_0, dtype.Q4_0, dtype.Q4_1, dtype.Q5_0, dtype.Q5_1, dtype.Q2_K, dtype.Q3_K, dtype.Q4_K, dtype.Q5_K, dtype.Q6_K,
		dtype.IQ4_NL, dtype.IQ4_XS, dtype.MXFP4,
	} {
		for _, op := range []ir.Op{ir.OpMatMul, ir.OpMatMulSwiGLU} {
			texts[fmt.Sprintf("%v %v", op, dt)] = slabProduct(t, op, dt)
		}
	}
	const touched = "touched" // an instruction that touches a sum between two products
	texts[touched] = afterProduct(texts["matmul f16"])
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		path := filepath.Join(t.TempDir(), "k.ptx")
		if err := os.WriteFile(path, []byte(texts[name]), 0o666); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(ptxas, "-v", "-arch="+SM90a.String(), "-o", path+".out", path).CombinedOutput()
		if err != nil || strings.Contains(string(out), "serialized") != (name == touched) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		t.Logf("%s: %s", name, resources.FindAllString(string(out), -1))
	}
}

// afterProduct returns the text with an addition to a sum after the first product.
func afterProduct(text string) string {
	at := strings.Index(text, "wgmma.mma_async")
	sum, _, _ := strings.Cut(text[at+strings.Index(text[at:], "{")+1:], ",")
	end := at + strings.Index(text[at:], "\n") + 1
	return text[:end] + "\tadd.rn.f32 " + sum + ", " + sum + ", 0f3f800000;\n" + text[end:]
}

// resources is what ptxas reports of an entry.
var resources = regexp.MustCompile(`[0-9]+ (registers|bytes spill stores|bytes smem)`)

// slabProduct returns the PTX of a product of many rows.
func slabProduct(t *testing.T, op ir.Op, dt dtype.DType) string {
	t.Helper()
	rows := ir.Sym(&ir.Symbol{Name: "tokens", Min: 1, Max: 512})
	x := ir.CaseArg{Type: ir.Type{DType: dtype.F32, Shape: []ir.Dim{rows, ir.Const(4096)}}}
	w := ir.CaseArg{Type: ir.Type{DType: dt, Shape: ir.Dims(256, 4096)}, Weight: true}
	c := ir.Case{Args: []ir.CaseArg{x, w}, Sizes: map[string]int64{"tokens": 1}}
	if op == ir.OpMatMulSwiGLU {
		c.Args, c.Attr = append(c.Args, w), &ir.MatMulSwiGLUAttr{To: dtype.F32}
	}
	call, err := irtest.Case(op, c, 1)
	if err != nil {
		t.Fatal(err)
	}
	nodes := call.Module.Func(call.Func).Nodes
	list, err := gpu.Lower(nodes[slices.IndexFunc(nodes, func(n *ir.Node) bool { return n.Op == op })], assumed(SM90a))
	if err != nil {
		t.Fatal(err)
	}
	if list[0].Kernel.Needs&kir.CapSlab == 0 {
		t.Errorf("%v with matrices of %v has no slabs", op, dt)
	}
	return emit(t, list[0].Kernel, SM90a)
}
