package cmd

import (
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/codegen/driver"
)

func TestClosingLine(t *testing.T) {
	host := driver.SpaceBytes{Space: "host", Weights: 3 << 30, State: 512 << 20, Arenas: 1 << 20}
	for _, c := range []struct {
		r    driver.Result
		want string
	}{
		{driver.Result{Path: "x", Bytes: 0}, "x: 0 B in 1.5 s; needs no memory"},
		{driver.Result{Path: "x", Bytes: 1023, Memory: []driver.SpaceBytes{{Space: "host", Weights: 1}}}, "x: 1023 B in 1.5 s; needs 1 B (weights 1, state 0, arenas 0)"},
		{driver.Result{Path: "story", Bytes: 1<<20 - 1, Memory: []driver.SpaceBytes{host}}, "story: 1023 KiB in 1.5 s; needs 3.5 GiB (weights 3, state 0.5, arenas 0.000977)"},
		{driver.Result{Path: "story", Bytes: 1 << 20, WeightsFile: "w.bin", WeightsBytes: 3<<30 + 64, Memory: []driver.SpaceBytes{host, {Space: "gpu", State: 1 << 40}}},
			"story: 1 MiB and 3 GiB in w.bin in 1.5 s; needs 3.5 GiB in host, 1 TiB in gpu"},
	} {
		if got := resultText(c.r, 1500*time.Millisecond); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
