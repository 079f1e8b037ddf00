package target

import (
	"strings"
	"testing"
)

func TestAlignmentDiffersBySpace(t *testing.T) {
	l, err := Parse("t", "target gpu space=dev,host align=256 alignin=host:32 ops=*\n"+
		"target cpu space=host align=64 ops=*")
	if err != nil {
		t.Fatal(err)
	}
	gpu := l.Get("gpu")
	if gpu.AlignIn("dev") != 256 || gpu.AlignIn("host") != 32 {
		t.Errorf("gpu needs %d in dev and %d in host, want 256 and 32", gpu.AlignIn("dev"), gpu.AlignIn("host"))
	}
	if l.Space("host").Align != 64 || l.Space("dev").Align != 256 {
		t.Errorf("host has alignment %d, dev %d, want 64 and 256", l.Space("host").Align, l.Space("dev").Align)
	}
	again, err := ParseDescriptor(gpu.String())
	if err != nil || again.AlignIn("host") != 32 {
		t.Errorf("%v reads as %v: %v", gpu, again, err)
	}
	for _, bad := range []string{"host", ":64", "host:x", "host:0"} {
		_, err := ParseDescriptor("gpu space=dev,host alignin=" + bad)
		if err == nil || !strings.Contains(err.Error(), "alignin") {
			t.Errorf("alignin=%s: %v", bad, err)
		}
	}
}
