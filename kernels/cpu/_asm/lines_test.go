package main

import (
	"strings"
	"testing"
)

func TestJoinLines(t *testing.T) {
	text := "#include \"textflag.h\"\n\n// func f(x int)\nTEXT ·f(SB), NOSPLIT, $0-8\n\tMOVQ x+0(FP), AX\n\tADDQ  $1, AX\n\tADDQ  $2, AX\n\nloop:\n" +
		strings.Repeat("\tDECQ AX\n", perLine+1) + "\tJNZ  loop\n\tRET\n"
	want := "#include \"textflag.h\"\n\n// func f(x int)\nTEXT ·f(SB), NOSPLIT, $0-8\n\tMOVQ x+0(FP), AX\n\tADDQ $1, AX; ADDQ $2, AX\n\nloop:\n" +
		"\t" + strings.Repeat("DECQ AX; ", perLine-1) + "DECQ AX\n\tDECQ AX; JNZ loop; RET\n"
	if got := joinLines(text); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}
