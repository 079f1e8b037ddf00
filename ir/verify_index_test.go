package ir

import (
	"fmt"
	"strings"
	"testing"
)

// indexHead is what modules begin with whose functions select rows.
const indexHead = `ggir 1
props imported,shaped
symbol n 1 100
symbol m 0 5
weight "i" : i32[2] = literal "0000000001000000"
state "s" : i32[2]
state "k" : f32[1,1,128,32]
`

// TestIndexesMustBeWithinBounds has integers that select rows, from all kinds of origins.
func TestIndexesMustBeWithinBounds(t *testing.T) {
	const params = "%x: f32[n,50], %small: f32[n,10], %t: f32[10,8], %own: f32[n,8], %i: i32[n], %j: i32[n]"
	for _, c := range []struct{ name, body, want string }{
		{"an input", "%g = gather %t, %i", ""},
		{"a part of one, copied", "%c = copy %i\n %s = slice %c {axis=0, start=0, len=1}\n %g = gather %t, %s", ""},
		{"two inputs", "%c = concat %i, %j {axis=0}\n %g = gather %t, %c", ""},
		{"top_k of as many", "%k = top_k %small {k=1}\n %r = reshape %k {shape=[n]}\n %g = gather %t, %r", ""},
		{"top_k of more", "%k = top_k %x {k=1}\n %r = reshape %k {shape=[n]}\n %g = gather %t, %r",
			"@f %g: index: idx comes from %k, which chooses among 50 elements, and selects one of 10"},
		{"top_k of one more", "%l = slice %x {axis=1, start=0, len=11}\n %c = copy %l\n %k = top_k %c {k=1}\n %r = reshape %k {shape=[n]}\n %g = gather %t, %r",
			"chooses among 11 elements, and selects one of 10"},
		{"take of its own row", "%k = top_k %x {k=3}\n %g = take %x, %k", ""},
		{"take of another row", "%k = top_k %x {k=3}\n %g = take %small, %k", "@f %g: index: idx comes from %k, which chooses among 50 elements"},
		{"top_k of a symbol", "%r = reshape %own {shape=[8,n]}\n %k = top_k %r {k=1}\n %l = reshape %k {shape=[8]}\n %g = gather %own, %l", ""},
		{"top_k of a larger symbol", "%r = reshape %own {shape=[4,2*n]}\n %k = top_k %r {k=1}\n %l = reshape %k {shape=[4]}\n %g = gather %own, %l",
			"chooses among 2*n elements, and selects one of n"},
		{"a constant", "%c = constant \"0000000009000000\" : i32[2]\n %g = gather %t, %c", ""},
		{"one past the end", "%c = constant \"000000000a000000\" : i32[2]\n %g = gather %t, %c",
			"@f %g: index: idx comes from %c, whose element 1 is 10, and selects one of 10, which is at least 10"},
		{"a negative constant", "%c = constant \"ffffffff00000000\" : i32[2]\n %g = gather %t, %c", "whose element 0 is -1"},
		{"a constant for all sizes", "%c = constant \"00000000\" : i32[1]\n %g = gather %own, %c", ""},
		{"a constant for some sizes", "%c = constant \"01000000\" : i32[1]\n %g = gather %own, %c", "whose element 0 is 1, and selects one of n, which is at least 1"},
		{"a constant in no rows", "%c = constant \"00000000\" : i32[1]\n %s = slice %t {axis=0, start=0, len=m}\n %g = gather %s, %c", "selects one of m, which is at least 0"},
		{"a weight", "%c = weight \"i\"\n %g = gather %t, %c", "@f %g: index: idx comes from %c, whose elements may be any"},
		{"a state", "%c = state \"s\"\n %g = gather %t, %c", "idx comes from %c, whose elements may be any"},
		{"experts", "%w = reshape %t {shape=[10,1,8]}\n %r = reshape %own {shape=[n,1,8]}\n %k = top_k %x {k=2}\n %g = experts_matmul %r, %w, %k",
			"@f %g: index: idx comes from %k, which chooses among 50 elements, and selects one of 10"},
		{"experts that are copied", "%k = top_k %x {k=2}\n %g = copy_experts %t, %k", "@f %g: index: idx comes from %k, which chooses among 50"},
		{"invariant, carried, swapped",
			"%y, %a, %b = repeat %own, %i, %j, %t {count=4, carried=3, invariant=1}\n body @b(%y: f32[n,8], %a: i32[n], %b: i32[n], %t: f32[10,8]) -> (f32[n,8], i32[n], i32[n]) {\n" +
				" %g = gather %t, %a\n return %g, %b, %a\n }", ""},
		{"carried after the first iteration",
			"%k = top_k %x {k=1}\n %r = reshape %k {shape=[n]}\n %y, %a, %b = repeat %own, %i, %r, %t {count=4, carried=3, invariant=1}\n body @b(%y: f32[n,8], %a: i32[n], %b: i32[n], %t: f32[10,8]) -> (f32[n,8], i32[n], i32[n]) {\n" +
				" %g = gather %t, %a\n return %g, %b, %a\n }", "@b %g: index: idx comes from %k of @f, which chooses among 50"},
		{"made in the first iteration",
			"%y, %a = repeat %own, %i, %t, %x {count=2, carried=2, invariant=2}\n body @b(%y: f32[n,8], %a: i32[n], %t: f32[10,8], %x: f32[n,50]) -> (f32[n,8], i32[n]) {\n" +
				" %g = gather %t, %a\n %k = top_k %x {k=1}\n %r = reshape %k {shape=[n]}\n return %g, %r\n }", "@b %g: index: idx comes from %k, which"},
		{"after the repeat",
			"%a = repeat %i, %x {count=2, carried=1, invariant=1}\n body @b(%a: i32[n], %x: f32[n,50]) -> i32[n] {\n" +
				" %k = top_k %x {k=1}\n %r = reshape %k {shape=[n]}\n return %r\n }\n %g = gather %t, %a", "@f %g: index: idx comes from %k of @b"},
		{"a table", "%w = weight \"i\"\n %s = slice %i {axis=0, start=0, len=1}\n %one = slice %w {axis=0, start=0, len=1}\n %y = repeat %own, %t, %s, %one {count=2, carried=1, invariant=1}\n" +
			" body @b(%y: f32[n,8], %t: f32[10,8], %i: i32[1]) -> f32[n,8] {\n %g = gather %t, %i\n return %y\n }", "@b %g: index: idx comes from %w of @f"},
		{"an argument of a call", "%k = top_k %x {k=1}\n %r = reshape %k {shape=[n]}\n %g = call @inner %t, %r", "@inner %g: index: idx comes from %k of @f, which chooses among 50"},
		{"an input for a call", "%g = call @inner %t, %i", ""},
		{"the result of a call", "%r = call @chosen %x\n %g = gather %t, %r", "@f %g: index: idx comes from %k of @chosen"},
		{"slots and positions", "%s = state \"k\"\n %r = slice %i {axis=0, start=0, len=1}\n %k = top_k %x {k=1}\n %l = reshape %k {shape=[n]}\n %p = slice %l {axis=0, start=0, len=1}\n" +
			" %z = slice %x {axis=0, start=0, len=1}\n %a = slice %z {axis=1, start=0, len=32}\n %b = copy %a\n %v = reshape %b {shape=[1,1,32]}\n %w = state_write %s, %v, %p, %p",
			"@f %w: index: slot comes from %k, which chooses among 50 elements, and selects one of 1"},
		{"lengths", "%s = state \"k\"\n %q = slice %x {axis=1, start=0, len=32}\n %c = copy %q\n %h = reshape %c {shape=[n,1,32]}\n %l = constant \"81000000\" : i32[1]\n" +
			" %y = attention %h, %s, %s, %i, %j, %l {scale=1}", "@f %y: index: lengths comes from %l, whose element 0 is 129, and selects one of 129"},
		{"full lengths", "%s = state \"k\"\n %q = slice %x {axis=1, start=0, len=32}\n %c = copy %q\n %h = reshape %c {shape=[n,1,32]}\n %l = constant \"80000000\" : i32[1]\n" +
			" %y = attention %h, %s, %s, %i, %j, %l {scale=1}", ""},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			m := mustParse(t, indexHead+"func @inner(%t: f32[10,8], %i: i32[n]) -> f32[n,8] {\n %g = gather %t, %i\n return %g\n}\n"+
				"func @chosen(%x: f32[n,50]) -> i32[n] {\n %k = top_k %x {k=1}\n %r = reshape %k {shape=[n]}\n return %r\n}\n"+
				"func @f("+params+") {\n "+c.body+"\n return %i\n}\n")
			err := Verify(m)
			if c.want == "" && err != nil || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestIndexesAreFollowedInLinearTime follows long and wide chains of values in linear time.
func TestIndexesAreFollowedInLinearTime(t *testing.T) {
	var b strings.Builder
	b.WriteString(indexHead + "func @f(%t: f32[10,8], %i0: i32[1], %c0: i32[1]) {\n")
	const long = 20000
	for i := range long {
		fmt.Fprintf(&b, " %%i%d = copy %%i%d : i32[1]\n", i+1, i)
	}
	for i := range 100 {
		fmt.Fprintf(&b, " %%d%d = concat %%c%d, %%c%d {axis=0}\n %%c%d = slice %%d%d {axis=0, start=0, len=1}\n", i, i, i, i+1, i)
	}
	for i := range long {
		fmt.Fprintf(&b, " %%g%d = gather %%t, %%i%d : f32[1,8]\n", i, long-i)
	}
	b.WriteString(" %last = gather %t, %c100\n return %last\n}\n")
	if err := Verify(mustParse(t, b.String())); err != nil {
		t.Error(err)
	}
}
