package runtime

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"unsafe"
)

// readerOnly hides all methods of a file but those of fs.File.
type readerOnly struct{ fs.File }

// streams is a file system whose files can only be read from the beginning.
type streams struct{ fs.FS }

func (s streams) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	return readerOnly{f}, err
}

// atOnly hides the size of a reader.
type atOnly struct{ io.ReaderAt }

// sources returns the options that give the bytes of a weights file, by what they are.
func sources(t testing.TB, file []byte) map[string]Options {
	path := write(t, file)
	dir, name := filepath.Split(path)
	return map[string]Options{
		"bytes":                {WeightsBytes: file},
		"a reader":             {WeightsReader: atOnly{bytes.NewReader(file)}, WeightsSize: int64(len(file))},
		"a reader with a size": {WeightsReader: io.NewSectionReader(bytes.NewReader(file), 0, int64(len(file)))},
		"a folder":             {WeightsFS: os.DirFS(dir), Weights: name},
		"a file system":        {WeightsFS: fstest.MapFS{"a/b.bin": {Data: file}}, Weights: "a/b.bin"},
		"streams":              {WeightsFS: streams{fstest.MapFS{"w": {Data: file}}}, Weights: "w"},
	}
}

// TestWeightsFromAnywhere opens an embedding program and an external one with weights from each kind of source.
func TestWeightsFromAnywhere(t *testing.T) {
	for _, p := range []*Program{toyProgram(), external(toyProgram())} {
		for what, o := range sources(t, weightsFile(p, WeightsBoundary)) {
			o.Threads = 1
			m, s := openProgram(t, p, o)
			got, err := s.Prefill(context.Background(), prompt(5))
			if err != nil || !slices.Equal(got, toyWant(prompt(5))) {
				t.Errorf("%s: %v, %v", what, got, err)
			}
			if uintptr(s.args.Weights)%Align != 0 {
				t.Errorf("%s: weights at %p", what, s.args.Weights)
			}
			if err := m.Verify(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// TestWrongWeightsFromAnywhere gives each kind of source what files are refused for.
func TestWrongWeightsFromAnywhere(t *testing.T) {
	p := external(toyProgram())
	good := weightsFile(p, 0)
	damaged := slices.Clone(good)
	damaged[3]++
	other := toyProgram()
	other.PlanID = "another"
	for _, c := range []struct {
		file []byte
		want string
	}{
		{damaged, "this program was compiled with"},
		{good[:len(good)-1], "it does not end with weights"},
		{good[:p.Weights.Size], "weights without the trailer that names their plan"},
		{nil, "too short"},
		{weightsFile(other, 0), "packed for plan another"},
	} {
		for what, o := range sources(t, append([]byte{}, c.file...)) {
			if what == "a reader with a size" && c.file == nil {
				continue // its size, 0, asks for that of a reader without
			}
			o.Threads = 1
			_, err := Open(p, o)
			if !errors.Is(err, ErrWeights) && !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "does not tell its size") {
				t.Errorf("%s: %v, want %q", what, err, c.want)
			}
		}
	}
}

// TestAlignedBytesAreNotCopied: bytes of the right alignment are used in place, others are copied.
func TestAlignedBytesAreNotCopied(t *testing.T) {
	p := external(toyProgram())
	file := weightsFile(p, 0)
	room := newArena(int64(len(file)) + 1).bytes
	for _, shift := range []int{0, 1} {
		b := room[shift : shift+len(file)]
		copy(b, file)
		_, s := openProgram(t, p, Options{WeightsBytes: b, Threads: 1})
		if same := s.args.Weights == unsafe.Pointer(&b[0]); same != (shift == 0) {
			t.Errorf("%d bytes after an aligned address: used in place: %t", shift, same)
		}
	}
}

func TestContradictingWeightsAreRefused(t *testing.T) {
	p := toyProgram()
	file := weightsFile(p, 0)
	failing := atOnly{failsAt{bytes.NewReader(file), 0}}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{WeightsBytes: file, Weights: "w"}, "more than one"},
		{Options{WeightsBytes: file, WeightsReader: bytes.NewReader(file)}, "more than one"},
		{Options{WeightsFS: fstest.MapFS{}}, "set Options.Weights"},
		{Options{WeightsReader: atOnly{bytes.NewReader(file)}}, "does not tell its size"},
		{Options{WeightsFS: fstest.MapFS{}, Weights: "none"}, "none: file does not exist"},
		{Options{WeightsFS: fstest.MapFS{"d/x": {}}, Weights: "d"}, "d: it is no regular file"},
		{Options{WeightsReader: failing, WeightsSize: int64(len(file))}, "byte 0 cannot be read"},
		{Options{WeightsReader: bytes.NewReader(file), WeightsSize: int64(len(file)) + 7}, "EOF"},
		{Options{WeightsReader: bytes.NewReader(file), WeightsSize: -5}, "too short"},
	} {
		if _, err := Open(p, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// failsAt is a reader whose reads at an offset fail.
type failsAt struct {
	io.ReaderAt
	at int64
}

func (f failsAt) ReadAt(b []byte, at int64) (int, error) {
	if at == f.at {
		return iotest.ErrReader(errors.New("the disk is gone")).Read(b)
	}
	return f.ReaderAt.ReadAt(b, at)
}
