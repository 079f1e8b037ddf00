package gpu

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/tests/e2etest"
)

// chained has elementwise nodes of one shape, with a row, a column and a scalar that are repeated, rows that kernels
// read in vectors and others, and layers that become a repeat.
const chained = `ggir 1
props imported
symbol n 1 40
func @odd(%x: f32[n,65], %z: f32[n,65], %row: f32[65], %column: f32[n,1]) -> (y: f32[n,65]) {
  %a = mul %x, %row
  %b = scale %a {scale=0.3, bias=-0.1}
  %c = silu %b
  %d = add %c, %a
  %e = sub %d, %column
  %f = gelu %z
  %y = div %f, %e
  return %y
}
func @flat(%x: f32[n,64], %z: f32[n,64]) -> (y: f32[n,64]) {
  %a = swiglu %x, %z
  %b = exp %a
  %c = tanh %b
  %d = mul %c, %x
  %y = max %d, %z
  return %y
}
func @layers(%x: f32[n,48], %s: f32[]) -> (y: f32[n,48]) {
LAYERS  return %x8
}
`

// chainedText returns the module with its layers written out.
func chainedText() string {
	const layer = "  %aO = scale %xI {scale=0.9, bias=0.01}\n  %bO = sigmoid %aO\n  %cO = mul %bO, %s\n  %xO = add %cO, %xI\n"
	var layers strings.Builder
	for i := range 8 {
		in := ""
		if i > 0 {
			in = string(rune('0' + i))
		}
		layers.WriteString(strings.NewReplacer("%xI", "%x"+in, "O", string(rune('1'+i))).Replace(layer))
	}
	return strings.Replace(chained, "LAYERS", layers.String(), 1)
}

// TestChainsComputeWhatTheirNodesDo compares every bit of what GPUs compute by chains with what they compute node by
// node.
func TestChainsComputeWhatTheirNodesDo(t *testing.T) {
	for _, kind := range []string{"gpusim", "vulkan"} {
		t.Run(kind, func(t *testing.T) {
			if kind == "vulkan" {
				needVulkan(t)
			}
			dir := t.TempDir()
			module, one, several := filepath.Join(dir, "chained.ggir"), filepath.Join(dir, "one"), filepath.Join(dir, "several")
			e2etest.WriteFile(t, module, []byte(chainedText()))
			flags := []string{module, "--targets", kind + ",cpu", "--deny", "cpu"}
			if n := strings.Count(string(e2etest.GGMLC(t, append([]string{"dump"}, flags...)...)), " = chain "); n != 3 {
				t.Errorf("%d chains, not one in each function and one in the layer", n)
			}
			e2etest.GGMLC(t, append([]string{"build", "-o", one}, flags...)...)
			e2etest.GGMLC(t, append([]string{"build", "-o", several, "--disable", "chain"}, flags...)...)
			for _, rows := range []int{1, 3, 40} {
				for fn, shapes := range map[string]map[string][]int{
					"odd":    {"x": {rows, 65}, "z": {rows, 65}, "row": {65}, "column": {rows, 1}},
					"flat":   {"x": {rows, 64}, "z": {rows, 64}},
					"layers": {"x": {rows, 48}, "s": {}},
				} {
					args := []string{"call", fn}
					for name, shape := range shapes {
						path := filepath.Join(dir, name+".npy")
						e2etest.WriteFile(t, path, randomNPY(t, shape, uint64(rows)))
						args = append(args, name+"="+path)
					}
					results := func(exe string) []byte {
						out := t.TempDir()
						e2etest.Command{Args: append(append([]string{exe}, args...), "-o", out)}.Run(t)
						return e2etest.ReadFile(t, filepath.Join(out, "y.npy"))
					}
					if !bytes.Equal(results(one), results(several)) {
						t.Errorf("%s of %d rows: chains compute something else", fn, rows)
					}
				}
			}
		})
	}
}

// randomNPY returns a file with an array of random numbers.
func randomNPY(t *testing.T, shape []int, seed uint64) []byte {
	t.Helper()
	random, elems := rand.New(rand.NewPCG(seed, uint64(len(shape)))), 1
	for _, n := range shape {
		elems *= n
	}
	var data []byte
	for range elems {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(random.NormFloat64())))
	}
	var b bytes.Buffer
	if err := runtime.WriteNPY(&b, runtime.Array{Type: dtype.F32, Shape: shape, Data: data}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
