package gguf

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/runtime/printable"
	"github.com/ggmlc/ggmlc/tests/heaptest"
)

// shortName returns a name of three bytes, a different one for each i below 2,000,000.
func shortName(i int) string {
	const first, many = 1, 126
	return string([]byte{byte(first + i%many), byte(first + i/many%many), byte(first + i/many/many)})
}

// TestReadingTakesAtMostThreeTimesTheFile measures the memory for files full of each kind of entry.
func TestReadingTakesAtMostThreeTimesTheFile(t *testing.T) {
	const n = 200_000
	keys, tensors := header(0, n), header(n, 1).key(alignmentKey, Uint32).u32(1)
	numbers, words, empty := oneKey("k", Array).u32(uint32(Float32)).u64(n*4), oneKey("k", Array).u32(uint32(String)).u64(n), oneKey("k", Array).u32(uint32(String)).u64(n)
	for i := range n {
		keys = keys.key(shortName(i), Uint8).u8(1)
		tensors = tensors.tensor(shortName(i), int32(TensorI8), uint64(i), 1)
		words = words.str(shortName(i))
		empty = empty.str("")
	}
	for _, c := range []struct {
		name string
		data raw
		use  func(*File) (any, error)
	}{
		{"short keys", keys, func(f *File) (any, error) { return nil, nil }},
		{"all keys formatted", keys, func(f *File) (any, error) {
			for k, err := range f.Keys() {
				if f.Format(k, 6) != "1" || err != nil {
					return nil, fmt.Errorf("%q is %s, %w", k.Name, f.Format(k, 6), err)
				}
			}
			return nil, nil
		}},
		{"short tensors", tensors.zeros(n), func(f *File) (any, error) { return nil, nil }},
		{"numbers", numbers.zeros(16 * n), func(f *File) (any, error) { return f.Float32s("k") }},
		{"numbers of 64 bits", numbers.zeros(16 * n), func(f *File) (any, error) { return f.Floats("k") }},
		{"words", words, func(f *File) (any, error) { return f.Strings("k") }},
		{"empty words", empty, func(f *File) (any, error) { return f.Strings("k") }},
		{"a long string", oneKey("k", String).str(strings.Repeat("x", 16*n)), func(f *File) (any, error) { return f.String("k") }},
		{"a long string formatted", oneKey("k", String).str(strings.Repeat("x", 16*n)), func(f *File) (any, error) {
			k, _ := f.Key("k")
			return f.Format(k, 1000), nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f *File
			var kept any
			peak := heaptest.PeakLive(func() {
				f = mustRead(t, c.data)
				var err error
				if kept, err = c.use(f); err != nil {
					t.Error(err)
				}
			})
			runtime.KeepAlive(f)
			runtime.KeepAlive(kept)
			if size := int64(len(c.data)); peak > 3*size {
				t.Errorf("%d bytes of memory for a file of %d: %.1f times", peak, size, float64(peak)/float64(size))
			} else {
				t.Logf("%.2f times the file's %d bytes", float64(peak)/float64(size), size)
			}
		})
	}
}

// TestErrorsAreShortAndPrintable: no file causes an error longer than 4 KiB, or one that a terminal does not print as
// it is.
func TestErrorsAreShortAndPrintable(t *testing.T) {
	long := strings.Repeat("\x1b\u202e", 10_000)
	two := func(b raw) raw { return append(b, b[headerBytes:]...) }
	many := func(name func(i int) string) raw {
		b := header(500, 0)
		for i := range 500 {
			b = b.tensor(name(i), 99, 0, 1)
		}
		return b
	}
	array := func(elem ValueType, n uint64) raw { return oneKey(long, Array).u32(uint32(elem)).u64(n) }
	for name, data := range map[string]raw{
		"key of an unknown type":   oneKey(long, 13).zeros(20),
		"key twice":                two(header(0, 2).key(long, Uint8).u8(1)),
		"key with a NUL":           oneKey(long+"\x00", Uint8).u8(1),
		"key that is no UTF-8":     oneKey(long+"\xff", Uint8).u8(1),
		"bool 2":                   oneKey(long, Bool).u8(2),
		"string past the end":      oneKey(long, String).u64(1 << 40),
		"array of arrays":          array(Array, 1).zeros(100),
		"array past the end":       array(Uint64, 1<<40).zeros(100),
		"strings past the end":     array(String, 2).u64(1 << 40).zeros(100),
		"tensors of hostile names": many(func(i int) string { return fmt.Sprint(strings.Repeat("\x1b", 60), i) }),
		"tensors of no UTF-8":      many(func(i int) string { return fmt.Sprint(strings.Repeat("\xff", 60), i) }),
		"tensors twice":            many(func(int) string { return strings.Repeat("\u202e", 20) }),
		"tensor before the end":    header(2, 0).tensor("\x1b[2J", 0, 0, 1).zeros(9),
		"magic":                    raw("\x1b[2J").zeros(30),
	} {
		_, err := read(data)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		if text := err.Error(); len(text) > 4096 || printable.Text(text) != text {
			t.Errorf("%s: %d bytes: %q", name, len(text), text)
		}
	}
	f := mustRead(t, oneKey(long, String).str(long))
	if _, err := f.Uint(long); err == nil || len(err.Error()) > 4096 || strings.ContainsAny(err.Error(), "\x1b\u202e") {
		t.Errorf("%q", err)
	}
	if _, err := f.Uint(long + "x"); err == nil || len(err.Error()) > 4096 || strings.ContainsAny(err.Error(), "\x1b\u202e") {
		t.Errorf("%q", err)
	}
}
