package tile

import (
	"strings"
	"testing"
)

func TestChoicesParse(t *testing.T) {
	for _, e := range Table {
		all := Choices(e.Feature, e.Weight)
		if len(all) != len(e.N)*len(e.V) {
			t.Errorf("%s %v: choices %v", e.Feature, e.Weight, all)
		}
		for _, c := range all {
			if back, err := ParseChoice(c.String()); err != nil || back != c {
				t.Errorf("%v is read as %v: %v", c, back, err)
			}
		}
	}
}

func TestParseChoiceRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "write FEATURE:WEIGHT:N:V",
		"avx512:f16:32":      "write FEATURE:WEIGHT:N:V",
		"avx512:f17:32:64":   "f17",
		"avx512:f16:x:64":    "invalid syntax",
		"avx512:f16:32:-64":  "there are avx512:f16:32:64, ",
		"avx512:f16:48:64":   "there are avx512:f16:32:64, ",
		"avx1024:f16:32:64":  "none of avx1024 for f16",
		"avx512:q4_0:16:16":  "none of avx512 for q4_0",
		"avx512:f16:32:64:1": "write FEATURE:WEIGHT:N:V",
	} {
		if _, err := ParseChoice(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
