package gguf

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// badFile is a file that must be refused, with texts that its error must contain.
type badFile struct {
	name string
	data raw
	want []string
}

// badFiles are the faults that hostile.md lists for the container. They also seed the fuzz target.
func badFiles() []badFile {
	var all []badFile
	for _, group := range [][]badFile{badHeaders(), badKeys(), badArrays(), badShapes(), badPlaces()} {
		all = append(all, group...)
	}
	return all
}

func badHeaders() []badFile {
	return []badFile{
		{"empty", raw{}, []string{"header (at 0x0): the file is empty"}},
		{"1 byte", raw("G"), []string{"ends after 1 bytes: the download may be incomplete"}},
		{"3 bytes", raw("GGU"), []string{"ends after 3 bytes"}},
		{"wrong magic", raw("GGML").zeros(20), []string{`begins with "GGML", not "GGUF": this is no GGUF file`}},
		{"wrong short magic", raw("PK"), []string{`begins with "PK"`}},
		{"version 0", raw(magic).u32(0).zeros(16), []string{"version 0 is not supported, only 2 and 3"}},
		{"version 1", raw(magic).u32(1).zeros(16), []string{"version 1 is not supported", "convert the model again"}},
		{"version 4", raw(magic).u32(4).zeros(16), []string{"version 4 is not supported"}},
		{"big-endian", raw(magic).u8(0, 0, 0, 3).zeros(16), []string{"big-endian (version 3 read in that order): convert it"}},
		{"2^40 tensors", header(1<<40, 0).zeros(100), []string{"header (at 0x8): counts 1099511627776 tensors, more than 100 bytes can hold"}},
		{"-1 tensors", header(-1, 0).zeros(100), []string{"counts 18446744073709551615 tensors"}},
		{"2^40 keys", header(0, 1<<40).zeros(100), []string{"header (at 0x10): counts 1099511627776 keys, more than 100 bytes can hold"}},
		{"-1 keys", header(0, -1).zeros(100), []string{"counts 18446744073709551615 keys"}},
		{"a key too many", patchHeader(0, +1), []string{"header counts wrongly"}},
		{"a key too few", patchHeader(0, -1), []string{"header counts wrongly"}},
		{"a tensor too many", patchHeader(+1, 0), []string{"tensor 3 of 3", "header counts wrongly"}},
		{"a tensor too few", patchHeader(-1, 0), []string{`counts 1 tensors, but one named "two" follows`}},
	}
}

// patchHeader returns a valid file with wrong counts in its header.
func patchHeader(tensors, keys int64) raw {
	b := small()
	copy(b, header(2+tensors, 6+keys))
	return b
}

func badKeys() []badFile {
	return []badFile{
		{"name of 10^12", header(0, 1).u64(1e12).zeros(50), []string{"key 1 of 1 (at 0x18)", "needs 1000000000000 bytes from 0x20 on: the file may be damaged"}},
		{"name of 2^64-1", header(0, 1).u64(math.MaxUint64).zeros(50), []string{"needs 18446744073709551615 bytes"}},
		{"name of 65536", header(0, 1).key(strings.Repeat("k", 1<<16), Uint8).u8(1), []string{"65536 bytes long: at most 65535 are allowed"}},
		{"empty name", oneKey("", Uint32).u32(1), []string{"key 1 of 1 (at 0x18): the name is empty"}},
		{"duplicate", header(0, 2).key("a", Uint8).u8(1).key("a", Uint8).u8(1), []string{`key 2 of 2 (at 0x26): "a" is there a second time, after 0x18`}},
		{"duplicate after a NUL", header(0, 2).key("a", Uint8).u8(1).key("a\x00b", Uint8).u8(1), []string{`"a\x00b" has a NUL byte`}},
		{"not UTF-8", oneKey("\xff", Uint8).u8(1), []string{`"\xff" is not UTF-8`}},
		{"type 13", oneKey("k", 13).zeros(20), []string{`key "k" (at 0x18): value type 13 is unknown`}},
		{"type -1", oneKey("k", math.MaxUint32).zeros(20), []string{"value type -1 is unknown"}},
		{"bool 2", oneKey("k", Bool).u8(2), []string{"bool 0 is the byte 2, not 0 or 1"}},
		{"string past the end", oneKey("k", String).u64(100).zeros(99), []string{`key "k" (at 0x18)`, "inside the string, which needs 100 bytes from 0x2d on: the download may be incomplete"}},
		{"string of 2^64-1", oneKey("k", String).u64(math.MaxUint64).zeros(99), []string{"needs 18446744073709551615 bytes"}},
		{"alignment 0", oneKey(alignmentKey, Uint32).u32(0), []string{`key "general.alignment" (at 0x18): is 0, not a power of two`}},
		{"alignment 3", oneKey(alignmentKey, Uint32).u32(3), []string{"is 3, not a power of two"}},
		{"alignment 2^31", header(1, 1).key(alignmentKey, Uint32).u32(1<<31).tensor("x", 0, 0, 1).zeros(100), []string{"before the data begins"}},
		{"alignment of another type", oneKey(alignmentKey, Uint64).u64(32), []string{"is a u64, not u32"}},
		{"alignment a string", oneKey(alignmentKey, String).str("32"), []string{"is a string, not u32"}},
	}
}

func badArrays() []badFile {
	array := func(elem ValueType, n uint64) raw { return oneKey("k", Array).u32(uint32(elem)).u64(n) }
	return []badFile{
		{"array of arrays", array(Array, 1).zeros(100), []string{"an array of arrays is not supported"}},
		{"elements of type 13", array(13, 1).zeros(100), []string{"element type 13 is unknown"}},
		{"count 2^61", array(Float64, 1<<61).zeros(100), []string{"needs 18446744073709551615 bytes"}},
		{"count 2^61 of one byte", array(Bool, 1<<61).zeros(100), []string{"needs 2305843009213693952 bytes"}},
		{"count 2^40", array(Uint32, 1<<40).zeros(100), []string{"needs 4398046511104 bytes"}},
		{"2^40 strings", array(String, 1<<40).zeros(100), []string{"an array of 1099511627776 strings is longer than the 100 bytes that follow"}},
		{"string past the end", array(String, 2).str("a").u64(1).zeros(0), []string{"element 1 of 2", "a string in the array, which needs 1 bytes"}},
		{"bool 255", array(Bool, 2).u8(1, 255), []string{"bool 1 is the byte 255"}},
	}
}

func badShapes() []badFile {
	q4, q6, q8 := int32(2), int32(14), int32(8)
	all := []badFile{
		{"no dimensions", oneTensor(99, 0, 0), []string{`tensor "x" (at 0x18): it has 0 dimensions, where 1 to 4 are allowed`}},
		{"5 dimensions", oneTensor(99, 0, 0, 1, 1, 1, 1, 1), []string{"it has 5 dimensions"}},
		{"2^32-1 dimensions", header(1, 0).str("x").u32(math.MaxUint32).zeros(99), []string{"it has 4294967295 dimensions"}},
		{"negative dimension", oneTensor(99, 0, 0, math.MaxUint64), []string{"dimension 0 of", "is -1: each must be at least 1"}},
		{"zero dimension", oneTensor(99, 0, 0, 4, 0), []string{"dimension 1 of [4 0] is 0"}},
		{"2^32 x 2^32", oneTensor(99, 0, 0, 1<<32, 1<<32), []string{"more than 2^63-1 elements"}},
		{"INT64_MAX x 2", oneTensor(99, 0, 0, math.MaxInt64, 2), []string{"more than 2^63-1 elements"}},
		{"2^62-1 floats", oneTensor(99, 0, 0, 1<<62-1), []string{"more bytes than any file has"}},
		{"q8_0 of 32 x 2^57 x 4", oneTensor(99, q8, 0, 32, 1<<57, 4), []string{"more than 2^63-1 elements"}},
		{"q8_0 of 32 x 2^57", oneTensor(99, q8, 0, 32, 1<<57), []string{"go beyond the 99 bytes of data"}},
		{"2^61-1 floats", oneTensor(99, 0, 0, 1<<61-1), []string{"go beyond the 99 bytes of data"}},
		{"type -1", oneTensor(99, -1, 0, 1), []string{"tensor type -1 is unknown"}},
		{"type 9999", oneTensor(99, 9999, 0, 1), []string{"tensor type 9999 is unknown", "whose last type is 42 (q2_0)"}},
		{"type 132", oneTensor(99, 132, 0, 1), []string{"tensor type 132 is unknown"}},
		{"iq5_k of ik_llama.cpp", oneTensor(99, 140, 0, 256), []string{"tensor type 140 is none of ggml", "made by ik_llama.cpp", "quantize the model again"}},
		{"q8_k_r8 of ik_llama.cpp", oneTensor(99, 399, 0, 256), []string{"tensor type 399 is none of ggml"}},
		{"type 400", oneTensor(99, 400, 0, 1), []string{"tensor type 400 is unknown"}},
		{"q4_0 of 31", oneTensor(99, q4, 0, 31), []string{"a row has 31 elements, no whole number of q4_0 blocks of 32"}},
		{"q6_K of 8 x 64", oneTensor(999, q6, 0, 8, 64), []string{"a row has 8 elements, no whole number of q6_K blocks of 256"}},
		{"empty name", header(1, 0).tensor("", 0, 0, 1).zeros(99), []string{"tensor 1 of 1 (at 0x18): the name is empty"}},
		{"name of 65", header(1, 0).tensor(strings.Repeat("n", 65), 0, 0, 1).zeros(99), []string{"65 bytes long: at most 64 are allowed"}},
		{"NUL in the name", header(1, 0).tensor("a\x00", 0, 0, 1).zeros(99), []string{`"a\x00" has a NUL byte`}},
		{"name not UTF-8", header(1, 0).tensor("\x80", 0, 0, 1).zeros(99), []string{"is not UTF-8"}},
		{"duplicate", header(2, 0).tensor("x", 0, 0, 1).tensor("x", 0, 32, 1).pad(32).zeros(99), []string{"a tensor of this name is already there, after 0x18"}},
		{"two at once", header(2, 0).tensor("x", 0, 0, 0).tensor("y", 99, 32, 1).pad(32).zeros(99), []string{`tensor "x"`, "is 0", `tensor "y"`, "type 99 is unknown"}},
	}
	for _, removed := range []int32{4, 5, 31, 32, 33, 36, 37, 38} {
		all = append(all, badFile{fmt.Sprintf("type %d", removed), oneTensor(99, removed, 0, 32),
			[]string{fmt.Sprintf("tensor type %d (", removed), "was removed from ggml: convert the model again"}})
	}
	return all
}

func badPlaces() []badFile {
	two := func(a, b uint64) raw {
		return header(2, 0).tensor("x", 0, a, 9).tensor("y", 0, b, 9).pad(32).zeros(128)
	}
	most := uint64(math.MaxInt64) &^ 31
	return []badFile{
		{"offset misaligned", two(0, 65), []string{`tensor "y"`, "its offset 65 is no multiple of the alignment 32"}},
		{"offset past the end", two(0, 1<<40), []string{"its 36 bytes at offset 1099511627776 go beyond the 128 bytes of data"}},
		{"offset of -32", two(0, math.MaxUint64-31), []string{"its offset 18446744073709551584 is beyond any file"}},
		{"offset and size wrap", two(0, most), []string{"go beyond the 128 bytes"}},
		{"overlap", two(0, 32), []string{`tensor "y"`, `overlaps that of "x"`}},
		{"overlaps with the first of three", header(3, 0).tensor("x", 0, 0, 64).tensor("y", 0, 32, 8).tensor("z", 0, 128, 8).pad(32).zeros(256),
			[]string{`tensor "y"`, `tensor "z"`, `overlaps that of "x"`}},
		{"same place", two(64, 64), []string{`overlaps that of "x"`}},
		{"data short by one", oneTensor(15, 0, 0, 4), []string{"its 16 bytes at offset 0 go beyond the 15 bytes of data in the file: the download may be incomplete"}},
		{"bytes after it", oneTensor(68, 0, 0, 1), []string{`tensor data (at 0x40): 64 bytes follow the last tensor, "x", which ends at 0x44`, "alignment of 32", "general.alignment", "cut it to 68 bytes"}},
		{"laid out for 64", header(1, 0).tensor("norm.bias", 0, 0, 9).pad(64).zeros(36), []string{"32 bytes follow the last tensor"}},
		{"laid out for 64, padded", header(2, 0).tensor("y", 0, 64, 9).tensor("x", 0, 0, 9).pad(64).zeros(128), []string{`60 bytes follow the last tensor, "y"`}},
		{"laid out for 32", header(1, 1).key(alignmentKey, Uint32).u32(64).tensor("x", 0, 0, 9).pad(32).zeros(64), []string{"go beyond the 32 bytes of data"}},
		{"no data", header(1, 0).tensor("x", 0, 0, 4), []string{"before the data begins"}},
		{"sizes whose sum passes 2^63", header(3, 0).tensor("x", 24, 0, 1<<62).tensor("y", 24, 1<<62, 1<<62).tensor("z", 24, 1<<63-32, 1<<62).pad(32).zeros(99),
			[]string{`tensor "x"`, `tensor "y"`, `tensor "z"`}},
	}
}

func TestHostileFilesAreRefused(t *testing.T) {
	for _, tt := range badFiles() {
		_, err := read(tt.data)
		if err == nil {
			t.Errorf("%s: accepted", tt.name)
			continue
		}
		for _, want := range append(tt.want, "m.gguf: ") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s:\n got %v\nwant %q", tt.name, err, want)
			}
		}
	}
}

// oddFiles are unusual but valid.
func oddFiles() map[string]raw {
	return map[string]raw{
		"version 2":         append(raw(magic).u32(2), small()[8:]...),
		"nothing at all":    header(0, 0),
		"no padding":        header(0, 1).key("k", Uint8).u8(1),
		"alignment 1":       header(1, 1).key(alignmentKey, Uint32).u32(1).tensor("x", 0, 3, 1).zeros(7),
		"name of 64":        header(1, 0).tensor(strings.Repeat("n", 64), 0, 0, 1).pad(32).zeros(4),
		"empty string":      oneKey("k", String).str(""),
		"not UTF-8":         oneKey("k", String).str("\xff"),
		"empty array":       oneKey("k", Array).u32(uint32(Int16)).u64(0),
		"out of order":      header(2, 0).tensor("x", 0, 64, 1).tensor("y", 0, 0, 1).pad(32).zeros(68),
		"gap":               header(2, 0).tensor("x", 0, 0, 1).tensor("y", 0, 960, 1).pad(32).zeros(992),
		"most padding":      oneTensor(35, 0, 0, 1),
		"most of 4096":      header(1, 1).key(alignmentKey, Uint32).u32(4096).tensor("x", 24, 0, 1).pad(4096).zeros(4096),
		"only a vocabulary": append(header(0, 1).key("k", Uint8).u8(1), make([]byte, 100)...),
		"garbage padding":   append(header(1, 0).tensor("x", 0, 0, 1), "garbage"...).pad(32).zeros(32),
		"unsupported":       oneTensor(144, 12, 0, 256),
	}
}

func TestOddFilesAreAccepted(t *testing.T) {
	for name, data := range oddFiles() {
		f, err := read(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := checkInvariants(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := readAll(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEveryCutIsRefused cuts a valid file at each of its bytes.
func TestEveryCutIsRefused(t *testing.T) {
	whole := small()
	for n := range whole {
		if _, err := read(whole[:n]); err == nil {
			t.Errorf("cut at %d of %d: accepted", n, len(whole))
		}
	}
	mustRead(t, whole)
}

// TestManyFaultsGiveAShortError: a file with many faults does not get as many messages.
func TestManyFaultsGiveAShortError(t *testing.T) {
	const n = 1000
	b := header(n, 0)
	for i := range n {
		b = b.tensor(fmt.Sprint("t", i), 99, 0, 1)
	}
	_, err := read(b)
	if lines := strings.Split(err.Error(), "\n"); len(lines) != maxErrors+1 || lines[maxErrors] != "m.gguf: and 990 more errors" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

// TestReadingTakesLinearTime has files that would take long if reading were not linear. A second is a hundred times
// what they need.
func TestReadingTakesLinearTime(t *testing.T) {
	const keys, strs, tensors = 100_000, 1_000_000, 20_000
	b := header(tensors, keys+1)
	for i := range keys {
		b = b.key(fmt.Sprint(i), Uint8).u8(1)
	}
	b = b.key("s", Array).u32(uint32(String)).u64(strs).zeros(8 * strs)
	for i := range tensors {
		b = b.tensor(fmt.Sprint("t", i), 24, uint64(32*(tensors-i)), 1)
	}
	b = b.pad(32).zeros(32*tensors + 1)
	f := mustRead(t, b)
	if s, err := f.Strings("s"); len(s) != strs || err != nil {
		t.Errorf("%d strings, %v", len(s), err)
	}
	if f.NumKeys() != keys+1 || f.NumTensors() != tensors {
		t.Errorf("%d keys, %d tensors", f.NumKeys(), f.NumTensors())
	}
}
