//go:build armbe || arm64be || m68k || mips || mips64 || mips64p32 || ppc || ppc64 || s390 || s390x || shbe || sparc || sparc64

package runtime

// Weights and arrays are read as they are stored, which is little-endian: a processor of the
// other kind would compute with other numbers, so programs for one do not compile.
const _ = weightsAndArraysAreLittleEndianAndThisProcessorIsNot
