package runtime

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// wantsHuge reports whether huge pages have been requested for the byte at p ("hg" among VmFlags, Linux,
// Documentation/filesystems/proc.rst).
func wantsHuge(t *testing.T, p unsafe.Pointer) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skipf("skip: %v", err)
	}
	here := false
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			here = from <= uintptr(p) && uintptr(p) < to
		}
		if flags, found := strings.CutPrefix(line, "VmFlags:"); found && here {
			return strings.Contains(flags, " hg ")
		}
	}
	t.Fatalf("%p lies in no mapping", p)
	return false
}

// TestLongSequencesRequestHugePages lets the sequence of a session grow.
func TestLongSequencesRequestHugePages(t *testing.T) {
	p := toyProgram()
	p.StateBytes = 8 << 20
	_, s := openProgram(t, p, Options{Threads: 1})
	middle := unsafe.Add(s.state.base(), len(s.state.bytes)/2)
	for _, step := range []struct {
		n    int
		want bool
	}{{toyContext / 4, false}, {1, true}, {1, true}} {
		if _, err := s.Prefill(context.Background(), make([]int32, step.n)); err != nil {
			t.Fatal(err)
		}
		if got := wantsHuge(t, middle); got != step.want {
			if step.want && !hugePagesKnown() {
				t.Skip("skip: this kernel has no transparent huge pages")
			}
			t.Errorf("%d positions: huge pages wanted: %v", s.Len(), got)
		}
	}
}

func hugePagesKnown() bool {
	_, err := os.Stat("/sys/kernel/mm/transparent_hugepage/enabled")
	return err == nil
}

// TestHugePagesOfLessThanAPage passes memory without any whole page, and empty memory.
func TestHugePagesOfLessThanAPage(t *testing.T) {
	b := make([]byte, 10000)
	for _, small := range [][]byte{nil, b[:0], b[:1], b[5:100], b[1:8000]} {
		adviseHuge(small)
	}
}
