// Package gguf reads and writes GGUF, the container of ggml's models, versions 2 and 3.
//
// The format (docs/gguf.md in ggml-org/ggml), all of it little-endian here:
//
//	"GGUF" | u32 version | u64 tensors | u64 keys
//	keys:    string name | u32 value type | value
//	tensors: string name | u32 dimensions n | n x u64 size, innermost first | u32 type | u64 offset
//	padding up to a multiple of general.alignment (32 if that key is absent)
//	tensor data, each tensor at its offset from here
//
// A string is a u64 length and that many bytes; an array is a u32 element type, a u64 count and the elements.
//
// The reader trusts nothing. It compares every length with the rest of the file before it allocates or skips
// anything. Of values it keeps only the places: strings, arrays and tensors are read on demand. In a file that it
// accepts, each tensor is inside the file, no two tensors overlap, less than the alignment follows the last one, and no
// sum overflows.
package gguf
