package ir

import (
	"math"
	"testing"
)

func TestBytesText(t *testing.T) {
	for _, c := range []struct {
		n    int64
		want string
	}{
		{0, "0 B"}, {1, "1 B"}, {999, "999 B"}, {1000, "1000 B"}, {1023, "1023 B"}, {-5, "-5 B"}, {-5000, "-5000 B"},
		{1 << 10, "1 KiB"}, {8 << 10, "8 KiB"}, {5120 << 10, "5 MiB"}, {8192 << 10, "8 MiB"},
		{1793 << 10, "1.75 MiB"}, {999<<10 + 700, "999 KiB"}, {1023 << 10, "1023 KiB"}, {1<<20 - 1, "1023 KiB"},
		{1 << 30, "1 GiB"}, {3 << 39, "1.5 TiB"}, {math.MaxInt64, "8388607 TiB"},
	} {
		if got := BytesText(c.n); got != c.want {
			t.Errorf("%d: %s, want %s", c.n, got, c.want)
		}
	}
	if got := RoundedBytes(1023); got != "" {
		t.Errorf("1023: %q", got)
	}
	if got := RoundedBytes(1 << 20); got != " (1 MiB)" {
		t.Errorf("1 MiB: %q", got)
	}
}
