package pass

import (
	"strings"
	"testing"
)

func TestGroupsAreParsed(t *testing.T) {
	for _, text := range []string{"tp=a*3,b*1", "tp=a,b,fake:0", "g=a*0,b*0.5"} {
		if g, err := ParseGroup(text); err != nil || g.String() != text {
			t.Errorf("%s: %v, error %v", text, g, err)
		}
	}
	for text, want := range map[string]string{
		"":              "write NAME=",
		"tp":            "write NAME=",
		"tp=":           "write NAME=",
		"=a,b":          "write NAME=",
		"t p=a,b":       "has spaces",
		"t\x01=a,b":     "has spaces or control characters",
		"tp=a":          "has one member",
		"tp=a*1":        "has one member",
		"tp=a,a":        "has a twice",
		"tp=a*0,b*0":    "add up to 0",
		"tp=a*1,b":      "1 of 2 members have a share",
		"tp=a*-1,b*2":   "no number from 0",
		"tp=a*nan,b*2":  "no number from 0",
		"tp=a*inf,b*2":  "no number from 0",
		"tp=a*1,b*x":    "no number from 0",
		"tp=a*1,*1":     "has no name",
		"tp=a*1,b*1e10": "no number from 0",
	} {
		if _, err := ParseGroup(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func TestShardRulesAreParsed(t *testing.T) {
	for _, text := range []string{"a=b=axis1", "up$=mirrored", "x=axis0"} {
		if r, err := ParseShardRule(text); err != nil || r.String() != text {
			t.Errorf("%s: %v, error %v", text, r, err)
		}
	}
	for text, want := range map[string]string{
		"": "write REGEX", "a": "write REGEX", "a=": "write REGEX", "(=axis0": "missing closing", "a=partial": "is no state", "a=axis": "is no state",
		"a=axis-1": "is no state", "a=axis999": "is no state", "a=0": "is no state",
	} {
		if _, err := ParseShardRule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
