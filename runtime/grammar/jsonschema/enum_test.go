package jsonschema

import (
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// TestDecimalsCompareAsRationals compares random numbers, many of them equal, with package math/big.
func TestDecimalsCompareAsRationals(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	random := func() string {
		var b strings.Builder
		if rng.IntN(2) == 0 {
			b.WriteByte('-')
		}
		b.WriteString([]string{"0", "1", "10", "12", "100"}[rng.IntN(5)])
		b.WriteString([]string{"", ".0", ".1", ".01", ".20"}[rng.IntN(5)])
		if rng.IntN(2) == 0 {
			b.WriteString([]string{"e", "E+", "e-"}[rng.IntN(3)] + strconv.Itoa(rng.IntN(4)))
		}
		return b.String()
	}
	equal := 0
	for range 20000 {
		a, b := random(), random()
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		d, ok := parseDecimal(number(a))
		e, ok2 := parseDecimal(number(b))
		if got := d.compare(e); !ok || !ok2 || got != x.Cmp(y) {
			t.Fatalf("%s and %s: %d", a, b, got)
		}
		if x.Cmp(y) == 0 && a != b {
			equal++
		}
	}
	if equal < 100 {
		t.Errorf("%d pairs are equal", equal)
	}
}

// TestHugeNumbersBesideBounds: values that no float64 has are compared with bounds, too.
func TestHugeNumbersBesideBounds(t *testing.T) {
	g := compile(t, `{"enum": [1e99999999999, -1e99999999999, 1e-99999999999999999999, 123456789012345678901234567890.1],
		"exclusiveMaximum": 123456789012345678901234567890.10, "exclusiveMinimum": 0.0}`)
	for text, want := range map[string]bool{
		`1e99999999999`: false, `-1e99999999999`: false, `1e-99999999999999999999`: true, `123456789012345678901234567890.1`: false,
	} {
		if got := follows(t, g, text); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
