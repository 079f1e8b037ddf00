package cpu

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestNextPanelAsksOnce checks that the first tiles prefetch all bytes after a panel, each another
// part, and that later tiles prefetch something else.
func TestNextPanelAsksOnce(t *testing.T) {
	var memory [8]byte
	base, other := unsafe.Pointer(&memory), uintptr(1)
	for _, bytes := range []int{4 * lineBytes, 2048 * 32, 288 * 64, 544} {
		next := formatF32.next(base, bytes, askRows, panelRows)
		want := uintptr(base) + uintptr(bytes)
		for i := range askTiles {
			if at := next.ask(other); at != want {
				t.Errorf("%d bytes: tile %d asks at %d, want %d", bytes, i, at-uintptr(base), want-uintptr(base))
			}
			want += uintptr(bytes / askTiles)
		}
		if want != uintptr(base)+2*uintptr(bytes) {
			t.Errorf("%d bytes: tiles ask for %d", bytes, want-uintptr(base)-uintptr(bytes))
		}
		if at := next.ask(other); at != other {
			t.Errorf("%d bytes: a tile more asks for %d", bytes, at)
		}
	}
	for _, none := range []nextPanel{formatF32.next(base, 64, askRows, 0), formatF32.next(base, 64, askRows-1, panelRows)} {
		if none.ask(other) != other {
			t.Error("tiles of the last panel, or of few rows, ask for weights behind it")
		}
	}
}

// TestExpandedPanelsAreAskedForOnce checks that the tiles of a product prefetch all lines of the panels that are
// expanded next, of both weights, each once, and nothing after the matrix.
func TestExpandedPanelsAreAskedForOnce(t *testing.T) {
	defer func(before *implementation) { active = before }(active)
	var asked map[unsafe.Pointer]int
	active = &implementation{prefetch: func(p unsafe.Pointer, lines int) {
		for i := range lines {
			asked[unsafe.Add(p, i*lineBytes)]++
		}
	}}
	const n, k = 5 * panelRows, 256
	bytes := formatShape[formatQ4K].panelBytes
	w, up := make([]byte, 5*bytes), make([]byte, 5*bytes)
	for _, tt := range []struct{ c, panels, tiles, want int }{
		{panelRows, 2, 7, 2}, {panelRows, 1, 1, 1}, {4 * panelRows, 2, 3, 1}, {n, 2, 3, 0}, {panelRows, 2, 0, 0},
	} {
		asked = make(map[unsafe.Pointer]int)
		p := expandedProduct{expansion: &expansion{}, f: formatQ4K, w: unsafe.Pointer(&w[0]), up: unsafe.Pointer(&up[0]), n: n, k: k}
		p.askFor(tt.c, tt.panels, tt.tiles)
		for range tt.tiles + 2 {
			p.next.ask()
		}
		if got, want := len(asked), 2*tt.want*bytes/lineBytes; got != want {
			t.Errorf("%+v: %d lines, want %d", tt, got, want)
		}
		for i := range tt.want * bytes / lineBytes {
			at := tt.c/panelRows*bytes + i*lineBytes
			if asked[unsafe.Pointer(&w[at])] != 1 || asked[unsafe.Pointer(&up[at])] != 1 {
				t.Errorf("%+v: line %d is not asked for once", tt, i)
			}
		}
	}
}

// TestFirstTilesAskForTheNextPanel checks that one tile of an expanded panel prefetches the next one, if there is one, or
// two a half each, and the others nothing.
func TestFirstTilesAskForTheNextPanel(t *testing.T) {
	const n, k = 2*panelRows + 1, 256
	bytes := formatShape[formatQ4K].panelBytes
	w := make([]byte, 3*bytes)
	p := expandedProduct{f: formatQ4K, n: n, k: k}
	for _, tt := range []struct {
		c, tile int
		shared  bool
		want    int // a place in w
	}{
		{0, 0, false, bytes}, {panelRows, 0, false, 2 * bytes}, {2 * panelRows, 0, false, 0}, {0, 1, false, 0},
		{0, 0, true, bytes + 1}, {0, 1, true, bytes + bytes/2 + 1}, {panelRows, 1, true, 2*bytes + bytes/2 + 1},
		{0, 2, true, 0}, {0, 31, true, 0}, {2 * panelRows, 1, true, 0},
	} {
		got := p.following(unsafe.Pointer(&w[0]), tt.c, tt.tile, tt.shared)
		if got > 0 {
			got -= uintptr(unsafe.Pointer(&w[0]))
		}
		if got != uintptr(tt.want) {
			t.Errorf("%+v: at %d of the panels", tt, got)
		}
	}
}

// TestTilesPrefetchWhatTheyRead demands that tiles of few rows, and those for AVX2 of expanded panels, prefetch in each
// iteration as many lines as are read of a panel in it: nothing else reads the panels of few rows ahead. Of tiles of signed
// rows two share that.
func TestTilesPrefetchWhatTheyRead(t *testing.T) {
	lines := prefetches(t, "PREFETCHT")
	demand := func(name string, bytes int) {
		if n, want := lines[name], (bytes+lineBytes-1)/lineBytes; n < want {
			t.Errorf("%s prefetches %d lines in an iteration that reads %d", name, n, want)
		}
	}
	for d, bytes := range map[string]int{"Q8": panelRows * q8Bytes, "Q4": panelRows * q4Bytes} {
		for _, rows := range []int{8, 4, 2} {
			demand(fmt.Sprintf("tile%sVNNIr%dp1", d, rows), bytes)
			demand(fmt.Sprintf("swiglu%sVNNIr%d", d, rows), 2*bytes)
		}
	}
	for _, rows := range []int{8, 4, 2} {
		demand(fmt.Sprintf("tileQ4AVX2r%dp1", rows), panelRows*q4Bytes)
	}
	demand("swigluQ4AVX2r4", 2*panelRows*q4Bytes)
	demand("tilePairQ4AVX2r2p1", panelRows*q4Bytes)
	demand("swigluPairQ4AVX2r2", 2*panelRows*q4Bytes)
	for _, name := range []string{"SignsQ8AVX2r2", "BoundedQ8AVX2r2", "BoundedQ8AVX2r4"} {
		demand("tile"+name+"p2", 2*panelRows*q8Bytes/bytesAsks)
		demand("swiglu"+name, 2*panelRows*q8Bytes/bytesAsks)
	}
	for _, name := range []string{"SignsQ8AVX2r2", "BoundedQ8AVX2r2"} {
		demand("tile"+name+"p1", panelRows*q8Bytes/bytesAsks)
	}
	for _, d := range schemed {
		s := d.Scheme()
		if s == nil {
			continue
		}
		name := strings.ToUpper(strings.ReplaceAll(d.String(), "_", ""))
		for _, rows := range []int{8, 4, 2} {
			demand(fmt.Sprintf("tile%sVNNIr%dp1", name, rows), s.PanelSub())
			if !s.Super {
				demand(fmt.Sprintf("swiglu%sVNNIr%d", name, rows), 2*s.PanelSub())
			}
		}
		if s.Group < blockLen || s.Offset == 128 {
			continue // AVX2 expands these
		}
		for _, rows := range []int{4, 2} {
			demand(fmt.Sprintf("tile%sAVX2r%dp1", name, rows), s.PanelSub())
			if !s.Super {
				demand(fmt.Sprintf("swiglu%sAVX2r%d", name, rows), 2*s.PanelSub())
			}
		}
	}
	for name, d := range map[string]dtype.DType{
		"Nibbles": dtype.Q4_1, "Bytes": dtype.Q5_1, "Shifted": dtype.Q5_0, "Signed": dtype.IQ4_NL,
		"SuperNibbles": dtype.Q4_K, "SuperBytes": dtype.Q5_K, "SuperShifted": dtype.IQ3SX, "SuperCrumbs16": dtype.Q2_K,
		"SuperSmall16": dtype.Q3_K, "SuperScaled16": dtype.Q6_K, "SuperLarge16": dtype.IQ2X16, "SuperSigned": dtype.IQ4_XS,
	} {
		demand(fmt.Sprintf("tile%sAVX2r2p1", name), d.Scheme().PanelSub())
	}
}

// TestFewRowsOfBlockFormatsPrefetchNear demands that tiles of few rows of block formats with VNNI prefetch into the
// first-level cache. From the second one 8 rows of q4_k have 0.7 of the speed on Zen 4.
func TestFewRowsOfBlockFormatsPrefetchNear(t *testing.T) {
	near, far := prefetches(t, "PREFETCHT0"), prefetches(t, "PREFETCHT1")
	for _, d := range schemed {
		if d.Scheme() == nil {
			continue
		}
		for _, rows := range []int{8, 4, 2} {
			name := fmt.Sprintf("tile%sVNNIr%dp1", strings.ToUpper(strings.ReplaceAll(d.String(), "_", "")), rows)
			if near[name] == 0 || far[name] > 0 {
				t.Errorf("%s prefetches %d lines into the first-level cache, %d into the second", name, near[name], far[name])
			}
		}
	}
}

// prefetches counts instructions, named by how they begin, of the functions in assembly.
func prefetches(t *testing.T, instruction string) map[string]int {
	files, err := filepath.Glob("*_amd64.s")
	if err != nil || len(files) == 0 {
		t.Fatal("no assembly: ", err)
	}
	count := make(map[string]int)
	begin := regexp.MustCompile(`^TEXT ·(\w+)`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := ""
		for line := range strings.Lines(string(text)) {
			if m := begin.FindStringSubmatch(line); m != nil {
				name = m[1]
			}
			count[name] += strings.Count(line, instruction)
		}
	}
	return count
}
