package cpu

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// restoreTiles undoes choices at the end of a test.
func restoreTiles(t testing.TB) {
	before := make([][numFormats]tileSet, len(implementations))
	for i := range implementations {
		before[i] = implementations[i].matmul
	}
	t.Cleanup(func() {
		for i := range implementations {
			implementations[i].matmul = before[i]
		}
	})
}

// TestChoose makes each choice of the table and looks at what products then use, up to the
// implementation that has tiles of its own.
func TestChoose(t *testing.T) {
	restoreTiles(t)
	for _, e := range tile.Table {
		for _, c := range tile.Choices(e.Feature, e.Weight) {
			Choose(c)
			for i := range implementations {
				im := &implementations[i]
				if own := entry(t, c.Weight, im.name); own.Feature != c.Feature {
					continue
				}
				checkTileSet(t, im.matmul[formats[c.Weight]])
				many, single := tilesOf(im, formats[c.Weight])
				if got := fmt.Sprintf("%s:%v:%d:%d", c.Feature, c.Weight, many*panelRows, single*panelRows); got != c.String() {
					t.Errorf("%s: %v is chosen, and %s used", im.name, c, got)
				}
			}
		}
	}
}

// tilesOf returns how many panels the tiles have that are used for very many rows, and for
// one.
func tilesOf(im *implementation, f format) (many, single int) {
	const enough = 1 << 10
	return im.matmul[f].pick(enough, enough).panels, im.matmul[f].pick(1, enough).panels
}

// TestUsual: products without a choice use the tiles that Usual returns.
func TestUsual(t *testing.T) {
	restoreTiles(t)
	for i := range implementations {
		im := &implementations[i]
		for weight, f := range formats {
			many, single := tilesOf(im, f)
			c, ok := Usual(string(im.name), weight)
			if want := (tile.Choice{Feature: im.tilesOf(weight), Weight: weight, N: many * panelRows, V: single * panelRows}); !ok || c != want {
				t.Errorf("%s: %v, want %v", im.name, c, want)
			}
			if !slices.Contains(tile.Choices(c.Feature, weight), c) {
				t.Errorf("%s: %v cannot be chosen", im.name, c)
			}
		}
	}
	if c, ok := Usual("sse2", 0); ok {
		t.Errorf("of an unknown implementation, %v", c)
	}
}

// TestChooseUnknown: programs carry choices for processors that this build is not for.
func TestChooseUnknown(t *testing.T) {
	restoreTiles(t)
	for _, c := range []tile.Choice{{Feature: "sve"}, {Feature: tile.Generic, N: 32, V: 16}, {Feature: tile.Generic, N: 16, V: 128}} {
		Choose(c)
	}
	for f := range numFormats {
		if many, single := tilesOf(&implementations[0], f); many != 1 || single != 1 {
			t.Errorf("format %d takes tiles of %d and %d panels", f, many, single)
		}
	}
}

// TestSelectAmong: a program limited to some kernels runs the best of them.
func TestSelectAmong(t *testing.T) {
	defer func(before string) {
		if err := Select(before); err != nil {
			t.Error(err)
		}
	}(Active())
	all, want := Available(), ""
	for i, name := range all {
		slow := slices.ContainsFunc(implementations, func(im implementation) bool { return string(im.name) == name && im.slow })
		if !slow {
			want = name
		}
		if !SelectAmong(all[:i+1]) || Active() != want {
			t.Errorf("of %v, %s is selected", all[:i+1], Active())
		}
		if !SelectAmong([]string{name}) || Active() != name {
			t.Errorf("of %s alone, %s is selected", name, Active())
		}
	}
	for _, names := range [][]string{{"generic", "avx512bf16"}, {"avx2", "avx512bf16"}} {
		if slices.Contains(all, "avx512bf16") && (!SelectAmong(names) || Active() != "avx512bf16") {
			t.Errorf("of %v, %s is selected: slow is said of the lesser one alone", names, Active())
		}
	}
	if Best() != want {
		t.Errorf("%s is the best, among all %s is selected", Best(), want)
	}
	if before := Active(); SelectAmong([]string{"sse2"}) || Active() != before || !SelectAmong(nil) || Active() != before {
		t.Errorf("unknown names, or none, select %s", Active())
	}
}
