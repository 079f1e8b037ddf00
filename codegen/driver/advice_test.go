package driver

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

// TestMatricesThatDoNotFitAreNamed: the text states what happens to which rows, and names matrices in the order of the module.
func TestMatricesThatDoNotFitAreNamed(t *testing.T) {
	m := &ir.Module{}
	md := &Model{Module: m}
	if text, err := md.KeptWeights(); text != "" || err != nil {
		t.Errorf("a module without such matrices has the text %q, error %v", text, err)
	}
	m.SetMeta("arch.kept", `{"Type": "q4_k", "Block": 256, "Wanted": 9, "Kept": 7, "Misfits": [
		{"Name": "blk.*.ffn_up.weight", "Row": 96, "Type": "q5_0", "Count": 2},
		{"Name": "blk.*.ffn_down.weight", "Row": 97, "Count": 2},
		{"Name": "blk.*.attn_output.weight", "Row": 64, "Type": "q5_0", "Count": 2},
		{"Name": "output.weight", "Row": 96, "Type": "q5_0", "Count": 1}]}`)
	const want = "--quantize q4_k converts 2 of 9 matrices: the rows of the others are no whole blocks of 256 elements; converted to q5_0: " +
		"rows of 96 (blk.*.ffn_up.weight, output.weight), rows of 64 (blk.*.attn_output.weight); not converted: rows of 97 (blk.*.ffn_down.weight)"
	if text, err := md.KeptWeights(); text != want || err != nil {
		t.Errorf("%s, error %v; want %s", text, err, want)
	}
}
