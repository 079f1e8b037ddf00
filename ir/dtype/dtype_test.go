package dtype

import (
	"strings"
	"testing"
)

func TestDTypesHaveTheirSizesAndKinds(t *testing.T) {
	tests := []struct {
		d          DType
		name       string
		n          int
		bytes      int
		quant, flt bool
	}{
		{F32, "f32", 7, 28, false, true},
		{F16, "f16", 7, 14, false, true},
		{BF16, "bf16", 7, 14, false, true},
		{F64, "f64", 7, 56, false, true},
		{I8, "i8", 7, 7, false, false},
		{I32, "i32", 7, 28, false, false},
		{I64, "i64", 7, 56, false, false},
		{U8, "u8", 7, 7, false, false},
		{Bool, "bool", 7, 7, false, false},
		{Q8_0, "q8_0", 64, 68, true, false},
		{Q4_0, "q4_0", 64, 36, true, false},
		{Q4_1, "q4_1", 64, 40, true, false},
		{Q5_0, "q5_0", 64, 44, true, false},
		{Q5_1, "q5_1", 64, 48, true, false},
		{Q2_K, "q2_k", 512, 168, true, false},
		{Q3_K, "q3_k", 512, 220, true, false},
		{Q4_K, "q4_k", 512, 288, true, false},
		{Q5_K, "q5_k", 512, 352, true, false},
		{Q6_K, "q6_k", 512, 420, true, false},
		{IQ4_NL, "iq4_nl", 64, 36, true, false},
		{IQ4_XS, "iq4_xs", 512, 272, true, false},
		{MXFP4, "mxfp4", 64, 34, true, false},
		{Q8A, "q8a", 64, 96, true, false},
		{Q8A_K, "q8a_k", 512, 640, true, false},
		{IQ2X, "iq2x", 512, 276, true, false},
		{IQ2X16, "iq2x16", 512, 292, true, false},
		{IQ3X, "iq3x", 512, 276, true, false},
		{IQ3SX, "iq3sx", 512, 276, true, false},
		{IQ1_S, "iq1_s", 512, 100, true, false},
		{IQ1_M, "iq1_m", 512, 112, true, false},
		{IQ2_XXS, "iq2_xxs", 512, 132, true, false},
		{IQ2_XS, "iq2_xs", 512, 148, true, false},
		{IQ2_S, "iq2_s", 512, 164, true, false},
		{IQ3_XXS, "iq3_xxs", 512, 196, true, false},
		{IQ3_S, "iq3_s", 512, 220, true, false},
		{TQ1_0, "tq1_0", 512, 108, true, false},
		{TQ2_0, "tq2_0", 512, 132, true, false},
	}
	if len(tests) != int(NumDTypes)-1 {
		t.Errorf("%d cases for %d dtypes", len(tests), NumDTypes-1)
	}
	for _, tt := range tests {
		if tt.d.String() != tt.name {
			t.Errorf("name of %d is %q, want %q", tt.d, tt.d, tt.name)
		}
		if got, err := Parse(tt.name); got != tt.d || err != nil {
			t.Errorf("Parse(%q) = %v, %v", tt.name, got, err)
		}
		if got := tt.d.RowBytes(tt.n); got != tt.bytes {
			t.Errorf("%v: %d elements take %d bytes, want %d", tt.d, tt.n, got, tt.bytes)
		}
		if got := tt.d.Bytes(0); got != 0 {
			t.Errorf("%v: no elements take %d bytes", tt.d, got)
		}
		if got, want := tt.d.IsActivation(), strings.HasPrefix(tt.name, "q8a"); got != want {
			t.Errorf("%v: IsActivation is %v", tt.d, got)
		}
		if tt.d.IsQuantized() != tt.quant || tt.d.IsFloat() != tt.flt || tt.d.IsInt() == (tt.quant || tt.flt) {
			t.Errorf("%v: kind %d", tt.d, tt.d.Kind())
		}
	}
}

func TestParseListsKnownNames(t *testing.T) {
	for _, name := range []string{"", "F32", "q4_K", "dtype(0)", "f32 "} {
		_, err := Parse(name)
		if err == nil || !strings.Contains(err.Error(), "the known ones are f32, f16, ") {
			t.Errorf("Parse(%q): %v", name, err)
		}
	}
}

func TestInvalidDTypesAndSizesPanic(t *testing.T) {
	for _, d := range []DType{Invalid, NumDTypes, 255} {
		if d.Valid() || !strings.HasPrefix(d.String(), "dtype(") {
			t.Errorf("%v is valid", d)
		}
		mustPanic(t, func() { d.BlockBytes() })
	}
	mustPanic(t, func() { Q4_0.RowBytes(31) })
	mustPanic(t, func() { F32.RowBytes(-1) })
}

func mustPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	f()
}
