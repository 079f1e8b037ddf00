package arch

import "testing"

func TestPartsOfVocabularies(t *testing.T) {
	for _, c := range []struct{ vocab, k, want int64 }{
		{512, 1, 1}, {2048, 1, 1}, {4096, 1, 2}, {32000, 1, 10}, {32000, 40, 10}, {32000, 4000, 2}, {50257, 1, 1}, {128256, 1, 48}, {151936, 1, 64},
		{262144, 40, 64}, {32003, 1, 1}, {7, 7, 1},
	} {
		if got := partsOf(c.vocab, c.k); got != c.want {
			t.Errorf("%d tokens, the %d largest: %d parts, want %d", c.vocab, c.k, got, c.want)
		}
	}
}
