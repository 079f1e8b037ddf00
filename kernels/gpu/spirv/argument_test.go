package spirv

import (
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// TestArgumentsAreEightBytesApart looks at the types of blocks of arguments, which are read-only.
func TestArgumentsAreEightBytesApart(t *testing.T) {
	for _, args := range []int{1, 2, 17} {
		b := kir.NewBuilder("k", 1)
		out := b.Arg("out", kir.U64)
		for range args - 1 {
			b.Store(out, b.Arg("n", kir.I32))
		}
		k, err := b.Kernel()
		if err != nil {
			t.Fatal(err)
		}
		module := words32(t, k)
		validate(t, module)
		var offsets []uint32
		readOnly, block := 0, declared(module, opTypeStruct)[0]
		for _, d := range declared(module, opMemberDecorate) {
			switch {
			case d[0] != block[0]:
			case d[2] == decorationOffset:
				offsets = append(offsets, d[3])
			case d[2] == decorationNonWritable:
				readOnly++
			}
		}
		var want []uint32
		for i := range args {
			want = append(want, uint32(8*i))
		}
		if !slices.Equal(offsets, want) {
			t.Errorf("%d arguments: offsets %d", args, offsets)
		}
		if readOnly != args {
			t.Errorf("%d of %d arguments are read-only", readOnly, args)
		}
	}
}
