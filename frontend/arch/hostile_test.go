package arch

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

var nan, inf = float32(math.NaN()), float32(math.Inf(1))

// faults are faulty files. Each entry lists what the error must contain: the key or tensor, what is wrong and what to
// do, with one line for each fault.
var faults = []struct {
	name string
	edit func(*spec)
	want []string
}{
	{"architecture is missing", func(s *spec) { s.drop("general.architecture") }, []string{`key "general.architecture"`, "missing"}},
	{"architecture is unknown", func(s *spec) { s.set("general.architecture", "gemma9") },
		[]string{`key "general.architecture"`, `"gemma9" is not supported`, "ggmlc compiles", "llama, "}},
	{"architecture is nearly known", func(s *spec) { s.set("general.architecture", "qwen3mos") },
		[]string{`"qwen3mos" is not supported: the nearest known one is qwen3moe; ggmlc compiles `}},
	{"architecture is no string", func(s *spec) { s.set("general.architecture", uint32(7)) }, []string{`key "general.architecture"`, "u32", "string"}},

	{"no layers", func(s *spec) { s.set("block_count", uint32(0)) }, []string{`key "llama.block_count"`, "0 is outside of 1 to 512"}},
	{"more layers than any model", func(s *spec) { s.set("block_count", uint32(513)) }, []string{`key "llama.block_count"`, "513 is outside"}},
	{"2^31 layers", func(s *spec) { s.set("block_count", uint32(1<<31)) }, []string{`key "llama.block_count"`, "2147483648 is outside"}},
	{"-1 layers", func(s *spec) { s.set("block_count", int32(-1)) }, []string{`key "llama.block_count"`, "-1 is outside"}},
	{"more layers than tensors", func(s *spec) { s.set("block_count", uint32(3)) },
		[]string{`tensor "blk.2.attn_norm.weight"`, `tensor "blk.2.ffn_down.weight"`, "missing"}},
	{"fewer layers than tensors", func(s *spec) { s.set("block_count", uint32(1)) },
		[]string{`tensor "blk.1.attn_norm.weight"`, `tensor "blk.1.ffn_down.weight"`, "variant that is not supported"}},
	{"block count is missing", func(s *spec) { s.drop("block_count") }, []string{`key "llama.block_count"`, "missing"}},
	{"block count is a string", func(s *spec) { s.set("block_count", "2") }, []string{`key "llama.block_count"`, "string"}},
	{"block count is a float", func(s *spec) { s.set("block_count", float32(2)) }, []string{`key "llama.block_count"`, "f32"}},

	{"no heads", func(s *spec) { s.set("attention.head_count", uint32(0)) }, []string{`key "llama.attention.head_count"`, "0 is outside"}},
	{"heads do not divide the width", func(s *spec) { s.set("attention.head_count", uint32(6)) },
		[]string{`key "llama.attention.head_count"`, "6 heads do not divide the width 64"}},
	{"no key/value heads", func(s *spec) { s.set("attention.head_count_kv", uint32(0)) }, []string{`key "llama.attention.head_count_kv"`, "0 is outside"}},
	{"more key/value heads than heads", func(s *spec) { s.set("attention.head_count_kv", uint32(8)) },
		[]string{`key "llama.attention.head_count"`, "4 heads cannot share 8 key/value heads evenly"}},
	{"key/value heads do not divide", func(s *spec) { s.set("attention.head_count_kv", uint32(3)) }, []string{"4 heads cannot share 3"}},

	{"width unlike the tensors", func(s *spec) { s.set("embedding_length", uint32(128)) },
		[]string{`tensor "token_embd.weight"`, "shape [48 64] does not match [48 128]", `tensor "blk.0.ffn_down.weight"`, "and 11 more errors"}},
	{"width 0", func(s *spec) { s.set("embedding_length", uint32(0)) }, []string{`key "llama.embedding_length"`, "0 is outside"}},
	{"width 2^32-1", func(s *spec) { s.set("embedding_length", uint32(math.MaxUint32)) }, []string{`key "llama.embedding_length"`, "4294967295 is outside"}},
	{"width 2^63", func(s *spec) { s.set("embedding_length", uint64(1<<63)) }, []string{`key "llama.embedding_length"`, "9223372036854775808"}},
	{"feed-forward unlike the tensors", func(s *spec) { s.set("feed_forward_length", uint32(95)) },
		[]string{`tensor "blk.0.ffn_gate.weight"`, "shape [96 64] does not match [95 64]", "llama.feed_forward_length is 95"}},
	{"key length unlike the tensors", func(s *spec) { s.set("attention.key_length", uint32(32)) },
		[]string{`tensor "blk.0.attn_q.weight"`, "shape [64 64] does not match [128 64]", "llama.attention.head_count is 4", "llama.attention.key_length is 32"}},
	{"key length 0", func(s *spec) { s.set("attention.key_length", uint32(0)) }, []string{`key "llama.attention.key_length"`, "0 is outside"}},
	{"vocabulary size unlike the embedding", func(s *spec) { s.set("vocab_size", uint32(47)) },
		[]string{`key "llama.vocab_size"`, "47 tokens, but token_embd.weight has 48 rows"}},

	{"rope turns an odd number", func(s *spec) { s.set("rope.dimension_count", uint32(15)) },
		[]string{`key "llama.rope.dimension_count"`, "15 elements cannot be turned in pairs within a head of 16"}},
	{"rope turns nothing", func(s *spec) { s.set("rope.dimension_count", uint32(0)) }, []string{`key "llama.rope.dimension_count"`, "0 is outside"}},
	{"rope turns more than a head", func(s *spec) { s.set("rope.dimension_count", uint32(18)) },
		[]string{`key "llama.rope.dimension_count"`, "18 elements", "a head of 16"}},
	{"rope base 0", func(s *spec) { s.set("rope.freq_base", float32(0)) }, []string{`key "llama.rope.freq_base"`, "0 is no positive finite number"}},
	{"rope base NaN", func(s *spec) { s.set("rope.freq_base", nan) }, []string{`key "llama.rope.freq_base"`, "NaN"}},
	{"rope base infinite", func(s *spec) { s.set("rope.freq_base", inf) }, []string{`key "llama.rope.freq_base"`, "+Inf"}},
	{"rope base so small that angles overflow", func(s *spec) { s.set("rope.freq_base", float32(1e-45)) }, []string{`key "llama.rope.freq_base"`, "angle"}},
	{"rope scaling of a misspelled type", func(s *spec) { s.set("rope.scaling.type", "yarm") }, []string{`"yarm" is not supported: did you mean yarn? none, linear`}},
	{"rope scaling of an unknown type", func(s *spec) { s.set("rope.scaling.type", "ntk") },
		[]string{`key "llama.rope.scaling.type"`, `"ntk" is not supported: none, linear, yarn and longrope are`}},
	{"rope scaling type is a number", func(s *spec) { s.set("rope.scaling.type", uint32(1)) }, []string{`key "llama.rope.scaling.type"`, "u32"}},
	{"linear scaling by 0", func(s *spec) { s.set("rope.scaling.type", "linear"); s.set("rope.scaling.factor", float32(0)) },
		[]string{`key "llama.rope.scaling.factor"`, "0 is no positive"}},
	{"rope factors of the wrong length", func(s *spec) { s.add("rope_freqs.weight", gguf.TensorF32, 9) },
		[]string{`tensor "rope_freqs.weight"`, "shape [9] does not match [8]"}},
	{"rope factors of 0", func(s *spec) { s.add("rope_freqs.weight", gguf.TensorF32, 8) }, []string{`tensor "rope_freqs.weight"`, "holds 0"}},
	{"rope factors NaN", func(s *spec) {
		s.add("rope_freqs.weight", gguf.TensorF32, 8)
		s.tensor("rope_freqs.weight").data = floats(1, 1, 1, nan, 1, 1, 1, 1)
	}, []string{`tensor "rope_freqs.weight"`, "holds NaN"}},
	{"rope factors quantized", func(s *spec) {
		s.set("attention.key_length", uint32(64))
		s.set("rope.dimension_count", uint32(64))
		s.add("rope_freqs.weight", gguf.TensorQ8_0, 32)
	}, []string{`tensor "rope_freqs.weight"`, "q8_0"}},

	{"epsilon 0", func(s *spec) { s.set("attention.layer_norm_rms_epsilon", float32(0)) }, []string{"rms_epsilon", "0 is no positive finite number"}},
	{"epsilon negative", func(s *spec) { s.set("attention.layer_norm_rms_epsilon", float32(-1e-5)) }, []string{"rms_epsilon", "-1e-05"}},
	{"epsilon NaN", func(s *spec) { s.set("attention.layer_norm_rms_epsilon", nan) }, []string{"rms_epsilon", "NaN"}},
	{"epsilon missing", func(s *spec) { s.drop("attention.layer_norm_rms_epsilon") }, []string{"rms_epsilon", "missing"}},
	{"epsilon an integer", func(s *spec) { s.set("attention.layer_norm_rms_epsilon", uint32(1)) }, []string{"rms_epsilon", "u32"}},

	{"context 0", func(s *spec) { s.set("context_length", uint32(0)) }, []string{`key "llama.context_length"`, "0 is outside"}},
	{"context 2^32", func(s *spec) { s.set("context_length", uint64(1<<32)) }, []string{`key "llama.context_length"`, "4294967296 is outside"}},

	{"experts", func(s *spec) { s.set("expert_count", uint32(8)); s.set("expert_used_count", uint32(9)) },
		[]string{`key "llama.expert_used_count"`, "9 experts are used of 8"}},
	{"experts without tensors", func(s *spec) { s.set("expert_count", uint32(8)); s.set("expert_used_count", uint32(2)) },
		[]string{`tensor "blk.0.ffn_gate_inp.weight"`, "missing: llama needs it with shape [8 64]", `tensor "blk.0.ffn_gate.weight"`, "llama has no such tensor"}},
	{"experts are used of none", func(s *spec) { s.set("expert_used_count", uint32(2)) },
		[]string{`key "llama.expert_used_count"`, "2: llama models with this are not supported yet"}},
	{"sections of angles", func(s *spec) { s.set("rope.dimension_sections", []int32{8, 12, 12, 0}) },
		[]string{`key "llama.rope.dimension_sections"`, "llama models with sections of angles are not supported yet"}},
	{"scale of another architecture", func(s *spec) { s.set("logit_scale", float32(0.5)) },
		[]string{`key "llama.logit_scale"`, "0.5: llama models with this are not supported yet"}},
	{"experts that are a string", func(s *spec) { s.set("expert_count", "8") }, []string{`key "llama.expert_count"`, "string"}},
	{"windows in some layers", func(s *spec) { s.set("attention.sliding_window_pattern", []bool{false, true}) },
		[]string{`key "llama.attention.sliding_window_pattern"`, "layer 1 has a sliding window: llama models with this are not supported yet"}},
	{"windows in too many layers", func(s *spec) { s.set("attention.sliding_window_pattern", []bool{false, true, false}) },
		[]string{`key "llama.attention.sliding_window_pattern"`, "a list of 3 values for 2 layers: the file is damaged"}},
	{"windows in a layer with 2", func(s *spec) { s.set("attention.sliding_window_pattern", []uint32{0, 2}) },
		[]string{`key "llama.attention.sliding_window_pattern"`, "2 for layer 1: it is 1 for a layer with a sliding window"}},
	{"windows of a list of strings", func(s *spec) { s.set("attention.sliding_window_pattern", []string{"w", "f"}) },
		[]string{`key "llama.attention.sliding_window_pattern"`, "string"}},
	{"windows of a string", func(s *spec) { s.set("attention.sliding_window_pattern", "wf") },
		[]string{`key "llama.attention.sliding_window_pattern"`, "string"}},
	{"windows of a long list", func(s *spec) { s.set("attention.sliding_window_pattern", make([]bool, 513)) },
		[]string{`key "llama.attention.sliding_window_pattern"`, "a list of 513 values, where at most 512 layers are possible"}},
	{"angles of layers with windows", func(s *spec) { s.set("rope.freq_base_swa", float32(1e4)); s.set("rope.freq_base", float32(1e5)) },
		[]string{`key "llama.rope.freq_base_swa"`, "10000, which is not that of rope.freq_base: llama models whose layers differ in this are not supported yet"}},
	{"heads of layers with windows", func(s *spec) { s.set("attention.key_length_swa", uint32(8)) },
		[]string{`key "llama.attention.key_length_swa"`, "8, which is not that of attention.key_length"}},
	{"tokens that read those after them", func(s *spec) { s.set("attention.causal", false) },
		[]string{`key "llama.attention.causal"`, "false: llama models whose tokens read those after them are not supported yet"}},
	{"causal that is a number", func(s *spec) { s.set("attention.causal", uint32(0)) }, []string{`key "llama.attention.causal"`, "u32"}},
	{"sliding window that is a string", func(s *spec) { s.set("attention.sliding_window", "4096") }, []string{`key "llama.attention.sliding_window"`, "string"}},

	{"heads per layer of the wrong length", func(s *spec) { s.set("attention.head_count", []uint32{4, 4, 4}) },
		[]string{`key "llama.attention.head_count"`, "a list of 3 values for 2 layers"}},
	{"heads per layer that differ", func(s *spec) { s.set("attention.head_count", []uint32{4, 2}) },
		[]string{`key "llama.attention.head_count"`, "a list of different values per layer is not supported"}},
	{"heads per layer of the wrong type", func(s *spec) { s.set("attention.head_count", []string{"4", "4"}) },
		[]string{`key "llama.attention.head_count"`, "string"}},
	{"heads per layer of an empty list", func(s *spec) { s.set("attention.head_count", []uint32{}) }, []string{`key "llama.attention.head_count"`, "list"}},
	{"a list for a float", func(s *spec) { s.set("rope.freq_base", []float32{1e4, 1e4}) }, []string{`key "llama.rope.freq_base"`, "array"}},

	{"embedding is missing", func(s *spec) { s.drop("token_embd.weight") }, []string{`tensor "token_embd.weight"`, "missing"}},
	{"embedding is a vector", func(s *spec) { s.tensor("token_embd.weight").shape = []int{48} }, []string{`tensor "token_embd.weight"`, "no matrix"}},
	{"tensors are missing", func(s *spec) { s.drop("blk.0.attn_q.weight"); s.drop("output_norm.weight") },
		[]string{`tensor "blk.0.attn_q.weight"`, "missing: llama needs it with shape [64 64]", `tensor "output_norm.weight"`}},
	{"tensor is transposed", func(s *spec) { s.tensor("blk.1.ffn_up.weight").shape = []int{64, 96} },
		[]string{`tensor "blk.1.ffn_up.weight"`, "shape [64 96] does not match [96 64]"}},
	{"tensor of a rank too many", func(s *spec) { s.tensor("blk.1.ffn_up.weight").shape = []int{1, 96, 64} },
		[]string{`tensor "blk.1.ffn_up.weight"`, "shape [1 96 64]"}},
	{"extra tensor", func(s *spec) { s.add("blk.0.attn_q_norm.weight", gguf.TensorF32, 64) },
		[]string{`tensor "blk.0.attn_q_norm.weight"`, "llama has no such tensor"}},
	{"layer of a huge number", func(s *spec) { s.add("blk.99999999999.attn_q.weight", gguf.TensorF32, 4) },
		[]string{`tensor "blk.99999999999.attn_q.weight"`, "no such tensor"}},
	{"layer of a negative number", func(s *spec) { s.add("blk.-1.attn_q.weight", gguf.TensorF32, 4) },
		[]string{`tensor "blk.-1.attn_q.weight"`, "no such tensor"}},
	{"quantized norm", func(s *spec) { s.tensor("blk.0.attn_norm.weight").typ = gguf.TensorQ8_0 },
		[]string{`tensor "blk.0.attn_norm.weight"`, "a vector of q8_0: norms and biases are f32, f16 or bf16"}},
	{"matrix of integers", func(s *spec) { s.tensor("blk.0.attn_q.weight").typ = gguf.TensorI32 },
		[]string{`tensor "blk.0.attn_q.weight"`, "matrices of i32 are not supported: convert the model"}},
	{"matrix of a type without kernels", func(s *spec) {
		q := s.tensor("blk.0.ffn_down.weight")
		q.typ = gguf.TensorNVFP4
		q.shape = []int{64, 256}
	}, []string{`tensor "blk.0.ffn_down.weight"`, "nvfp4", "mxfp4, which is nearest"}},

	{"faults of all kinds together", func(s *spec) {
		s.set("block_count", uint32(0))
		s.set("rope.freq_base", nan)
		s.set("context_length", "long")
		s.drop("feed_forward_length")
	}, []string{"block_count", "freq_base", "context_length", "feed_forward_length"}},
}

func TestFaultsAreReportedByName(t *testing.T) {
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			s := tiny()
			c.edit(s)
			m, err := Build(s.file(t), Options{})
			if err == nil {
				t.Fatalf("accepted:\n%s", m)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q:\n%v", want, err)
				}
			}
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, "tiny.gguf: ") {
					t.Errorf("a line does not begin with the file: %q", line)
				}
			}
		})
	}
}

// TestOptionsThatDoNotFitAreRefused has valid files with wrong options.
func TestOptionsThatDoNotFitAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"cache of blocks that do not fill heads", Options{KV: dtype.Q8_0}, "--kv q8_0: heads of 16 elements cannot be kept in its blocks of 32: choose another"},
		{"context beyond the window", Options{Context: 65}, "--ctx 65 is more than the 64 positions of the model's sliding window, which llama is not known to have (llama.attention.sliding_window)"},
		{"context whose cache would wrap", Options{Context: math.MaxInt}, "--ctx " + strconv.Itoa(math.MaxInt)},
		{"batch beyond all reason", Options{Batch: math.MaxInt}, "--batch " + strconv.Itoa(math.MaxInt)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := tiny()
			s.set("attention.sliding_window", uint32(64))
			_, err := Build(s.file(t), c.o)
			var option *OptionError
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &option) {
				t.Errorf("got %v, want an OptionError with %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("said more than once: %v", err)
			}
		})
	}
}

// TestWrongOptionsDoNotBlameTheFile: with the factors of longrope, a fault of an option is the only one.
func TestWrongOptionsDoNotBlameTheFile(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"cache", Options{KV: dtype.Q8_0}, "--kv q8_0"},
		{"context", Options{Context: 99999999}, "--ctx 99999999 is more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := tiny()
			s.add("rope_factors_long.weight", gguf.TensorF32, 8)
			s.add("rope_factors_short.weight", gguf.TensorF32, 8)
			_, err := Build(s.file(t), c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
		})
	}
}

// TestKeysThatChangeNothingAreAccepted has keys that architectures do not read, with values that agree with what is
// computed.
func TestKeysThatChangeNothingAreAccepted(t *testing.T) {
	s := tiny()
	s.set("attention.causal", true)
	s.set("attention.sliding_window_pattern", []bool{false, false})
	s.set("rope.freq_base", float32(1e5))
	s.set("rope.freq_base_swa", float32(1e5))
	s.set("rope.dimension_count_swa", uint32(16))
	if _, err := Build(s.file(t), Options{}); err != nil {
		t.Error(err)
	}
	s = tiny()
	s.set("attention.sliding_window", uint32(64)) // to which the context is limited
	s.set("attention.sliding_window_pattern", uint32(2))
	if _, err := Build(s.file(t), Options{}); err != nil {
		t.Error(err)
	}
}

// FuzzBuild reads files that are nearly models. The fuzzed input is the part before the tensor data, and the data are as
// many zeros as are asked for, so that inputs are small. Accepted models must verify.
func FuzzBuild(f *testing.F) {
	add := func(s *spec) {
		head := header(f, s)
		f.Add(head, uint32(len(s.bytes(f))-len(head)))
	}
	add(tiny())
	for _, c := range faults {
		s := tiny()
		c.edit(s)
		add(s)
	}
	f.Fuzz(func(t *testing.T, b []byte, zeros uint32) {
		const maxZeros = 1 << 18
		f, err := gguf.Read(zeroTail(b), int64(len(b))+int64(min(zeros, maxZeros)), "fuzz.gguf")
		if err != nil {
			return
		}
		m, err := Build(f, Options{})
		if err != nil {
			return
		}
		if err := ir.Verify(m); err != nil {
			t.Errorf("accepted, but the module is wrong: %v", err)
		}
	})
}

// header returns the part of a file before the tensor data.
func header(t testing.TB, s *spec) []byte {
	return s.bytes(t)[:s.file(t).DataOffset()]
}

// zeroTail reads as its bytes followed by zeros.
type zeroTail []byte

func (z zeroTail) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off < int64(len(z)) {
		copy(p, z[off:])
	}
	return len(p), nil
}

// TestErrorsAreShortAndPrintable: for any number of faults and any length of texts, the error has at most 4 KiB, and
// a terminal prints it as it is.
func TestErrorsAreShortAndPrintable(t *testing.T) {
	long := strings.Repeat("\x1b\u202e\xff", 100_000)
	for _, c := range []struct {
		name string
		edit func(*spec)
		want string
	}{
		{"architecture", func(s *spec) { s.set("general.architecture", long) }, "is not supported: ggmlc compiles "},
		{"rope scaling", func(s *spec) { s.set("rope.scaling.type", long) }, "is not supported: none, linear, yarn and longrope are"},
		{"tensors that are left over", func(s *spec) {
			for i := range 20_000 {
				s.add(strings.Repeat("\x1b", 50)+strconv.Itoa(i), gguf.TensorF32, 1)
			}
		}, "tiny.gguf: and 19990 more errors"},
		{"layers that are missing", func(s *spec) { s.set("block_count", uint32(maxLayers)) }, " more errors"},
		{"a list for a million layers", func(s *spec) { s.set("attention.head_count", make([]uint8, 1e6)) }, "a list of 1000000 values"},
	} {
		s := tiny()
		c.edit(s)
		_, err := Build(s.file(t), Options{})
		if err == nil {
			t.Errorf("%s: accepted", c.name)
			continue
		}
		if text := err.Error(); len(text) > 4096 || printable.Text(text) != text || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d bytes without %q:\n%q", c.name, len(text), c.want, text)
		}
	}
}
