package codegen_test

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestTilesOfTheTargetAreEmitted: a program has the tiles that its target names, and no table of tiles where the
// target names none. Emit reads the program back, so it fails if a tile is not there.
func TestTilesOfTheTargetAreEmitted(t *testing.T) {
	for tiles, want := range map[string]bool{"": false, " tiles=avx512:f32:16:64,avx512:f16:16:16": true} {
		targets, err := target.Parse("targets", "target cpu like=cpu"+tiles+"\n")
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range emitWith(t, onlyFunc(t, "moe"), "p", passes.RunOptions{Targets: targets}).Files {
			found = found || strings.Contains(string(f.Data), "tile.Choice")
		}
		if found != want {
			t.Errorf("target cpu%s: a table of tiles: %t", tiles, found)
		}
	}
}
