package ir

import (
	"fmt"
	"strings"
	"testing"
)

// TestDivisionsArePrinted has a weight with three segments and a state.
func TestDivisionsArePrinted(t *testing.T) {
	const text = `ggir 1
weight "qkv" : f32[192,64] = m["qkv"] divide "blk.0.heads" 0 8 [128, 2*16, 2*16]
state "keys" : f32[1,8,16,4] divide "blk.0.heads" 1 8 [8]
state "one" : f32[1,1,16,4] divide "blk.0.heads" 1 8 [1*1]
`
	m, err := Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.String(); got != text {
		t.Errorf("got\n%swant\n%s", got, text)
	}
	other := m.Clone()
	other.Weights[0].Divide.Sizes[1]++
	if equal, diff := Equal(m, other); equal || !strings.Contains(diff, `weight "qkv"`) {
		t.Errorf("a clone with another division: equal %v, %s", equal, diff)
	}
}

func TestImpossibleDivisionsAreReported(t *testing.T) {
	for division, want := range map[string]string{
		`"d" 2 1 [8]`:                           "is divided on axis 2 of 2",
		`"d" 0 0 [12]`:                          "is divided into 0 units",
		`"d" 0 5 [12]`:                          "has a segment of 12 elements, which are not 5 equal units",
		`"d" 0 4 [8]`:                           "has segments of 8 elements on an axis of 12",
		`"d" 0 1 [0,12]`:                        "has a segment of 0 elements",
		`"d" 0 1 []`:                            "has segments of 0 elements",
		`"d" 0 4 [3*4]`:                         "has a segment of 3 pieces for 4 units",
		`"d" 0 4 [0*4]`:                         "has a segment of 0 pieces for 4 units",
		`"d" 0 4 [2*0]`:                         "has a segment of 0 elements",
		`"d" 0 4 [9000000000000*9000000000000]`: "a segment is larger than",
	} {
		m, err := Parse("test", fmt.Appendf(nil, "ggir 1\nweight \"w\" : f32[12,8] divide %s\n", division))
		if err == nil {
			err = Verify(m)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", division, err, want)
		}
	}
}
