package spirv

import "encoding/binary"

// words is a sequence of instructions of a module.
type words []uint32

// op appends an instruction. Its first word has the number of words above the opcode (SPIR-V specification, 2.3).
func (w *words) op(code opcode, operands ...uint32) {
	*w = append(*w, uint32(1+len(operands))<<16|uint32(code))
	*w = append(*w, operands...)
}

// literal returns a string as operands: UTF-8, four bytes in a word from the lowest, ended by at least one zero.
func literal(s string) []uint32 {
	out := make([]uint32, len(s)/4+1)
	for i := range len(s) {
		out[i/4] |= uint32(s[i]) << (8 * (i % 4))
	}
	return out
}

// Bytes returns the words of a module as bytes, in little-endian order.
func Bytes(words []uint32) []byte {
	out := make([]byte, 0, 4*len(words))
	for _, w := range words {
		out = binary.LittleEndian.AppendUint32(out, w)
	}
	return out
}
