package spirv

import (
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// declared returns the operands of the instructions of an opcode.
func declared(module []uint32, code opcode) (out [][]uint32) {
	for at := headerWords; at < len(module); at += int(module[at] >> 16) {
		if opcode(module[at]) == code {
			out = append(out, module[at+1:at+int(module[at]>>16)])
		}
	}
	return out
}

// TestOnlyUsedCapabilitiesAreDeclared lists the capabilities besides those of 32-bit integers in device memory, and the
// execution modes besides the size of the workgroup.
func TestOnlyUsedCapabilitiesAreDeclared(t *testing.T) {
	load := func(ts ...kir.Type) func(b *builder) {
		return func(b *builder) {
			for _, t := range ts {
				b.keep(b.read(t))
			}
		}
	}
	share := func(elem kir.Type) func(b *builder) {
		return func(b *builder) { b.SharedStore(b.NewShared("s", elem, 2), b.n, b.Bitcast(b.m, elem)) }
	}
	tests := []struct {
		name  string
		fill  func(b *builder)
		caps  []capability
		modes []uint32
	}{
		{"words", load(types(kir.U32, kir.U64)...), nil, nil},
		{"packed", load(kir.Vector(kir.I8, 4), kir.Vector(kir.F16, 2), kir.Vector(kir.BF16, 4)), nil, nil},
		{"floats moved", load(types(kir.F32)...), nil, nil},
		{"bytes", load(kir.Scalar(kir.I8)), []capability{capStorageBuffer8BitAccess}, nil},
		{"halves", load(kir.Scalar(kir.F16)), []capability{capStorageBuffer16BitAccess}, nil},
		{"two bytes", load(kir.Vector(kir.U8, 2)), []capability{capStorageBuffer16BitAccess}, nil},
		{"floats", func(b *builder) { b.keep(b.Exp(b.Float(1))) }, []capability{capSignedZeroInfNanPreserve}, []uint32{modeSignedZeroInfNanPreserve, 32}},
		{"conversion of integers", func(b *builder) { b.keep(b.Convert(b.n, kir.I8)) }, []capability{capStorageBuffer8BitAccess}, nil},
		{"conversion of floats", func(b *builder) { b.keep(b.Convert(b.read(kir.Vector(kir.F16, 2)), kir.I32)) },
			[]capability{capSignedZeroInfNanPreserve}, []uint32{modeSignedZeroInfNanPreserve, 32}},
		{"arithmetic on halves", func(b *builder) {
			x := b.read(kir.Vector(kir.F16, 2))
			b.keep(b.Add(x, x))
		}, []capability{capFloat16, capStorageBuffer16BitAccess, capSignedZeroInfNanPreserve, capRoundingModeRTE},
			[]uint32{modeSignedZeroInfNanPreserve, 16, modeRoundingModeRTE, 16}},
		{"shared words", share(kir.Vector(kir.U8, 4)), nil, nil},
		{"shared bytes", func(b *builder) { b.SharedStore(b.NewShared("s", kir.Scalar(kir.U8), 2), b.n, b.Convert(b.n, kir.U8)) }, []capability{capInt8}, nil},
		{"shared halves", func(b *builder) { b.SharedStore(b.NewShared("s", kir.Scalar(kir.F16), 2), b.n, b.Bits(kir.F16, 1)) }, []capability{capInt16}, nil},
		{"lane", func(b *builder) { b.keep(b.Lane()) }, []capability{capGroupNonUniform}, nil},
		{"reduction", func(b *builder) { b.keep(b.ReduceAdd(b.n)) }, []capability{capGroupNonUniform, capGroupNonUniformArithmetic}, nil},
		{"shuffle", func(b *builder) { b.keep(b.ShuffleXor(b.n, 1)) }, []capability{capGroupNonUniform, capGroupNonUniformShuffle}, nil},
		{"dot", func(b *builder) { b.keep(b.Dot4(b.m, b.m, b.n)) }, []capability{capDotProductInput4x8BitPacked, capDotProduct}, nil},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			module := words32(t, sample(t, "k", tt.fill))
			validate(t, module)
			want := append([]capability{capShader, capInt64, capVulkanMemoryModel}, tt.caps...)
			want = append(want, capPhysicalStorageBufferAddresses)
			slices.Sort(want)
			var got []capability
			for _, c := range declared(module, opCapability) {
				got = append(got, capability(c[0]))
			}
			if !slices.Equal(got, want) {
				t.Errorf("capabilities %d instead of %d", got, want)
			}
			var modes []uint32
			for _, m := range declared(module, opExecutionMode)[1:] {
				modes = append(modes, m[1:]...)
			}
			if !slices.Equal(modes, tt.modes) {
				t.Errorf("modes %d instead of %d", modes, tt.modes)
			}
		})
	}
}

// TestFloatArithmeticIsNotContracted counts the decorations.
func TestFloatArithmeticIsNotContracted(t *testing.T) {
	module := words32(t, sample(t, "k", func(b *builder) {
		x, i := b.read(kir.Vector(kir.F32, 4)), b.n
		x = b.FMA(b.Add(x, x), b.Sub(x, x), b.Div(b.Mul(x, x), b.Neg(x)))
		b.keep(b.Min(x, b.Exp(x)))
		b.keep(b.Mul(i, b.Add(i, b.Neg(i))))
	}))
	got := 0
	for _, d := range declared(module, opDecorate) {
		if d[1] == decorationNoContraction {
			got++
		}
	}
	if got != 6 {
		t.Errorf("%d instructions are decorated instead of add, sub, mul, div, neg and fma", got)
	}
}

// TestFeaturesBelongToCapabilities covers the capabilities that are not always there, and that have a feature.
func TestFeaturesBelongToCapabilities(t *testing.T) {
	got := Features(words32(t, sample(t, "k", func(b *builder) {
		b.keep(b.Convert(b.n, kir.I8))
		b.keep(b.ReduceAdd(b.Dot4(b.m, b.m, b.n)))
	})))
	want := []string{"bufferDeviceAddress", "shaderInt64", "shaderIntegerDotProduct", "storageBuffer8BitAccess", "vulkanMemoryModel"}
	if !slices.Equal(got, want) {
		t.Errorf("%q instead of %q", got, want)
	}
}

func TestEmitRefuses(t *testing.T) {
	tests := []struct {
		name   string
		damage func(k *kir.Kernel)
		want   string
	}{
		{"invalid kernel", func(k *kir.Kernel) { k.Threads = 0 }, "0 threads"},
		{"capability", func(k *kir.Kernel) { k.Needs = 0 }, "k: add needs a capability that the kernel does not list"},
		{"copies", func(k *kir.Kernel) {
			k.Body.Instrs = append(k.Body.Instrs, &kir.Instr{Op: kir.OpCopyCommit})
			k.Needs |= kir.CapAsync
		}, "k: SPIR-V has no copy_commit: build the kernel for a machine without asynchronous copies"},
		{"slabs", func(k *kir.Kernel) {
			k.Threads = kir.SlabThreads
			k.Body.Instrs = append(k.Body.Instrs, &kir.Instr{Op: kir.OpSlabFence})
			k.Needs |= kir.CapSlab
		}, "k: SPIR-V has no slab_fence: build the kernel for a machine without slabs"},
	}
	for _, tt := range tests {
		k := sample(t, "k", func(b *builder) {
			x := b.read(kir.Scalar(kir.F16))
			b.keep(b.Add(x, x))
		})
		tt.damage(k)
		if _, err := Emit(k); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
