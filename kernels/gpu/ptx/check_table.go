package ptx

import (
	"fmt"
	"slices"
	"strings"
)

// sizes are the bits of the types (5.2.1).
var sizes = map[string]int{
	"pred": 1, "b8": 8, "b16": 16, "b32": 32, "b64": 64, "s8": 8, "s16": 16, "s32": 32, "s64": 64,
	"u8": 8, "u16": 16, "u32": 32, "u64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64,
}

// specials are the special registers that are known, of 32 bits each (10.1 to 10.7).
var specials = map[string]bool{
	"%tid.x": true, "%tid.y": true, "%tid.z": true, "%ntid.x": true, "%ntid.y": true, "%ntid.z": true, "%laneid": true, "%warpid": true,
	"%nwarpid": true, "%ctaid.x": true, "%ctaid.y": true, "%ctaid.z": true, "%nctaid.x": true, "%nctaid.y": true, "%nctaid.z": true,
}

// architectures are the targets that are known, with the first version that has them (11.1.2) and their number.
var architectures = map[string]struct {
	since version
	sm    int
}{
	"sm_60": {version{5, 0}, 60}, "sm_61": {version{5, 0}, 61}, "sm_70": {version{6, 0}, 70}, "sm_72": {version{6, 1}, 72},
	"sm_75": {version{6, 3}, 75}, "sm_80": {version{7, 0}, 80}, "sm_86": {version{7, 1}, 86}, "sm_89": {version{7, 8}, 89},
	"sm_90": {version{7, 8}, 90}, "sm_90a": {version{8, 0}, 90},
}

// rule is an instruction that is known.
//
// Operands are words. A number is the place of the operand's type among the instruction's types; another type's name is
// that type. A first = marks a destination, a first ~ an operand that may be wider than the type (9.4.1), a last v a
// list of as many lanes as the instruction has. Further words: label, zero (a barrier's number), [param], [global],
// [shared], and mov, =mov for the operands of mov, which have rules of their own. [global:] and [shared:] are addresses
// of as many bytes as the last operand states, which is the word 4|8|16 or a part of it; count is a number that is not
// negative, 1| and 0|1 are these numbers. A type, * and a number are a list of as many registers, [row] is the address
// of 16 bytes in shared memory.
type rule struct {
	op       string   // with modifiers, without types
	types    []string // the types that it may have, each joined with points
	operands string
	since    version
	sm       int
	section  string // of the PTX ISA, version 7.6
}

var (
	first      = version{1, 0}
	integers32 = list("s32 u32")
	integers   = list("s16 u16 s32 u32 s64 u64")
	bitTypes   = list("b16 b32 b64")
	memTypes   = list("b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64")
)

func list(types string) []string { return strings.Fields(types) }

// pairs returns all types of to, joined with all of from.
func pairs(to, from string) []string {
	var all []string
	for _, t := range list(to) {
		for _, f := range list(from) {
			if t != f {
				all = append(all, t+"."+f)
			}
		}
	}
	return all
}

const (
	wholeTypes = "s8 s16 s32 s64 u8 u16 u32 u64"
	half       = "9.7.4"
)

var noTypes = []string{""}

// rules are the instructions that are known.
var rules = slices.Concat(ofThreads, ofWarpgroups, productsOfWarpgroups())

// ofWarpgroups are the instructions that the products of warpgroups need. The sections are those of version 8.7.
var ofWarpgroups = []rule{
	{"fence.proxy.async", noTypes, "", version{8, 0}, 90, "9.7.13.4"},
	{"fence.proxy.async.shared::cta", noTypes, "", version{8, 0}, 90, "9.7.13.4"},
	{"wgmma.fence.sync.aligned", noTypes, "", version{8, 0}, 90, "9.7.15.7.1"},
	{"wgmma.commit_group.sync.aligned", noTypes, "", version{8, 0}, 90, "9.7.15.7.2"},
	{"wgmma.wait_group.sync.aligned", noTypes, "count", version{8, 0}, 90, "9.7.15.7.3"},
}

// productsOfWarpgroups returns wgmma.mma_async with both factors in shared memory, in all shapes for 16-bit floats
// (9.7.15.2).
func productsOfWarpgroups() (list []rule) {
	for n := 8; n <= 256; n += 8 {
		op, sums := fmt.Sprintf("wgmma.mma_async.sync.aligned.m64n%dk16", n), fmt.Sprintf("=f32*%d", n/2)
		list = append(list, rule{op, []string{"f32.f16.f16", "f32.bf16.bf16"}, sums + " b64 b64 pred 1| 1| 0|1 0|1", version{8, 0}, 90, "9.7.15.5.2"})
	}
	return list
}

// ofThreads are the instructions of threads and of warps.
var ofThreads = []rule{
	{"add", integers, "=0 0 0", first, 0, "9.7.1.1"},
	{"sub", integers, "=0 0 0", first, 0, "9.7.1.2"},
	{"mul.lo", integers, "=0 0 0", first, 0, "9.7.1.3"},
	{"mul.wide", list("u32"), "=u64 0 0", first, 0, "9.7.1.3"},
	{"mul.wide", list("s32"), "=s64 0 0", first, 0, "9.7.1.3"},
	{"mad.lo", integers, "=0 0 0 0", first, 0, "9.7.1.4"},
	{"div", integers, "=0 0 0", first, 0, "9.7.1.8"},
	{"rem", integers, "=0 0 0", first, 0, "9.7.1.9"},
	{"neg", list("s16 s32 s64"), "=0 0", first, 0, "9.7.1.11"},
	{"min", integers, "=0 0 0", first, 0, "9.7.1.12"},
	{"max", integers, "=0 0 0", first, 0, "9.7.1.13"},
	{"bfe", list("u32 s32 u64 s64"), "=0 0 u32 u32", version{2, 0}, 20, "9.7.1.19"},
	{"dp4a", list("s32.s32"), "=s32 b32 b32 s32", version{5, 0}, 61, "9.7.1.23"},

	{"copysign", list("f32 f64"), "=0 0 0", version{2, 0}, 20, "9.7.3.2"},
	{"add.rn", list("f32 f64"), "=0 0 0", first, 0, "9.7.3.3"},
	{"sub.rn", list("f32 f64"), "=0 0 0", first, 0, "9.7.3.4"},
	{"mul.rn", list("f32 f64"), "=0 0 0", first, 0, "9.7.3.5"},
	{"fma.rn", list("f32 f64"), "=0 0 0 0", version{2, 0}, 20, "9.7.3.6"},
	{"div.rn", list("f32 f64"), "=0 0 0", version{1, 4}, 20, "9.7.3.8"},
	{"abs", list("f32 f64"), "=0 0", first, 0, "9.7.3.9"},
	{"neg", list("f32 f64"), "=0 0", first, 0, "9.7.3.10"},
	{"min", list("f32 f64"), "=0 0 0", first, 0, "9.7.3.11"},
	{"max", list("f32 f64"), "=0 0 0", first, 0, "9.7.3.12"},
	{"sqrt.rn", list("f32 f64"), "=0 0", version{1, 4}, 20, "9.7.3.15"},
	{"ex2.approx", list("f32"), "=0 0", version{1, 4}, 0, "9.7.3.21"},

	{"add.rn", list("f16"), "=0 0 0", version{4, 2}, 53, half + ".1"},
	{"sub.rn", list("f16"), "=0 0 0", version{4, 2}, 53, half + ".2"},
	{"mul.rn", list("f16"), "=0 0 0", version{4, 2}, 53, half + ".3"},
	{"fma.rn", list("f16"), "=0 0 0 0", version{4, 2}, 53, half + ".4"},
	{"neg", list("f16"), "=0 0", version{6, 0}, 53, half + ".5"},
	{"min", list("f16"), "=0 0 0", version{7, 0}, 80, half + ".7"},
	{"max", list("f16"), "=0 0 0", version{7, 0}, 80, half + ".8"},

	{"setp.eq", equalTypes, "=pred 0 0", first, 0, "9.7.5.2"},
	{"setp.ne", equalTypes, "=pred 0 0", first, 0, "9.7.5.2"},
	{"setp.lt", orderTypes, "=pred 0 0", first, 0, "9.7.5.2"},
	{"setp.le", orderTypes, "=pred 0 0", first, 0, "9.7.5.2"},
	{"setp.ge", orderTypes, "=pred 0 0", first, 0, "9.7.5.2"},
	{"setp.neu", list("f32 f64"), "=pred 0 0", first, 0, "9.7.5.2"},
	{"setp.geu", list("f32 f64"), "=pred 0 0", first, 0, "9.7.5.2"},
	{"setp.nan", list("f32 f64"), "=pred 0 0", first, 0, "9.7.5.2"},
	{"selp", equalTypes, "=0 0 0 pred", first, 0, "9.7.5.3"},

	{"and", bitsOrPred, "=0 0 0", first, 0, "9.7.7.1"},
	{"or", bitsOrPred, "=0 0 0", first, 0, "9.7.7.2"},
	{"xor", bitsOrPred, "=0 0 0", first, 0, "9.7.7.3"},
	{"not", bitsOrPred, "=0 0", first, 0, "9.7.7.4"},
	{"shl", bitTypes, "=0 0 u32", first, 0, "9.7.7.8"},
	{"shr", list("b16 b32 b64 u16 u32 u64 s16 s32 s64"), "=0 0 u32", first, 0, "9.7.7.9"},

	{"mov", list("pred b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"), "=mov mov", first, 0, "9.7.8.3"},
	{"shfl.sync.bfly", list("b32"), "=0 0 b32 b32 b32", version{6, 0}, 30, "9.7.8.6"},
	{"ld.param", memTypes, "=~0v [param]", first, 0, "9.7.8.8"},
	{"ld.global", memTypes, "=~0v [global]", first, 0, "9.7.8.8"},
	{"ld.shared", memTypes, "=~0v [shared]", first, 0, "9.7.8.8"},
	{"ld.global.nc", memTypes, "=~0v [global]", version{3, 1}, 32, "9.7.8.9"},
	{"st.global", memTypes, "[global] ~0v", first, 0, "9.7.8.11"},
	{"st.shared", memTypes, "[shared] ~0v", first, 0, "9.7.8.11"},
	{"ldmatrix.sync.aligned.m8n8.x4.shared", list("b16"), "=b32*4 [row]", version{6, 5}, 75, "9.7.13.4"},
	{"ldmatrix.sync.aligned.m8n8.x4.trans.shared", list("b16"), "=b32*4 [row]", version{6, 5}, 75, "9.7.13.4"},
	{"mma.sync.aligned.m16n8k16.row.col", list("f32.f16.f16.f32 f32.bf16.bf16.f32"), "=f32*4 b32*4 b32*2 f32*4", version{7, 0}, 80, "9.7.13.4"},
	{"cp.async.ca.shared.global", noTypes, "[shared:] [global:] 4|8|16", version{7, 0}, 80, "9.7.8.22.1"},
	{"cp.async.cg.shared.global", noTypes, "[shared:] [global:] 16|", version{7, 0}, 80, "9.7.8.22.1"},
	{"cp.async.commit_group", noTypes, "", version{7, 0}, 80, "9.7.8.22.2"},
	{"cp.async.wait_group", noTypes, "count", version{7, 0}, 80, "9.7.8.22.3"},
	{"cvt", pairs(wholeTypes, wholeTypes), "=~0 ~1", first, 0, "9.7.8.18"},
	{"cvt", list("f32.f16 f64.f16 f64.f32"), "=~0 ~1", first, 0, "9.7.8.18"},
	{"cvt.rn", append(pairs("f16 f32 f64", wholeTypes), "f16.f32", "f16.f64", "f32.f64"), "=~0 ~1", first, 0, "9.7.8.18"},
	{"cvt.rz", append(pairs("f16 f32 f64", wholeTypes), "f16.f32", "f16.f64", "f32.f64"), "=~0 ~1", first, 0, "9.7.8.18"},
	{"cvt.rzi", pairs(wholeTypes, "f16 f32 f64"), "=~0 ~1", first, 0, "9.7.8.18"},
	{"cvt.rni", list("f16.f16 f32.f32 f64.f64"), "=~0 ~1", first, 0, "9.7.8.18"},
	{"cvt.rmi", list("f16.f16 f32.f32 f64.f64"), "=~0 ~1", first, 0, "9.7.8.18"},

	{"bra", noTypes, "label", first, 0, "9.7.11.3"},
	{"ret", noTypes, "", first, 0, "9.7.11.6"},
	{"bar.sync", noTypes, "zero", first, 0, "9.7.12.1"},
	{"atom.global.add", list("u32"), "=0 [global] 0", version{1, 1}, 11, "9.7.12.4"},
	{"redux.sync.add", integers32, "=0 0 b32", version{7, 0}, 80, "9.7.12.10"},
	{"redux.sync.max", integers32, "=0 0 b32", version{7, 0}, 80, "9.7.12.10"},
}

var (
	orderTypes = list("u16 u32 u64 s16 s32 s64 f32 f64")
	equalTypes = list("b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64")
	bitsOrPred = list("pred b16 b32 b64")
)

// mnemonics returns the first words of the instructions.
func mnemonics() map[string]bool {
	names := make(map[string]bool)
	for _, r := range rules {
		name, _, _ := strings.Cut(r.op, ".")
		names[name] = true
	}
	return names
}

// find returns the rule of an instruction, its types, and its lanes: 2 or 4 for one of vectors, else 1. A nil rule with
// known reports that the instruction is known, but not with those types.
func find(op string) (r *rule, types []string, lanes int, known bool) {
	words := strings.Split(op, ".")
	n := len(words)
	for n > 1 && sizes[words[n-1]] != 0 {
		n--
	}
	types, lanes = words[n:], 1
	if last := words[n-1]; last == "v2" || last == "v4" {
		lanes = int(last[1] - '0')
		n--
	}
	name := strings.Join(words[:n], ".")
	for i := range rules {
		if rules[i].op != name || lanes > 1 && !strings.Contains(rules[i].operands, "0v") {
			continue
		}
		known = true
		for _, t := range rules[i].types {
			if t == strings.Join(types, ".") {
				return &rules[i], types, lanes, true
			}
		}
	}
	return nil, types, lanes, known
}
