package robust

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestWrongWeightsFilesAreRefused has weights files of other programs and damaged ones.
func TestWrongWeightsFilesAreRefused(t *testing.T) {
	program, weights := beside(t)
	whole := bytesOf(t, weights)
	flipped := append([]byte(nil), whole...)
	flipped[len(flipped)-128+40] ^= 1 // in the plan id
	hash := append([]byte(nil), whole...)
	hash[len(hash)-1] ^= 1
	for _, c := range []struct {
		name string
		data []byte
		say  string
	}{
		{"empty", nil, "too short"},
		{"one byte", whole[:1], "too short"},
		{"end cut", whole[:len(whole)-1], "cut off"},
		{"cut in the middle", whole[:len(whole)/2], "cut off"},
		{"middle missing", append(append([]byte(nil), whole[:1000]...), whole[2000:]...), "cut or appended"},
		{"appended", append(append([]byte(nil), whole...), 0), "appended"},
		{"twice", append(append([]byte(nil), whole...), whole...), "cut or appended"},
		{"of another plan", flipped, "plan"},
		{"of another hash", hash, "hash"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "w")
			if err := os.WriteFile(file, c.data, 0o666); err != nil {
				t.Fatal(err)
			}
			run(t, program, "--tokens", "1", "-n", "2", "--weights", file).want(t, statusModel, file, c.say)
		})
	}
	t.Run("a changed byte", func(t *testing.T) {
		file := copyOf(t, weights)
		run(t, program, "verify", "--weights", file).want(t, statusDone)
		run(t, program, "--tokens", "1", "-n", "2", "--verify", "--weights", file).want(t, statusDone)
		damage(t, file, 100, whole[100]^1)
		for _, args := range [][]string{{"verify"}, {"--tokens", "1", "-n", "2"}, {"--tokens", "1", "-n", "2", "--verify"}, {"bench"}} {
			run(t, program, append(args, "--weights", file)...).want(t, statusModel, file, "SHA-256", "restore the file or build again")
		}
	})
}

// TestChangedEmbeddedWeightsAreRefused changes a byte of the weights inside an executable.
func TestChangedEmbeddedWeightsAreRefused(t *testing.T) {
	_, weights := beside(t)
	exe := filepath.Join(t.TempDir(), "embedded")
	run(t, ggmlc(t), "build", filepath.Join(folder, "tiny.gguf"), "-o", exe, "--kv", "f32").want(t, statusDone)
	args := []string{"--tokens", "1,2", "-n", "5"}
	run(t, exe, args...).want(t, statusDone)
	program, blob := bytesOf(t, exe), bytesOf(t, weights)
	at := bytes.Index(program, blob[:len(blob)-128]) // without the trailer
	if at < 0 {
		t.Fatal("the executable does not hold the weights as they are in the weights file")
	}
	damage(t, exe, int64(at+5000), program[at+5000]^1)
	run(t, exe, args...).want(t, statusModel, exe, "SHA-256", "restore the file or build again")
	run(t, exe, "verify").want(t, statusModel, exe, "SHA-256")
	run(t, exe, "version").want(t, statusDone)
}

// TestWeightsThatAreNoFileAreRefused names things that are not regular files.
func TestWeightsThatAreNoFileAreRefused(t *testing.T) {
	program, _ := beside(t)
	dir := t.TempDir()
	for _, file := range append(special(t, dir), filepath.Join(dir, "missing"), "") {
		if file == "" {
			continue
		}
		run(t, program, "--tokens", "1", "-n", "2", "--weights", file).want(t, statusModel, file)
	}
	alone := copyOf(t, program) // without the weights file next to it
	cmd := exec.Command(alone, "--tokens", "1")
	cmd.Dir = filepath.Dir(alone)
	finish(t, cmd).want(t, statusModel, "tiny.weights", "--weights")
}

// TestWeightsThatAreNoNumbersAreAnError writes NaN and infinities into a weights file after the compilation.
func TestWeightsThatAreNoNumbersAreAnError(t *testing.T) {
	whole, weights := beside(t)
	for _, x := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		file := copyOf(t, weights)
		for at := int64(0); at < 64*1024; at += 4096 {
			var b [4]byte
			binary.LittleEndian.PutUint32(b[:], math.Float32bits(x))
			damage(t, file, at, b[:]...)
		}
		program := trusting(t, whole, file)
		for _, temp := range []string{"0", "0.9"} {
			run(t, program, "--tokens", "1,2,3", "-n", "40", "--temp", temp, "--ignore-eos", "--weights", file).want(t, statusModel, "NaN")
		}
	}
}

// trusting returns a copy of a program that accepts the weights of a file: the hash is changed in both.
func trusting(t *testing.T, program, weights string) string {
	t.Helper()
	blob := bytesOf(t, weights)
	end := len(blob) - 32 // place of the hash in the trailer
	was, sum := blob[end:], sha256.Sum256(blob[:len(blob)-128])
	exe := bytesOf(t, program)
	at := bytes.Index(exe, hex.AppendEncode(nil, was))
	if at < 0 {
		t.Fatal("the program does not hold the hash of its weights")
	}
	damage(t, weights, int64(end), sum[:]...)
	to := copyOf(t, program)
	damage(t, to, int64(at), hex.AppendEncode(nil, sum[:])...)
	return to
}

func bytesOf(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestWeightsThatGoWhileRunningAreAnError cuts the mapped file during a generation.
func TestWeightsThatGoWhileRunningAreAnError(t *testing.T) {
	program, weights := beside(t)
	for _, threads := range []string{"1", "2"} {
		file := copyOf(t, weights)
		p := start(t, exec.Command(program, "--tokens", "1", "-n", "4000", "--ignore-eos", "--json", "--logits", "--threads", threads, "--weights", file))
		p.line() // then it blocks, as its output is not read
		if err := os.Truncate(file, 0); err != nil {
			t.Fatal(err)
		}
		p.end().want(t, statusModel, file, "a page of the weights could not be read")
	}
}

// TestReplacedWeightsStayMapped replaces the file by another one: the program continues with its mapping of the old
// file.
func TestReplacedWeightsStayMapped(t *testing.T) {
	program, weights := beside(t)
	file := copyOf(t, weights)
	p := start(t, exec.Command(program, "--tokens", "1", "-n", "2000", "--ignore-eos", "--weights", file))
	p.line()
	if err := os.WriteFile(file+".new", []byte("nothing"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	p.end().want(t, statusDone)
}

// damage writes bytes into a file.
func damage(t *testing.T, path string, at int64, b ...byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}
