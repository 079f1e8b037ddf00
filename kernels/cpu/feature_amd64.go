//go:build !purego

package cpu

// features is what this processor and operating system can run. It is read once, when the
// implementation is chosen.
type features struct {
	avx2   bool // AVX2, FMA, F16C and BMI2, with 256-bit registers saved
	avx512 bool // AVX-512 F, BW, DQ and VL as well, with 512-bit registers saved
	vnni   bool // AVX512_VNNI as well
	bf16   bool // AVX512_BF16 as well
	amx    bool // AVX-512 VNNI and AMX with bfloat16 and bytes, which the system lets this process use
	intel  bool // made by Intel

	vexVNNI bool // AVX2 and AVX-VNNI: AMD's processors since Zen 5, Intel's since Alder Lake and Sapphire Rapids
}

// zen5 reports whether it is AMD's Zen 5 or a later one.
func (f features) zen5() bool { return !f.intel && f.vexVNNI }

// zen4 reports whether it is AMD's Zen 4.
func (f features) zen4() bool { return !f.intel && f.vnni && !f.vexVNNI }

// Bits of CPUID and XCR0: Intel 64 and IA-32 Architectures Software Developer's Manual,
// volume 2, CPUID; volume 1, 13.3.
const (
	leaf1FMA, leaf1OSXSAVE, leaf1AVX, leaf1F16C = 1 << 12, 1 << 27, 1 << 28, 1 << 29 // ecx

	leaf7AVX2, leaf7BMI2              = 1 << 5, 1 << 8 // ebx
	leaf7F, leaf7DQ, leaf7BW, leaf7VL = 1 << 16, 1 << 17, 1 << 30, 1 << 31
	leaf7VNNI                         = 1 << 11        // ecx
	leaf7VEXVNNI, leaf7BF16           = 1 << 4, 1 << 5 // eax of subleaf 1
	leaf7AMX                          = 1<<22 | 3<<24  // edx: AMX-BF16, AMX-TILE, AMX-INT8

	stateAVX    = 0x06    // XMM and YMM
	stateAVX512 = 0xe6    // and opmasks, upper halves of ZMM0-15, ZMM16-31
	stateAMX    = 0x60000 // configuration and data of tile registers

	vendorIntel = 0x756e6547 // ebx of leaf 0: "Genu"
)

// detect reads the features. XGETBV may be executed only where OSXSAVE is set.
func detect() features {
	const need = leaf1FMA | leaf1OSXSAVE | leaf1AVX | leaf1F16C
	most, vendor, _, _ := cpuid(0, 0)
	_, _, ecx1, _ := cpuid(1, 0)
	if most < 7 || !has(ecx1, need) {
		return features{}
	}
	subleaves, ebx7, ecx7, edx7 := cpuid(7, 0)
	state := xgetbv()
	f := features{intel: vendor == vendorIntel}
	f.avx2 = has(state, stateAVX) && has(ebx7, leaf7AVX2|leaf7BMI2)
	f.avx512 = f.avx2 && has(state, stateAVX512) && has(ebx7, leaf7F|leaf7DQ|leaf7BW|leaf7VL)
	f.vnni = f.avx512 && has(ecx7, leaf7VNNI)
	if f.avx2 && subleaves >= 1 {
		eax71, _, _, _ := cpuid(7, 1)
		f.bf16, f.vexVNNI = f.vnni && has(eax71, leaf7BF16), has(eax71, leaf7VEXVNNI)
	}
	f.amx = f.vnni && has(edx7, leaf7AMX) && has(state, stateAMX) && allowTiles()
	return f
}

// has reports whether all bits of a mask are set.
func has(word, mask uint32) bool { return word&mask == mask }
