package ir

import (
	"strings"
	"testing"
)

func TestSyntaxErrorsAreLocated(t *testing.T) {
	deep := strings.Repeat("(", 100)
	tests := []struct{ text, want string }{
		{"ggir 2", "t:1:6: the text form has version 2"},
		{"ggir 1\npartial", "t:2:8: this dump shows only a part"},
		{"\n\nwieght \"w\"", "t:3:1: unexpected wieght"},
		{"module x", "the module's name in quotes"},
		{"module \"x", "no end on its line"},
		{"module \"\\x\"", "bad escape"},
		{"module \"x\" y", "unexpected y"},
		{"#", "unexpected character '#'"},
		{"props shaped,nice", `unknown property in "shaped,nice"`},
		{"source m \"p\" -1", "-1 is negative"},
		{"source m \"p\" 1\nsource m \"p\" 1", "declared twice"},
		{"symbol min 1 2", "cannot be named min"},
		{"symbol s 3 2", "above the largest"},
		{"symbol s 1 2\nsymbol s 1 2", "t:2:8: symbol s is declared twice"},
		{"symbol s 1 99999999999999999999", "no whole number"},
		{"weight \"w\" : f32[4]\nweight \"w\" : f32[4]", "declared twice"},
		{"state \"w\" : f32[4]\nstate \"w\" : f32[4]", "declared twice"},
		{"weight \"w\" : f33[4]", `unknown dtype "f33"`},
		{"weight \"w\" : f32.r17[4]", `unknown layout "r17"`},
		{"weight \"w\" : f32[4294967296*4294967296]", "t:1:39: the dimension can exceed 64 bits"},
		{"weight \"w\" : f32[3*3074457345618258603]", "the dimension can exceed 64 bits"},
		{"weight \"w\" : f32[9223372036854775807+1]", "the dimension can exceed 64 bits"},
		{"weight \"w\" : f32[1-9223372036854775807-3]", "the dimension can exceed 64 bits"},
		{"weight \"w\" : f32[-1]", "dimension 0 can be negative"},
		{"weight \"w\" : f32[1099511627776,1099511627776]", "larger than any memory"},
		{"weight \"w\" : f32[" + strings.Repeat("1,", 20) + "1]", "rank 21 is above 16"},
		{"weight \"w\" : f32[4 strides 1,1]", "2 strides for rank 1"},
		{"weight \"w\" : f32[4 strides -1]", "stride 0 is outside"},
		{"weight \"w\" : f32[tokens]", "symbol tokens is not declared"},
		{"weight \"w\" : f32[1/0]", "the divisor 0 can be less than 1"},
		{"symbol s 0 4\nweight \"w\" : f32[1/s]", "the divisor s can be less than 1"},
		{"weight \"w\" : f32[" + deep, "nested more than 16 deep"},
		{"weight \"w\" : f32[" + strings.Repeat("-a", 100), "declared"},
		{"weight \"w\" : f32[1] = " + strings.Repeat("concat(", 100), "nested more than 64 deep"},
		{"weight \"w\" : f32[1] = m", "m is no expression"},
		{"weight \"w\" : f32[1] = mix(m[\"x\"])", "unknown function mix"},
		{"weight \"w\" : f32[1] = literal \"000\"", "bytes in hexadecimal: 3 digits are no whole number of bytes"},
		{"weight \"w\" : f32[1] = literal \"0x\"", "t:1:31: bytes in hexadecimal: invalid byte"},
		{"weight \"w\" : f32[2048] = literal \"" + strings.Repeat("00", 8192) + "\"", "8192 bytes are more than the 4096 that a text may hold in one place: put them into a GGUF file"},
		{"weight \"w\" : f32[1] at x:0+1", "a place is"},
		{"func f", "@ and the function's name"},
		{"func @f() -> () {\n  return\n}\nfunc @f() -> () {\n  return\n}", "defined twice"},
		{"func @f(%x: f32[1], %x: f32[1]) -> () {\n  return\n}", "%x is defined twice"},
		{"func @f() -> () {\n", "end of text where return is expected"},
		{"func @f() -> () {\n  mix\n  return\n}", "t:2:3: unknown operation mix"},
		{"func @f(%x: f32[4]) -> () {\n  %y = chain %x {steps=[mix(x0)]}\n  return\n}", "t:2:25: mix is no elementwise op on f32, which steps of a chain are"},
		{"func @f(%x: f32[4]) -> () {\n  %y = chain %x {steps=[cast(x0) {to=f16}]}\n  return\n}", "t:2:25: cast is no elementwise op"},
		{"func @f(%x: f32[4]) -> () {\n  %y = chain %x {steps=[neg(z0)]}\n  return\n}", "t:2:29: \"z0\" is no operand of a step"},
		{"func @f(%x: f32[4]) -> () {\n  %y = chain %x {steps=[neg(x00)]}\n  return\n}", "t:2:29: \"x00\" is no operand of a step"},
		{"func @f(%x: f32[4]) -> () {\n  %y = chain %x {steps=[scale(x0)]}\n  return\n}", "t:2:34: scale needs the attribute scale"},
		{"func @f(%x: f32[4]) -> () {\n  %y = chain %x {steps=[neg(x0) {scale=1}]}\n  return\n}", "t:2:34: neg has no attribute scale"},
		{"func @f(%x: f32[4]) -> () {\n  %y = chain %x {steps=[neg x0]}\n  return\n}", "t:2:29: x0 where ( is expected"},
		{"func @f() -> () {\n  %y = relu %x\n  return\n}", "t:2:13: %x is not defined"},
		{"func @f(%x: f32[1]) -> () {\n  relu %x\n  return\n}", "has 1 result, not 0"},
		{"func @f(%x: f32[1]) -> () {\n  %y, %z = relu %x\n  return\n}", "has 1 result, not 2"},
		{"func @f(%x: f32[1]) -> () {\n  %x = relu %x\n  return\n}", "%x is defined twice"},
		{"func @f(%x: f32[1]) -> () {\n  %y, %y = foreign \"X\" : f32[], f32[]\n  return\n}", "%y is defined twice"},
		{"func @f(%x: f32[1]) -> () {\n  %y = relu %x at 0:0x0+4, -\n  return\n}", "2 places for 1 result"},
		{"func @f(%x: f32[1]) -> () {\n  %y = relu %x spit=1\n  return\n}", "unknown key spit"},
		{"func @f(%x: f32[1]) -> () {\n  %y = relu %x split=-1\n  return\n}", "outside 0 to"},
		{"func @f(%x: f32[1]) -> () {\n  %y = relu %x part=some\n  return\n}", "split is expected"},
		{"func @f(%x: f32[1]) -> () {\n  %y = relu %x ; a-\n  return\n}", "cannot end in -"},
		{"func @f(%x: f32[1]) -> () {\n  %y = scale %x {scale=1, scale=2}\n  return\n}", "occurs twice"},
		{"func @f(%x: f32[1]) -> () {\n  %y = scale %x {scale=1e99}\n  return\n}", "no number in the range"},
		{"func @f(%x: f32[1]) -> () {\n  %y = scale %x {scale=nan(1)}\n  return\n}", "not the bits of a NaN"},
		{"func @f(%x: f32[1,1,1]) -> () {\n  %y = rope %x, %x {neox=2}\n  return\n}", "true or false"},
		{"func @f(%x: f32[1]) -> f32[2] {\n  return %x\n}", "declared as f32[2], %x is f32[1]"},
		{"func @f(%x: f32[1]) -> (a: f32[1], b: f32[1]) {\n  return %x\n}", "returns 1 value, the function declares 2"},
		{"ggir 1\nfunc @f() -> () {\n  %y = weight \"w\"\n  return\n}", `no weight "w"`},
		{"plan {\n  arena host heap\n}", "unknown class heap"},
		{"plan {\n  arena host io size=3\n}", "unknown key size"},
		{"plan {\n  are\n}", "unexpected are"},
		{"plan {\n}\nplan {\n}", "there is a plan already"},
	}
	for _, tt := range tests {
		_, err := Parse("t", []byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q:\n\tgot  %v\n\twant %s", tt.text, err, tt.want)
		}
	}
}

func TestErrorsAreJoinedAndBounded(t *testing.T) {
	_, err := Parse("t", []byte("func @f() -> () {\n  %a = mix\n  %b = mix\n  return %c\n}\nfunc @g( {\n  %a = mix\n}\nodd\n"))
	const want = "t:2:8: unknown operation mix\nt:3:8: unknown operation mix\nt:4:10: %c is not defined before this line\n" +
		"t:6:10: { where a parameter is expected\nt:9:1: unexpected odd"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	_, err = Parse("t", []byte(strings.Repeat("odd\n", 1000)))
	if n := strings.Count(err.Error(), "\n") + 1; n != maxErrors {
		t.Errorf("%d errors, want %d", n, maxErrors)
	}
}

func TestDimensionsThatGrowAreRefused(t *testing.T) {
	factor := "(" + strings.Join(strings.Split("abcdefgh", ""), "+") + ")"
	text := ""
	for _, s := range "abcdefgh" {
		text += "symbol " + string(s) + " 1 2\n"
	}
	text += "weight \"w\" : f32[" + strings.Repeat(factor+"*", 50) + "1]"
	if _, err := Parse("t", []byte(text)); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v", err)
	}
}

func TestWithoutFullHeadPropsAreImported(t *testing.T) {
	if m := mustParse(t, "symbol n 1 2"); m.Props != PropImported {
		t.Errorf("props %v", m.Props)
	}
	if m := mustParse(t, "ggir 1\n"); m.Props != 0 {
		t.Errorf("props %v", m.Props)
	}
}

func TestEmptyTextIsAnError(t *testing.T) {
	for _, text := range []string{"", "\n\n", "// only a comment\n"} {
		if _, err := Parse("t", []byte(text)); err == nil || !strings.Contains(err.Error(), "there is no text") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// FuzzParse checks that what can be read is printed as a text that reads the same, and
// that nothing panics, the verifier included.
func FuzzParse(f *testing.F) {
	f.Add(speaker)
	f.Add(fullText)
	f.Add(sharded)
	f.Add(written)
	for op := range Ops {
		for _, c := range casesOf(op) {
			f.Add(caseText(op, c))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse("fuzz", []byte(text))
		if err != nil {
			return
		}
		printed := m.String()
		back, err := Parse("printed", []byte(printed))
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		if again := back.String(); again != printed {
			t.Fatalf("printed:\n%s\nagain:\n%s", printed, again)
		}
		if equal, diff := Equal(m, back); !equal {
			t.Fatalf("%s\n%s", diff, printed)
		}
		if equal, diff := Equal(m, m.Clone()); !equal {
			t.Fatalf("clone: %s\n%s", diff, printed)
		}
		_ = Verify(m) // must not panic
	})
}

// caseText returns the text of a function that is one call of op, for seeds.
func caseText(op Op, c Case) string {
	m := &Module{Symbols: []*Symbol{symTokens}, Props: PropImported}
	f := m.AddFunc("f")
	var args []*Value
	for _, a := range c.Args {
		args = append(args, f.AddParam("", a.Type))
	}
	n := &Node{Op: op, Attr: c.Attr, Args: args, Func: f}
	types, err := Infer(n)
	if err != nil {
		return err.Error()
	}
	f.Append(f.NewNode(op, c.Attr, args, "y", types...))
	return m.String()
}
