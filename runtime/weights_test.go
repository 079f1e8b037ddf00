package runtime

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// external makes the toy read its weights from a file.
func external(p *Program) *Program {
	p.Weights.Embedded = ""
	p.Weights.External = "toy.weights"
	return p
}

// weightsFile returns a file with the toy's weights after offset other bytes.
func weightsFile(p *Program, offset int) []byte {
	b := append(make([]byte, offset), toyWeights()...)
	return AppendTrailer(b, Trailer{Offset: int64(offset), Length: p.Weights.Size, PlanID: p.PlanID, SHA256: sha256.Sum256(toyWeights())})
}

func write(t testing.TB, b []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestMappedWeightsGiveTheSameLogits(t *testing.T) {
	for _, offset := range []int{0, WeightsBoundary, 3 * WeightsBoundary} {
		p := external(toyProgram())
		file := write(t, weightsFile(p, offset))
		m, s := openProgram(t, p, Options{Weights: file, Threads: 1})
		if uintptr(s.args.Weights)%Align != 0 {
			t.Errorf("offset %d: weights at %p", offset, s.args.Weights)
		}
		got, err := s.Prefill(context.Background(), prompt(5))
		if err != nil || !slices.Equal(got, toyWant(prompt(5))) {
			t.Errorf("offset %d: %v, %v", offset, got, err)
		}
		if err := m.Verify(); err != nil {
			t.Errorf("offset %d: %v", offset, err)
		}
	}
}

func TestAppendedWeightsAreThoseOfTheExecutable(t *testing.T) {
	p := external(toyProgram())
	p.Weights.External = ""
	_, err := Open(p, Options{}) // this test's own executable carries no weights
	var we *WeightsError
	if !errors.As(err, &we) || !strings.Contains(err.Error(), "it does not end with weights") {
		t.Error(err)
	}
	exe, _ := os.Executable()
	if we != nil && we.File != exe {
		t.Errorf("looked into %q, not %q", we.File, exe)
	}
}

func TestWrongWeightsAreRefused(t *testing.T) {
	p := external(toyProgram())
	good := weightsFile(p, WeightsBoundary)
	end := len(good) - TrailerSize
	change := func(at int, with ...byte) []byte {
		b := slices.Clone(good)
		copy(b[at:], with)
		return b
	}
	number := func(at int, v uint64) []byte { return change(at, binary.LittleEndian.AppendUint64(nil, v)...) }
	cases := map[string]struct {
		file []byte
		want string
	}{
		"empty":                {nil, "too short"},
		"cut by one":           {good[:len(good)-1], "does not end with weights"},
		"cut to the trailer":   {good[end:], "was cut or appended to"},
		"cut inside":           {append(slices.Clone(good[:end-5]), good[end:]...), "was cut or appended to"},
		"appended to":          {append(slices.Clone(good), 0), "does not end with weights"},
		"magic":                {change(end, 'G'), "does not end with weights"},
		"format version":       {change(end+7, 2), "does not end with weights"},
		"offset":               {number(end+8, 2*WeightsBoundary), "was cut or appended to"},
		"offset unaligned":     {number(end+8, WeightsBoundary+1), "are impossible"},
		"offset wraps":         {number(end+8, 1<<63), "are impossible"},
		"offset huge":          {number(end+8, 1<<62), "was cut or appended to"},
		"length":               {number(end+16, 33), "was cut or appended to"},
		"length wraps":         {number(end+16, 1<<64-1), "are impossible"},
		"plan id":              {change(end+32, 'x'), "packed for plan x123"},
		"hash":                 {change(end+96, 0, 0, 0), "this program was compiled with"},
		"another model's size": {weightsOfSize(p, 16), "it has 16 bytes of weights, this program needs 32"},
	}
	for name, c := range cases {
		_, err := Open(p, Options{Weights: write(t, c.file)})
		if !errors.Is(err, ErrWeights) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := Open(p, Options{Weights: t.TempDir()}); !errors.Is(err, ErrWeights) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Open(p, Options{Weights: "/nowhere/at/all"}); !errors.Is(err, ErrWeights) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func weightsOfSize(p *Program, n int64) []byte {
	return AppendTrailer(make([]byte, n), Trailer{Length: n, PlanID: p.PlanID})
}

// large makes the toy's weights larger than what Open hashes by default. The file has a hole that the program does
// not read.
func large(t *testing.T, flip byte) (p *Program, file string) {
	t.Helper()
	p = external(toyProgram())
	p.Weights.Size = verifiedBytes + 1
	hash := sha256.New()
	hash.Write(toyWeights())
	zeros := make([]byte, 1<<20)
	for left := p.Weights.Size - toyVocab; left > 0; left -= int64(len(zeros)) {
		hash.Write(zeros[:min(left, int64(len(zeros)))])
	}
	sum := [32]byte(hash.Sum(nil))
	p.Weights.SHA256 = hexOf(sum[:])
	head := toyWeights()
	head[7] ^= flip
	file = write(t, head)
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tail := AppendTrailer(nil, Trailer{Length: p.Weights.Size, PlanID: p.PlanID, SHA256: sum})
	if _, err := f.WriteAt(tail, p.Weights.Size); err != nil {
		t.Fatal(err)
	}
	return p, file
}

// TestChangedByteInLargeWeights: such weights are used unchecked unless Verify is set.
func TestChangedByteInLargeWeights(t *testing.T) {
	p, file := large(t, 1)
	m, _ := openProgram(t, p, Options{Weights: file, Threads: 1})
	isChanged(t, file, m.Verify())
	_, err := Open(p, Options{Weights: file, Verify: true})
	isChanged(t, file, err)

	p, file = large(t, 0)
	openProgram(t, p, Options{Weights: file, Verify: true})
}

// TestCutFilesOfThePackage has embedded files that are not the ones that were generated: weights that were cut, and
// kernels that were cut or changed. No device is opened.
func TestCutFilesOfThePackage(t *testing.T) {
	p := toyProgram()
	p.Weights.Embedded = p.Weights.Embedded[:len(p.Weights.Embedded)-1]
	if _, err := Open(p, Options{}); !errors.Is(err, ErrWeights) || !strings.Contains(err.Error(), "bytes are embedded, not ") {
		t.Errorf("error %v", err)
	}
	const text = "kernels"
	for _, bad := range []string{"", "kernel", "Kernels"} {
		l := &Layout{Devices: []DeviceInfo{{Name: "gpu"}}, Kernels: []KernelFile{{"kernels.spv", bad, fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}}}
		p := hello(t)
		p.Devices, p.Fallback = l, hello(t)
		status, _, errs := invoke(p, "--prompt", "a")
		if status != exitFailed || !strings.Contains(errs, fmt.Sprintf("kernels.spv: its %d bytes, ", len(bad))) || !strings.Contains(errs, "generate the package again") {
			t.Errorf("%q: status %d, errors %q", bad, status, errs)
		}
	}
}

// TestChangedByteInSmallWeights: Open refuses such weights with and without Verify.
func TestChangedByteInSmallWeights(t *testing.T) {
	exe, _ := os.Executable()
	embedded := toyProgram()
	b := []byte(embedded.Weights.Embedded)
	b[7] ^= 1
	embedded.Weights.Embedded = string(b)
	_, err := Open(embedded, Options{})
	isChanged(t, exe, err)

	p := external(toyProgram())
	for _, offset := range []int{0, WeightsBoundary} {
		b := weightsFile(p, offset)
		b[offset+7] ^= 1
		file := write(t, b)
		_, err := Open(p, Options{Weights: file})
		isChanged(t, file, err)
		_, err = Open(p, Options{Weights: file, Verify: true})
		isChanged(t, file, err)
	}
}

// isChanged checks for the error about weights with a wrong hash.
func isChanged(t *testing.T, file string, err error) {
	t.Helper()
	var we *WeightsError
	if !errors.As(err, &we) || we.File != file || !strings.Contains(err.Error(), "SHA-256") || !strings.Contains(err.Error(), "restore the file or build again") {
		t.Errorf("%v: want an error about the SHA-256 of %s", err, file)
	}
}

// TestVerifyFlagHashesLargeWeights runs all commands that open the model.
func TestVerifyFlagHashesLargeWeights(t *testing.T) {
	p, file := large(t, 1)
	status, _, errs := invoke(p, "--tokens", "1", "-n", "1", "--weights", file)
	if status != 0 {
		t.Errorf("without --verify: status %d, %s", status, errs)
	}
	for _, command := range []string{"--tokens 1 -n 1 --verify", "bench -p 1 -n 1 -r 1 --verify", "verify"} {
		status, _, errs := invoke(p, append(strings.Fields(command), "--weights", file)...)
		if status != 1 || !strings.Contains(errs, file+": the weights have the SHA-256") {
			t.Errorf("%s: status %d, %s", command, status, errs)
		}
	}
	for _, command := range []string{"-h", "bench -h", "call -h"} {
		if _, out, _ := invoke(p, strings.Fields(command)...); !strings.Contains(out, "--verify") {
			t.Errorf("%s does not name --verify:\n%s", command, out)
		}
	}
	p, file = large(t, 0)
	if status, _, errs := invoke(p, "--tokens", "1", "-n", "1", "--verify", "--weights", file); status != 0 {
		t.Errorf("right weights: status %d, %s", status, errs)
	}
}

// BenchmarkOpen measures what hashing adds to the start, for 60 MiB of embedded weights.
func BenchmarkOpen(b *testing.B) {
	p := toyProgram()
	blob := bytes.Repeat([]byte{1}, 60<<20)
	sum := sha256.Sum256(blob)
	p.Weights = WeightsInfo{Size: int64(len(blob)), SHA256: hexOf(sum[:]), Embedded: string(blob)}
	b.SetBytes(p.Weights.Size)
	for b.Loop() {
		if _, err := openWeights(p, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestPageThatIsGone cuts the weights file while it is mapped. A worker's access then raises a signal, which must end
// the step and nothing else.
func TestPageThatIsGone(t *testing.T) {
	if goruntime.GOOS != "linux" {
		t.Skip("skip: cutting a mapped file is refused or undefined here")
	}
	procs(t, 3)
	const size = 64 << 10
	for bad := range 3 {
		p := external(toyProgram())
		blob := bytes.Repeat([]byte{1}, size)
		p.Weights.Size = size
		step := Func{Name: "touch", Run: func(w *Worker, a *Args) {
			w.Barrier()
			if w.Part == bad {
				*(*byte)(a.IO) = *(*byte)(unsafe.Add(a.Weights, size-1))
			}
			w.Barrier()
		}}
		p.Funcs = append(p.Funcs, step)
		sum := sha256.Sum256(blob)
		p.Weights.SHA256 = hexOf(sum[:])
		file := write(t, AppendTrailer(blob, Trailer{Length: size, PlanID: p.PlanID, SHA256: sum}))
		m, s := openProgram(t, p, Options{Weights: file, Threads: 3, Steady: true})
		if err := os.Truncate(file, 1); err != nil {
			t.Fatal(err)
		}
		err := s.Run(context.Background(), 2)
		var fe *FaultError
		if !errors.As(err, &fe) || fe.Weights != file || fe.Part != bad || !strings.Contains(err.Error(), "restore it") {
			t.Errorf("worker %d: %v", bad, err)
		}
		if err := m.Verify(); !errors.Is(err, ErrWeights) {
			t.Errorf("verify: %v", err)
		}
	}
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var s []byte
	for _, c := range b {
		s = append(s, digits[c>>4], digits[c&15])
	}
	return string(s)
}

func FuzzReadTrailer(f *testing.F) {
	p := toyProgram()
	f.Add(weightsFile(p, 0))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := ReadTrailer(bytes.NewReader(b), int64(len(b)))
		if err == nil && (tr.Offset < 0 || tr.Length < 0 || tr.Offset+tr.Length+TrailerSize != int64(len(b))) {
			t.Errorf("accepted %+v of %d bytes", tr, len(b))
		}
	})
}
