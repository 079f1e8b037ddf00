package ptx

import (
	"fmt"
	"maps"
	"math/rand"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

// lines of a module that is right; the cases replace some.
const rightText = `.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k$0, .param .u64 k$1)
.reqntid 32, 1, 1
{
	.reg .pred %p<2>;
	.reg .s32 %s<4>;
	.reg .u16 %h<4>;
	.reg .f16 %hf<2>;
	.reg .f32 %f<4>;
	.reg .u64 %d<3>;
	.shared .align 16 .b8 part[64];
	ld.param.u64 %d0, [k$0]; // comment
	mov.u32 %s0, %tid.x;
	mul.wide.s32 %d1, %s0, 16;
	add.u64 %d2, %d0, %d1;
	ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%d2+16];
	ld.global.u8 %h0, [%d2]; /* wider
	than the type */
	mov.s32 %s1, part;
	st.shared.f32 [%s1+4], %f0;
	bar.sync 0;
	setp.lt.s32 %p0, %s0, 7;
	mov.s32 %s2, -1;
	@!%p0 bra $end;
	mov.b32 {%h1, %h2}, %f1;
	redux.sync.add.s32 %s2, %s0, 0xffffffff;
$end:
	add.rn.f32 %f0, %f1, 0f3F800000;
	st.global.s32 [%d2], %s2;
	ret;
}
`

func TestCheck(t *testing.T) {
	if err := Check(rightText); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ from, to, want string }{
		{".version 7.0", ".version 7", `line 1: "7" is no version`},
		{".version 7.0", ".version 6.0", "line 1: sm_80 exists from version 7.0 on, this is 6.0"},
		{"sm_80", "sm_99", "line 1: the target sm_99 is not known"},
		{"sm_80", "sm_70", "line 28: redux.sync.add.s32: needs version 7.0 and sm_80 (9.7.12.10), this is 7.0 for sm_70"},
		{"_size 64", "_size 32", "line 3: addresses of \"32\" bits"},
		{"k$1)", "k$0)", "line 4: k$0 is declared twice"},
		{".entry k(", ".entry add(", "line 4: add is a word of the language"},
		{"k$1)", "%p0)", "line 7: %p0 is declared twice"},
		{"k$0, .param .u64", "k$0, .param .pred", "line 4: a parameter is no predicate"},
		{"\n}\n", "\n}\n.entry k() { ret; }", "line 34: k is declared twice"},
		{".reg .pred %p<2>;", ".reg .pred %p<2000000>;", "line 7: 2000000 registers: 1048576 at most are checked"},
		{".reqntid 32", ".reqntid 2048", ".reqntid [2048 1 1]: a workgroup has 1 to 1024 threads"},
		{".reqntid 32", ".maxntid 32", `line 5: ".maxntid" instead of "{"`},
		{".reg .f32 %f<4>;", "", "line 18: ld.global.v4.f32: %f0 is no register"},
		{".reg .f32 %f<4>;", ".reg .f32 %f<3>;", "line 18: ld.global.v4.f32: %f3 is no register"},
		{".reg .f32 %f<4>;", ".reg .s32 %f<4>;", "line 18: ld.global.v4.f32: %f0 is a .s32, not a .f32"},
		{".reg .f32 %f<4>;", ".reg .f32 %f<4>;\n.reg .u32 %f3;", "line 12: %f3 is declared twice"},
		{".reg .pred %p<2>;", ".reg .u32 %p<2>;", "line 26: bra: the guard %p0 is no predicate"},
		{".reg .u16 %h<4>", ".reg .u8 %h<4>", "line 9: registers of 8 bits"},
		{".align 16", ".align 12", "line 13: 12 is no power of 2"},
		{"part[64]", "part[0]", "line 13: part has no bytes"},
		{"part[64]", "%tid[64]", "line 13: %tid is a word of the language"},
		{"part[64]", "mov[64]", "line 13: mov is a word of the language"},
		{"[k$0];", "[k$2];", "line 14: ld.param.u64: k$2 is no address in the space param"},
		{"[k$0];", "[k$0+8];", "line 14: ld.param.u64: k$0 has 8 bytes, the access is to 8 at 8"},
		{"ld.param.u64 %d0", "ld.param.u64 %s3", "line 14: ld.param.u64: %s3 is a .s32, not a .u64"},
		{"%tid.x", "%tid.q", "line 15: mov.u32: %tid.q is no register"},
		{"mov.u32 %s0", "mov.u64 %d1", "line 15: mov.u64: %tid.x does not fit a .u64"},
		{"mul.wide.s32 %d1, %s0, 16", "mul.wide.s32 %s3, %s0, 16", "line 16: mul.wide.s32: %s3 is a .s32, not a .s64"},
		{"mul.wide.s32 %d1, %s0, 16", "mul.wide.s32 %d1, %s0", "line 16: mul.wide.s32: 2 operands instead of 3 (9.7.1.3)"},
		{"mul.wide.s32 %d1, %s0, 16", "mul.wide.f32 %d1, %s0, 16", "line 16: mul.wide.f32: does not exist with these types"},
		{"mul.wide", "mul.wider", "line 16: mul.wider.s32: is not known"},
		{"%s0, 16;", "%s0, 0x100000000;", "line 16: mul.wide.s32: the constant has more than 32 bits"},
		{"{%f0, %f1, %f2, %f3}", "{%f0, %f1}", "line 18: ld.global.v4.f32: an operand is no list of 4 registers"},
		{"{%f0, %f1, %f2, %f3}", "{%f0, %f1, %f1, %f3}", "line 18: ld.global.v4.f32: %f1 is written twice"},
		{".v4.f32 {%f0, %f1, %f2, %f3}", ".v4.u16 {%h0, %h1, %s3, %h3}", "line 18: ld.global.v4.u16: %s3 is a .s32, another register of the list is a .u16"},
		{"[%d2+16]", "[%d2+8]", "line 18: ld.global.v4.f32: the offset 8 is no multiple of 16 bytes"},
		{"[%d2+16]", "[%s0+16]", "line 18: ld.global.v4.f32: %s0 is no address in the space global"},
		{"[%d2+16]", "%d2", "line 18: ld.global.v4.f32: an operand is no address"},
		{"ld.global.v4.f32 {", "ld.global.v4.f64 {", "line 18: ld.global.v4.f64: a vector has 128 bits at most"},
		{"ld.global.u8 %h0", "ld.global.u8 %f0", "line 19: ld.global.u8: %f0 is a .f32, not a .u8"},
		{"ld.global.u8 %h0", "ld.global.u32 %h0", "line 19: ld.global.u32: %h0 is a .u16, not a .u32"},
		{"st.shared.f32 [%s1+4]", "st.shared.f32 [part+64]", "line 22: st.shared.f32: part has 64 bytes, the access is to 4 at 64"},
		{"st.shared.f32 [%s1+4]", "st.shared.f32 [port]", "line 22: st.shared.f32: port is no address in the space shared"},
		{"bar.sync 0", "bar.sync 16", "line 23: bar.sync: a barrier has a number up to 15"},
		{"bar.sync 0", "bar.red 0", "line 23: bar.red: is not known"},
		{"setp.lt.s32 %p0", "setp.lt.s32 %s3", "line 24: setp.lt.s32: %s3 is a .s32, not a .pred"},
		{"setp.lt.s32 %p0, %s0, 7", "setp.lt.s32 %p0, %s0, 0f00000000", "line 24: setp.lt.s32: an operand is no register or constant of type .s32"},
		{"setp.lt.s32 %p0", "setp.lt.s32 %p1", "line 26: bra: %p0 is read, but not written on every path to here"},
		{"mov.s32 %s2, -1;", "", "line 31: st.global.s32: %s2 is read, but not written on every path to here"},
		{"mov.s32 %s2, -1;", "@%p0 mov.s32 %s2, -1;", "line 31: st.global.s32: %s2 is read, but not written on every path to here"},
		{"mov.s32 %s2, -1;", "mov.s32 2, -1;", "line 25: mov.s32: the result is no register"},
		{"bra $end", "bra $start", `line 26: bra: "$start" is no label`},
		{"$end:", "", `line 26: bra: "$end" is no label`},
		{"bar.sync 0", "cp.async.ca.shared.global [%s1], [%d2], 12", "line 23: cp.async.ca.shared.global: an operand is none of 4|8|16"},
		{"bar.sync 0", "cp.async.cg.shared.global [%s1], [%d2], 8", "line 23: cp.async.cg.shared.global: an operand is none of 16|"},
		{"bar.sync 0", "cp.async.ca.shared.global [%s1+4], [%d2], 8", "line 23: cp.async.ca.shared.global: the offset 4 is no multiple of 8 bytes"},
		{"bar.sync 0", "cp.async.ca.shared.global [%s1], [%s1], 8", "line 23: cp.async.ca.shared.global: %s1 is no address in the space global"},
		{"bar.sync 0", "cp.async.ca.shared.global [part+60], [%d2], 8", "part has 64 bytes, the access is to 8 at 60"},
		{"bar.sync 0", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%s0, %s1, %s0, %s1}, {%s0, %s1, %s0}, {%f0, %f1, %f2, %f3}", "line 23: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32: an operand is no list of 2 registers"},
		{"bar.sync 0", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f1, %f3}, {%s0, %s1, %s0, %s1}, {%s0, %s1}, {%f0, %f1, %f2, %f3}", "%f1 is written twice"},
		{"bar.sync 0", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%s0, %s1, %s0, %f1}, {%s0, %s1}, {%f0, %f1, %f2, %f3}", "%f1 is a .f32, another register of the list is a .s32"},
		{"bar.sync 0", "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%f0, %f1, %f2, %f3}, {%s0, %s1, %s0, %s1}, {%s0, %s1}, {%f0, %f1, %f2, %f3}", "does not exist with these types"},
		{"bar.sync 0", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%s0, %s1, %s2, %s3}, [%s1+8]", "the offset 8 is no multiple of 16 bytes"},
		{"bar.sync 0", "cp.async.wait_group %s0", "line 23: cp.async.wait_group: an operand is no number"},
		{"@!%p0 bra $end;", "", "line 29: nothing branches to $end"},
		{"$end:", "$end:\n$end:", "line 30: $end is declared twice"},
		{"mov.b32 {%h1, %h2}", "mov.b32 {%h1, %h1}", "line 27: mov.b32: %h1 is written twice"},
		{"mov.b32 {%h1, %h2}", "mov.b32 {%h1, %s3}", "line 27: mov.b32: %s3 is a .s32, not a .b16"},
		{"mov.b32 {%h1, %h2}", "mov.b32 {%h1, %hf1}", "line 27: mov.b32: %hf1 is a .f16, another register of the list is a .u16"},
		{"mov.b32 {%h1, %h2}", "mov.s32 {%h1, %h2}", "line 27: mov.s32: a .s32 is not packed from 2 registers"},
		{"0f3F800000", "1", "line 30: add.rn.f32: an operand is no register or constant of type .f32"},
		{"0f3F800000", "0f3F80000", `line 30: "0f3F80000" is no constant`},
		{"add.rn.f32", "add.f32", "line 30: add.f32: does not exist with these types"},
		{"st.global.s32 [%d2], %s2;", "st.global.s32 [%d2], %s2", `line 32: "ret" instead of ","`},
		{"\tret;\n", "", "line 32: the entry ends without ret"},
		{"\tret;\n", "ret;\nbra $end;\n$more:\n@%p0 bra $more;", "line 35: the entry ends without ret"},
		{"mov.b32 {%h1, %h2}", "mov.b32 {%h1, %h2, %h3}", "line 27: mov.b32: a .b32 is not packed from 3 registers"},
		{"mov.b32 {%h1, %h2}", "mov.b32 {%h1, 7}", "line 27: mov.b32: only registers are packed"},
		{"mov.b32 {%h1, %h2}, %f1", "mov.b32 {%h1, %h2}, 7", "line 27: mov.b32: only a register is unpacked"},
		{"\tret;\n", "ret;\n$last:\n@%p0 bra $last;\nret;\n$none:\n", "nothing branches to $none"},
		{"@!%p0 bra $end;", "@!%p0 bra $none;\n@!%p0 bra $end;", `line 26: bra: "$none" is no label`},
		{"\tret;\n", "bra $none;\n$none:\n", "line 33: no instruction follows $none"},
		{".shared .align 16 .b8 part[64];", ".shared .b7 part[64];", `line 13: ".b7" is no type`},
		{"part[64]", "part[x]", `line 13: "x" instead of a number`},
		{".entry k(", ".entry 7(", `line 4: "7" instead of a name`},
		{"bar.sync 0", "bar.sync ;0", `line 23: "0" instead of an instruction`},
		{"bar.sync 0", "bar.sync .b8", `line 23: ".b8" instead of an operand`},
		{"}\n", "", `: "" instead of`},
		{"bar.sync 0", "bar.sync #", `line 23: the character '#' begins nothing`},
	}
	for _, tt := range tests {
		text := strings.Replace(rightText, tt.from, tt.to, 1)
		if strings.HasPrefix(tt.from, "}") {
			text = strings.TrimSuffix(rightText, tt.from)
		}
		if text == rightText {
			t.Fatalf("%q is not in the text", tt.from)
		}
		if err := Check(text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q instead of %q: got %v, want %s", tt.to, tt.from, err, tt.want)
		}
	}
}

func TestCheckWantsAnEntry(t *testing.T) {
	text, _, _ := strings.Cut(rightText, ".visible")
	if err := Check(text + "// nothing"); err == nil || !strings.Contains(err.Error(), "there is no entry") {
		t.Errorf("got %v", err)
	}
}

func TestCheckReportsAllFaultsInOrder(t *testing.T) {
	text := strings.NewReplacer("add.u64", "add.u65", "bar.sync 0", "bar.sync", "bra $end", "bra $x").Replace(rightText)
	want := `ptx: line 17: add.u65: is not known
ptx: line 23: bar.sync: 0 operands instead of 1 (9.7.12.1)
ptx: line 26: bra: "$x" is no label
ptx: line 29: nothing branches to $end`
	if err := Check(text); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// edits change a line of emitted text so that it is wrong, or return the line as it is where they do not apply. Each is
// given all lines.
var edits = map[string]func(r *rand.Rand, line string, lines []string) string{
	"drop a declaration": func(r *rand.Rand, line string, _ []string) string {
		if strings.Contains(line, ".reg ") || strings.Contains(line, ".shared ") {
			return ""
		}
		return line
	},
	"shorten a declaration": func(r *rand.Rand, line string, _ []string) string {
		return regexp.MustCompile(`<(\d+)>;`).ReplaceAllStringFunc(line, func(s string) string {
			n := 0
			fmt.Sscanf(s, "<%d>", &n)
			return fmt.Sprintf("<%d>;", n-1)
		})
	},
	"change the type of a declaration": func(r *rand.Rand, line string, _ []string) string {
		if !strings.Contains(line, ".reg ") {
			return line
		}
		return changeType(r, line)
	},
	"change a type suffix": func(r *rand.Rand, line string, _ []string) string {
		if !isInstruction(line) {
			return line
		}
		return changeType(r, line)
	},
	"rename a register": func(r *rand.Rand, line string, lines []string) string {
		if !isInstruction(line) {
			return line
		}
		other := registerName.FindAllString(lines[r.Intn(len(lines))], -1)
		own := registerName.FindAllStringIndex(line, -1)
		if len(other) == 0 || len(own) == 0 {
			return line
		}
		at := own[r.Intn(len(own))]
		return line[:at[0]] + other[r.Intn(len(other))] + line[at[1]:]
	},
	"delete a label": func(r *rand.Rand, line string, _ []string) string {
		if strings.HasSuffix(line, ":") {
			return ""
		}
		return line
	},
	"delete a branch": func(r *rand.Rand, line string, _ []string) string {
		if strings.Contains(line, "bra ") {
			return ""
		}
		return line
	},
	"drop an operand": func(r *rand.Rand, line string, _ []string) string {
		if at := strings.LastIndex(line, ", "); at > 0 && isInstruction(line) {
			return line[:at] + ";"
		}
		return line
	},
	"add an operand": func(r *rand.Rand, line string, _ []string) string {
		if isInstruction(line) && strings.Contains(line, " ") {
			return strings.TrimSuffix(line, ";") + ", %s0;"
		}
		return line
	},
	"delete an instruction that writes a register": func(r *rand.Rand, line string, _ []string) string {
		if isInstruction(line) && strings.Contains(line, ", ") && !strings.Contains(line, "st.") {
			return ""
		}
		return line
	},
	"drop a modifier": func(r *rand.Rand, line string, _ []string) string {
		words := strings.SplitN(line, " ", 2)
		parts := strings.Split(words[0], ".")
		if !isInstruction(line) || len(parts) < 3 || len(words) < 2 {
			return line
		}
		return strings.Join(append(parts[:1], parts[2:]...), ".") + " " + words[1]
	},
	"misspell a word": func(r *rand.Rand, line string, _ []string) string {
		if !isInstruction(line) {
			return line
		}
		at := 1 + r.Intn(3)
		return line[:at] + "q" + line[at:]
	},
}

var (
	registerName = regexp.MustCompile(`%[a-z]+\d+`)
	typeSuffix   = regexp.MustCompile(`\.(pred|[bsuf](8|16|32|64))\b`)
)

func isInstruction(line string) bool {
	return strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "\t.") && strings.HasSuffix(line, ";")
}

// changeType replaces types by others, of another size or where one is of floats or predicates and the other is not.
func changeType(r *rand.Rand, line string) string {
	all := strings.Fields(".pred .b16 .b32 .b64 .s8 .s16 .s32 .s64 .u8 .u16 .u32 .u64 .f16 .f32 .f64")
	return typeSuffix.ReplaceAllStringFunc(line, func(from string) string {
		for {
			if to := all[r.Intn(len(all))]; !agrees(from[1:], to[1:]) {
				return to
			}
		}
	})
}

// TestCheckRejectsEdits edits emitted text at random, and counts what Check rejects. An edit that leaves the text right
// is accepted with reason: another register of the type, a narrower access to memory, one of two writes of a register,
// xor in place of or.
func TestCheckRejectsEdits(t *testing.T) {
	floors := map[string]int{"rename a register": 78, "change the type of a declaration": 90, "change a type suffix": 87, "delete an instruction that writes a register": 93, "misspell a word": 99}
	texts := mutable(t)
	for _, name := range slices.Sorted(maps.Keys(edits)) {
		r := rand.New(rand.NewSource(1))
		tried, rejected := 0, 0
		for range 100000 {
			lines := texts[r.Intn(len(texts))]
			at := r.Intn(len(lines))
			edited := edits[name](r, lines[at], lines)
			if edited == lines[at] {
				continue
			}
			changed := append(append(append([]string(nil), lines[:at]...), edited), lines[at+1:]...)
			if tried++; Check(strings.Join(changed, "\n")) != nil {
				rejected++
			}
			if tried == 400 {
				break
			}
		}
		share := 100 * rejected / max(tried, 1)
		floor, ok := floors[name]
		if !ok {
			floor = 100
		}
		t.Logf("%s: %d of %d rejected", name, rejected, tried)
		if tried < 50 || share < floor {
			t.Errorf("%s: %d of %d rejected, want %d %%", name, rejected, tried, floor)
		}
	}
}

// TestCheckAcceptsWhatAssembles has ptxas judge the edits that Check accepts.
func TestCheckAcceptsWhatAssembles(t *testing.T) {
	ptxas := needtest.Tool(t, "ptxas", "ptxas")
	r := rand.New(rand.NewSource(2))
	names := slices.Sorted(maps.Keys(edits))
	texts := mutable(t)
	n := 0
	for n < 200 {
		lines := texts[r.Intn(len(texts))]
		if !strings.Contains(lines[1], SM80.String()) {
			continue
		}
		at, name := r.Intn(len(lines)), names[r.Intn(len(names))]
		edited := edits[name](r, lines[at], lines)
		text := strings.Join(append(append(append([]string(nil), lines[:at]...), edited), lines[at+1:]...), "\n")
		if edited == lines[at] || Check(text) != nil {
			continue
		}
		n++
		assemble(t, ptxas, SM80.String(), fmt.Sprintf("%q_for_%q", edited, lines[at]), text)
	}
}

// mutable returns the lines of emitted texts that are not long.
func mutable(t *testing.T) [][]string {
	var texts [][]string
	for _, s := range corpus() {
		for _, target := range s.targets() {
			text := emit(t, s.kernel(t), target)
			if lines := strings.Split(text, "\n"); len(lines) < 250 {
				texts = append(texts, lines)
			}
		}
	}
	return texts
}

// FuzzCheck looks for text on which Check panics or does not end.
func FuzzCheck(f *testing.F) {
	f.Add(rightText)
	f.Add(".version 6.0 .target sm_70 .address_size 64 .entry k() { .reg .f32 %f<2>; L: bra L; }")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 1<<12 {
			_ = Check(text)
		}
	})
}
