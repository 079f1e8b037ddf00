package gpu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/tests/e2etest"
)

// The feed-forward blocks of a random model like mixtral: each token takes two of eight experts in each layer.
const (
	moeLayers, moeExperts, moeWidth, moeInner = 2, 8, 32, 96

	moeLayer = `  %rL = weight "routerL"
  %gateL = weight "gateL"
  %upL = weight "upL"
  %downL = weight "downL"
  %logitsL = matmul %xL, %rL
  %idxL = top_k %logitsL {k=2}
  %takenL = take %logitsL, %idxL
  %pL = softmax %takenL
  %rowsL = reshape %xL {shape=[n,1,32]}
  %gL = experts_matmul %rowsL, %gateL, %idxL
  %uL = experts_matmul %rowsL, %upL, %idxL
  %hL = swiglu %gL, %uL
  %dL = experts_matmul %hL, %downL, %idxL
  %sL = experts_sum %dL, %pL
  %xN = add %sL, %xL
`
)

// moeText returns the module. Experts are in memory of the host.
func moeText() string {
	var weights, nodes strings.Builder
	for l := range moeLayers {
		fmt.Fprintf(&weights, "weight \"router%d\" : f32[8,32] = m[\"router%d\"]\n", l, l)
		for _, w := range []string{"gate%d\" : f32[8,96,32] @host = m[\"gate%d\"]", "up%d\" : f16[8,96,32] @host = m[\"up%d\"]", "down%d\" : f32[8,32,96] @host = m[\"down%d\"]"} {
			fmt.Fprintf(&weights, "weight \""+w+"\n", l, l)
		}
		nodes.WriteString(strings.NewReplacer("xN", fmt.Sprint("x", l+1), "L", fmt.Sprint(l)).Replace(moeLayer))
	}
	return "ggir 1\nprops imported\nsource m \"moe.gguf\" 0\nsymbol n 1 6\n" + weights.String() +
		"func @moe(%x0: f32[n,32]) -> (y: f32[n,32]) {\n" + nodes.String() + fmt.Sprintf("  return %%x%d\n}\n", moeLayers)
}

// writeMoE writes the module and its weights into a folder, and returns the path of the module.
func writeMoE(t *testing.T, dir string) string {
	random := rand.New(rand.NewPCG(1, 2))
	w := gguf.NewWriter()
	add := func(name string, typ gguf.TensorType, shape ...int) {
		n := 1
		for _, d := range shape {
			n *= d
		}
		w.Tensor(name, typ, shape, func(out io.Writer) error {
			var b []byte
			for range n {
				x := float32(random.NormFloat64() / 4)
				if typ == gguf.TensorF16 {
					b = binary.LittleEndian.AppendUint16(b, dtype.F32ToF16(x))
				} else {
					b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
				}
			}
			_, err := out.Write(b)
			return err
		})
	}
	for l := range moeLayers {
		add(fmt.Sprint("router", l), gguf.TensorF32, moeExperts, moeWidth)
		add(fmt.Sprint("gate", l), gguf.TensorF32, moeExperts, moeInner, moeWidth)
		add(fmt.Sprint("up", l), gguf.TensorF16, moeExperts, moeInner, moeWidth)
		add(fmt.Sprint("down", l), gguf.TensorF32, moeExperts, moeWidth, moeInner)
	}
	if err := w.WriteFile(filepath.Join(dir, "moe.gguf")); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "moe.ggir")
	e2etest.WriteFile(t, text, []byte(moeText()))
	return text
}

// TestChosenExpertsAreCopied runs a mixture of experts on GPUs, with the experts in memory of the host. To a GPU that
// does not address them, the plan copies only the experts that the router has chosen.
func TestChosenExpertsAreCopied(t *testing.T) {
	needVulkan(t)
	dir := t.TempDir()
	text := writeMoE(t, dir)
	plain := e2etest.BuildTo(t, filepath.Join(dir, "plain"), nil, text)
	for i, m := range []struct {
		e2etest.Machine
		copies int // of experts
	}{
		{e2etest.Machine{Name: "one", Targets: onVulkan, Flags: []string{"--pin", ".*=vulkan"}}, 3 * moeLayers},
		{e2etest.Machine{Name: "routers on the processor", Targets: "target vulkan like=vulkan space=vulkan ops=-top_k,-take\ntarget cpu like=cpu\n", Flags: []string{"--pin", "^[guhdsx][0-9]$=vulkan"}}, 3 * moeLayers},
		{e2etest.Machine{Name: "two", Targets: "target vulkan:0 like=vulkan space=a\ntarget vulkan:1 like=vulkan space=b\ntarget cpu like=cpu\n", Flags: []string{"--pin", "0$=vulkan:0", "--pin", "[12]$=vulkan:1"}}, 3 * moeLayers},
		{e2etest.Machine{Name: "shared", Targets: onHost, Flags: []string{"--pin", ".*=vulkan"}}, 0},
	} {
		t.Run(m.Name, func(t *testing.T) {
			targets := filepath.Join(dir, "machine.targets")
			e2etest.WriteFile(t, targets, []byte(strings.ReplaceAll(m.Targets, "\n", " link=1e9 linkdelay=1e-9\n"))) // for small matrices
			flags := append([]string{text, "--target-file", targets}, m.Flags...)
			dump := string(e2etest.GGMLC(t, append([]string{"dump", "--after", "check"}, flags...)...))
			if n := strings.Count(dump, "= copy_experts "); n != m.copies {
				t.Errorf("%d copies of experts, want %d", n, m.copies)
			}
			exe := filepath.Join(dir, fmt.Sprint("gpu", i))
			e2etest.GGMLC(t, append([]string{"build", "-o", exe}, flags...)...)
			for n := 1; n <= 6; n++ {
				got, want := callMoE(t, exe, n), callMoE(t, plain, n)
				for k, x := range got {
					if math.Abs(float64(x-want[k])) > 1e-2*(1+math.Abs(float64(want[k]))) {
						t.Fatalf("%d tokens: y[%d] = %v, the processor computes %v", n, k, x, want[k])
					}
				}
			}
		})
	}
}

// callMoE returns what a program computes for n random tokens.
func callMoE(t *testing.T, exe string, n int) []float32 {
	t.Helper()
	dir, random := t.TempDir(), rand.New(rand.NewPCG(uint64(n), 3))
	var data []byte
	for range n * moeWidth {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(random.NormFloat64())))
	}
	var b bytes.Buffer
	if err := runtime.WriteNPY(&b, runtime.Array{Type: dtype.F32, Shape: []int{n, moeWidth}, Data: data}); err != nil {
		t.Fatal(err)
	}
	x := filepath.Join(dir, "x.npy")
	e2etest.WriteFile(t, x, b.Bytes())
	if out, err := exec.Command(exe, "call", "moe", "x0="+x, "-o", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	y, err := runtime.ReadNPY(bytes.NewReader(e2etest.ReadFile(t, filepath.Join(dir, "y.npy"))), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]float32, n*moeWidth)
	for i := range list {
		list[i] = math.Float32frombits(binary.LittleEndian.Uint32(y.Data[4*i:]))
	}
	return list
}
