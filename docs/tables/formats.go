package main

import (
	"fmt"
	"strings"

	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// formatsPage describes the formats of weights: how files store them, how programs do, and which kernels there are.
func formatsPage() string {
	var b strings.Builder
	b.WriteString(generated + "# Weight formats\n\n```sh\n./ggmlc inspect model.gguf            # names the format of each tensor\n" +
		"./ggmlc build model.gguf -o story      # formats may be mixed in one file\n```\n\n" +
		"*In files* is the bits of an element of a GGUF tensor. *In programs* is how its matrices are stored for products on the CPU: in\n" +
		"panels of 16 rows, in the same format or in one that holds exactly the same values ([`expand`](grammar.md)). *Kernels* are those of\n" +
		"`--cpu`; the largest that the processor has runs. Vectors, such as those of norms, are f32 in programs.\n\n" +
		"| format | in files | in programs | bits there | activations | kernels |\n|---|---:|---|---:|---|---|\n")
	for d := range dtype.NumDTypes {
		if !d.Valid() || d.IsInt() || d.IsActivation() || d.IsExpansion() || d == dtype.F64 {
			continue
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(formatCells(d), " | "))
	}
	b.WriteString("\nCaches of keys and values are f16, f32, q8_0 or q4_0 (`--kv`).\n\n" + conversion() + "## How they are tested\n\n" +
		"| what | against what | where |\n|---|---|---|\n" +
		"| decoding, bit by bit | blocks that ggml's functions have decoded | `ir/dtype/testdata` |\n" +
		"| expanded blocks, bit by bit | the blocks they were made of, and ggml's elements | `ir/dtype`; in each program three panels of each matrix (`codegen/readback`) |\n" +
		"| panels | unpacked again, bit by bit | `kernels/cpu/tile` |\n" +
		"| products, gathers, experts of each implementation | float64; for one block also pure Go, bit by bit | `kernels/cpu` |\n" +
		"| programs of random models | float64, each implementation and number of threads | `tests/accuracy` |\n" +
		"| random models and graphs on random machines | the program for the CPU alone | `tests/seams` |\n")
	return b.String()
}

// conversion describes --quantize.
func conversion() string {
	var b strings.Builder
	b.WriteString("## Conversion\n\n```sh\n./ggmlc build model.gguf -o story --quantize Q4_K\n```\n\n" +
		"converts matrices of f32, f16 and bf16 when the program is built, without a matrix of importances. q8_0 and q4_0 are those of ggml's\n" +
		"reference, bit by bit. For the other formats a search (`encoder` in `ir/dtype`) makes the sum of squared errors small: their errors\n" +
		"are those of llama-quantize or smaller (`TestEncodingLosesNoMoreThanGGML`). Routers and positions stay as they are.\n\n" +
		"Matrices whose rows are no whole blocks of 256 elements get the format that llama-quantize takes, with blocks of 32. They stay\n" +
		"as they are if their rows are no whole blocks of that either. A note of `build` names them.\n\n" +
		"| `--quantize` | in its place |\n|---|---|\n")
	for d := range dtype.NumDTypes {
		if to := arch.InPlaceOf(d); to.Valid() {
			fmt.Fprintf(&b, "| `%v` | `%v` |\n", d, to)
		}
	}
	return b.String() + "\n"
}

// formatCells returns the cells of a format's row.
func formatCells(d dtype.DType) []string {
	typ, err := gguf.TypeOf(d)
	if err != nil {
		panic(err) // all other formats are in files
	}
	in := d
	if x := d.Expansion(); x.Valid() {
		in = x
	}
	act, _ := tile.Activation(in)
	var kernels []string
	for _, t := range tile.Table {
		if t.Weight == in {
			kernels = append(kernels, string(t.Feature))
		}
	}
	elems := d.BlockElems()
	there := float64(8*in.PanelBlockBytes()) / float64(dtype.PanelRows*in.BlockElems())
	return []string{
		fmt.Sprintf("`%v`", typ), fmt.Sprintf("%.4g", float64(8*d.BlockBytes())/float64(elems)),
		fmt.Sprintf("`%v`", in), fmt.Sprintf("%.4g", there), fmt.Sprintf("`%v`", act), strings.Join(kernels, ", "),
	}
}
