//go:build armbe || arm64be || m68k || mips || mips64 || mips64p32 || ppc || ppc64 || s390 || s390x || shbe || sparc || sparc64

package runtime

// Weights and arrays are used as they are stored, in little-endian order. On a big-endian processor they would be
// other numbers, so programs for one do not compile.
const _ = weightsAndArraysAreLittleEndianAndThisProcessorIsNot
