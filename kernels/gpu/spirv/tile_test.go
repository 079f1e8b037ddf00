package spirv

import (
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// tiles fills a kernel with all operations on tiles of a kind.
func (b *builder) tiles(k kir.Kind) {
	zero, one := b.Int(0), b.Int(1)
	words, sums := b.NewShared("words", kir.Vector(k, 4), 128), b.NewShared("sums", kir.Scalar(kir.F32), 512)
	single := b.NewShared("single", kir.Scalar(k), 512)
	b.SharedStore(words, b.Thread(), b.read(words.Elem))
	b.SharedStore(single, b.Thread(), b.Extract(b.read(words.Elem), 1))
	b.SharedStore(sums, b.Thread(), b.Float(0))
	b.Barrier()
	x, y := kir.Tile(k, kir.TileA), kir.Tile(k, kir.TileB)
	factor := b.TileSharedLoad(x, words, zero, 6)
	start := []*kir.Value{b.TileFill(b.Float(1)), factor}
	carried := b.For(zero, b.n, one, start, func(_ *kir.Value, c []*kir.Value) []*kir.Value {
		other := b.TileMulAdd(c[1], b.TileSharedLoad(y, words, zero, 4), c[0])
		return []*kir.Value{other, b.TileTurned(x, single, zero, 24)}
	})
	sum := b.Choose(b.Eq(b.Subgroup(), zero), func() []*kir.Value {
		return []*kir.Value{b.TileMulAdd(b.TileLoad(x, b.x, 16), b.TileTurned(y, words, zero, 4), carried[0])}
	}, func() []*kir.Value {
		return []*kir.Value{b.TileSharedLoad(kir.Tile(kir.F32, kir.TileSum), sums, zero, 20)}
	})[0]
	sum = b.TileMulAdd(b.TileLoad(x, b.x, 24), b.TileLoad(y, b.x, 32), sum)
	sum = b.TileMulAdd(factor, b.TileLoad(y, b.x, 16), sum)
	b.TileSharedStore(sums, zero, b.TileMulAdd(factor, b.TileLoad(y, b.x, 16), sum), 16)
	b.TileLoad(kir.Tile(kir.F32, kir.TileSum), b.y, 16)
}

// instructions calls visit for each instruction of a module, with its words after the first one.
func instructions(module []uint32, visit func(code opcode, operands []uint32)) {
	for at := headerWords; at < len(module); at += int(module[at] >> 16) {
		visit(opcode(module[at]), module[at+1:at+int(module[at]>>16)])
	}
}

// defined is the instruction that gives an id, with the type of the result and the other operands.
type defined struct {
	code     opcode
	typ      id
	operands []uint32
}

// definitions returns what gives the ids that instructions on matrices have as operands.
func definitions(module []uint32) map[id]defined {
	all := make(map[id]defined)
	instructions(module, func(code opcode, o []uint32) {
		switch code {
		case opTypeFloat, opTypeInt, opTypeVector, opTypePointer, opTypeCooperativeMatrixKHR:
			all[o[0]] = defined{code, 0, o[1:]}
		case opConstant, opCooperativeMatrixLoadKHR, opCooperativeMatrixMulAddKHR, opAccessChain, opPhi, opCompositeConstruct:
			all[o[1]] = defined{code, o[0], o[2:]}
		}
	})
	return all
}

// TestTilesAreCooperativeMatrices checks the instructions against the text of SPV_KHR_cooperative_matrix: spirv-val of 2023
// does not know them.
func TestTilesAreCooperativeMatrices(t *testing.T) {
	for _, k := range []kir.Kind{kir.F16, kir.BF16} {
		module := words32(t, sample(t, "k", func(b *builder) { b.tiles(k) }))
		all := definitions(module)
		constant := func(x id) uint32 {
			if d := all[x]; d.code == opConstant {
				return d.operands[0]
			}
			t.Fatalf("%v: %d is no constant", k, x)
			return 0
		}
		use := func(x id) uint32 { // of a value
			m := all[all[x].typ]
			if m.code != opTypeCooperativeMatrixKHR {
				t.Fatalf("%v: %d is no matrix", k, x)
			}
			return constant(m.operands[4])
		}
		count := make(map[opcode]int)
		instructions(module, func(code opcode, o []uint32) {
			count[code]++
			switch code {
			case opTypeCooperativeMatrixKHR:
				want := []uint32{16}
				if constant(o[5]) == matrixAccumulator {
					want[0] = 32
				} else if k == kir.BF16 {
					want = append(want, encodingBFloat16KHR)
				}
				if f := all[o[1]]; f.code != opTypeFloat || !slices.Equal(f.operands, want) {
					t.Errorf("%v: the components of use %d are %v", k, constant(o[5]), f)
				}
				if got := []uint32{constant(o[2]), constant(o[3]), constant(o[4])}; !slices.Equal(got, []uint32{scopeSubgroup, 16, 16}) {
					t.Errorf("%v: scope, rows and columns are %d", k, got)
				}
			case opCooperativeMatrixMulAddKHR:
				if got := []uint32{use(o[2]), use(o[3]), use(o[4]), use(o[1])}; len(o) != 5 || !slices.Equal(got, []uint32{matrixA, matrixB, matrixAccumulator, matrixAccumulator}) {
					t.Errorf("%v: a product of uses %d", k, got)
				}
			case opCooperativeMatrixLoadKHR, opCooperativeMatrixStoreKHR:
				if code == opCooperativeMatrixLoadKHR {
					o = append([]uint32{o[2], o[1]}, o[3:]...)
				}
				// Pointer, object, layout, stride, memory operands.
				p := all[all[o[0]].typ]
				elem := all[p.operands[1]]
				if elem.code != opTypeInt && elem.code != opTypeFloat && elem.code != opTypeVector || all[o[0]].code != opAccessChain {
					t.Errorf("%v: a pointer to %v, which %v gives", k, elem, all[o[0]].code)
				}
				aligned := o[4]&accessAligned != 0
				if aligned != (p.operands[0] == storagePhysicalStorageBuffer) || len(o) != map[bool]int{true: 6, false: 5}[aligned] || o[4]&accessNonPrivatePointer == 0 {
					t.Errorf("%v: memory operands %v of storage class %d", k, o[4:], p.operands[0])
				}
				if use(o[1]) == matrixAccumulator && constant(o[2]) != rowMajorKHR || constant(o[3]) == 0 {
					t.Errorf("%v: layout %d and stride %d", k, constant(o[2]), constant(o[3]))
				}
			}
		})
		if count[opTypeCooperativeMatrixKHR] != 3 || count[opCooperativeMatrixMulAddKHR] != 5 || count[opCooperativeMatrixLoadKHR] != 11 || count[opCooperativeMatrixStoreKHR] != 1 {
			t.Errorf("%v: %d matrix types, %d products, %d loads, %d stores", k, count[opTypeCooperativeMatrixKHR], count[opCooperativeMatrixMulAddKHR], count[opCooperativeMatrixLoadKHR], count[opCooperativeMatrixStoreKHR])
		}
	}
}

// TestTilesNeedCapabilities lists the capabilities, extensions and features of tiles.
func TestTilesNeedCapabilities(t *testing.T) {
	tests := []struct {
		kind       kir.Kind
		extensions []string
		features   []string
	}{
		{kir.F16, []string{"SPV_KHR_cooperative_matrix"}, []string{"cooperativeMatrix", "shaderFloat16"}},
		{kir.BF16, []string{"SPV_KHR_bfloat16", "SPV_KHR_cooperative_matrix"}, []string{"cooperativeMatrix", "shaderBFloat16CooperativeMatrix", "shaderBFloat16Type"}},
	}
	for _, tt := range tests {
		module := words32(t, sample(t, "k", func(b *builder) { b.TileLoad(kir.Tile(tt.kind, kir.TileA), b.x, 16) }))
		var extensions [][]uint32
		for _, e := range tt.extensions {
			extensions = append(extensions, literal(e))
		}
		if got := declared(module, opExtension); !slices.EqualFunc(got, extensions, slices.Equal[[]uint32]) {
			t.Errorf("%v: extensions %v", tt.kind, got)
		}
		got := Features(module)
		got = slices.DeleteFunc(got, func(f string) bool {
			return slices.Contains([]string{"bufferDeviceAddress", "shaderInt64", "vulkanMemoryModel"}, f)
		})
		if !slices.Equal(got, tt.features) {
			t.Errorf("%v: features %q instead of %q", tt.kind, got, tt.features)
		}
	}
}

// TestLayoutsOfTiles demands that the lines of a tile are rows or columns as package kir states.
func TestLayoutsOfTiles(t *testing.T) {
	tests := []struct {
		use    kir.Use
		turned bool
		layout uint32
	}{{kir.TileA, false, rowMajorKHR}, {kir.TileA, true, columnMajorKHR}, {kir.TileB, false, columnMajorKHR}, {kir.TileB, true, rowMajorKHR}}
	for _, tt := range tests {
		module := words32(t, sample(t, "k", func(b *builder) {
			s := b.NewShared("s", kir.Vector(kir.F16, 2), 256)
			load := b.TileSharedLoad
			if tt.turned {
				load = b.TileTurned
			}
			load(kir.Tile(kir.F16, tt.use), s, b.Int(0), 12)
		}))
		o := declared(module, opCooperativeMatrixLoadKHR)[0]
		all := definitions(module)
		if layout, stride := all[o[3]].operands[0], all[o[4]].operands[0]; layout != tt.layout || stride != 12 {
			t.Errorf("%v, turned %v: layout %d, stride %d", tt.use, tt.turned, layout, stride)
		}
	}
}

// Numbers of SPV_NV_cooperative_matrix, the older extension with the same instructions, which spirv-val of 2023 knows.
const (
	opTypeCooperativeMatrixNV   opcode = 5358
	opCooperativeMatrixLoadNV   opcode = 5359
	opCooperativeMatrixStoreNV  opcode = 5360
	opCooperativeMatrixMulAddNV opcode = 5361
	capCooperativeMatrixNV             = 5357
)

// TestTilesAreValidAsOlderMatrices translates a module to the older extension and validates that. It has no uses, the order of
// operands differs, and whether columns are adjacent is a constant bool.
func TestTilesAreValidAsOlderMatrices(t *testing.T) {
	module := words32(t, sample(t, "k", func(b *builder) { b.tiles(kir.F16) }))
	all := definitions(module)
	last := module[3]
	boolean, rows, columns := last, last+1, last+2
	same := make(map[id]id)  // types that become another one, by component
	first := make(map[id]id) // the first type of each component
	var out words = append(words(nil), module[:headerWords]...)
	out[3] = last + 3
	instructions(module, func(code opcode, o []uint32) {
		o = slices.Clone(o)
		switch code {
		case opTypeBool:
			boolean = o[0]
		case opCapability:
			if o[0] == uint32(capCooperativeMatrixKHR) {
				o[0] = capCooperativeMatrixNV
			}
		case opExtension:
			o = literal("SPV_NV_cooperative_matrix")
		case opTypeCooperativeMatrixKHR:
			if f, ok := first[o[1]]; ok {
				same[o[0]] = f
				return
			}
			first[o[1]], same[o[0]] = o[0], o[0]
			code, o = opTypeCooperativeMatrixNV, o[:5]
		case opCooperativeMatrixMulAddKHR:
			code = opCooperativeMatrixMulAddNV
		case opCooperativeMatrixLoadKHR, opCooperativeMatrixStoreKHR:
			at, isColumns := 3, map[bool]id{true: columns, false: rows}
			if code == opCooperativeMatrixStoreKHR {
				at = 2
			}
			layout := all[o[at]].operands[0] == columnMajorKHR
			o[at], o[at+1] = o[at+1], isColumns[layout]
			code = map[opcode]opcode{opCooperativeMatrixLoadKHR: opCooperativeMatrixLoadNV, opCooperativeMatrixStoreKHR: opCooperativeMatrixStoreNV}[code]
		case opFunction:
			if boolean == last {
				out.op(opTypeBool, boolean)
			}
			out.op(opConstantFalse, boolean, rows)
			out.op(opConstantTrue, boolean, columns)
		}
		if len(o) > 0 && same[o[0]] != 0 {
			o[0] = same[o[0]] // a result's type
		}
		out.op(code, o...)
	})
	validate(t, out)
}
