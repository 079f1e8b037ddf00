// Package arch builds the graph of a model from the contents of its file: the architecture's name, its
// hyperparameters and its tensors. Each architecture is a function in a file of its own that returns a description.
//
// # Descriptions
//
// A description ([decoder]) is a tree of parts: [sequence], [residual] and [parallel] describe how parts of a layer are
// joined; [attention], [gated], [gatedInOne], [plain] and [experts] are what they compute; [norm], [rope] and the
// projections of attention belong to them. A part is a small struct with the numbers and choices of one computation,
// and a method that appends its nodes. Its zero fields mean that the feature is absent. An architecture reads like its
// paper: which parts, in which order, with which tensors.
//
// A description is made from metadata alone. The methods of [model] read a key, check its range and collect faults;
// model.build refuses keys that change the graph of other architectures and that this description did not read.
// Graphs are built by walking the description once for each function. Weights are declared when a part first reads
// them, with the shape that the part computes; tensors that are missing, of another shape or left over are reported
// by name, all together.
//
// # Alternatives
//
//   - One struct with a field for each feature of all models (as configurations of transformers have): files are
//     shorter, but every reader must know which combinations occur, and the code that reads it is one long function.
//   - A graph function for each architecture, without parts (as llama.cpp has): each reads well alone. A hundred of
//     them repeat each other, and a change of attention is a hundred changes.
//   - A text format for descriptions: users could add architectures without a build. It would be a language with
//     conditions on metadata, and its errors would need as much work as those of Go, which come for free.
//   - Methods that declare weights, beside others that read them: the names and shapes of tensors would be stated
//     twice, and could differ.
package arch

import (
	"maps"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/spell"
)

// Options are the user's choices about the graph.
type Options struct {
	Context  int         // positions of a sequence; 0: as trained, at most DefaultContext
	Batch    int         // tokens of a prompt in one call of prefill; 0: DefaultBatch
	KV       dtype.DType // of the KV cache: F32, F16, Q8_0 or Q4_0; Invalid: F16
	Quantize dtype.DType // convert float matrices to this; Invalid: keep them

	// AllLogits makes prefill return the logits after each token, not only after the last one.
	AllLogits bool

	// Embeddings makes prefill also return the state of each token after the final norm.
	Embeddings bool

	// WholeCache makes layers with a sliding window keep all positions, not only the positions that steps read.
	WholeCache bool

	// Top adds a function that takes one token, as decode does, and returns the Top most probable next ones in place of
	// all logits; 0: none.
	Top int

	// Sequences is the number of sequences that the KV cache has room for, at most MaxSequences; 0: 1. With several,
	// the module has a function that takes one token of each. Of an encoder it is the number of texts that a step
	// takes; 0: DefaultTexts.
	Sequences int
}

// Defaults of Options.
const (
	DefaultContext = 4096
	DefaultBatch   = 512
	DefaultTexts   = 16
)

// MaxSequences is the largest value of Options.Sequences.
const MaxSequences = 1024

// SourceName is the name of the model file in weight expressions: m["output.weight"].
const SourceName = "m"

// architectures is indexed by general.architecture.
var architectures = map[string]func(*model) decoder{
	"apertus":         apertus,
	"arcee":           arcee,
	"baichuan":        baichuan,
	"bailingmoe":      bailingmoe,
	"bailingmoe2":     bailingmoe2,
	"bert":            bert,
	"bloom":           bloom,
	"chatglm":         chatglm,
	"codeshell":       codeshell,
	"cohere2":         cohere2,
	"command-r":       commandR,
	"deepseek":        deepseek,
	"deepseek2":       deepseek2,
	"dots1":           dots1,
	"ernie4_5":        ernie45,
	"ernie4_5-moe":    ernie45moe,
	"exaone":          exaone,
	"exaone4":         exaone4,
	"falcon":          falcon,
	"gemma":           gemma,
	"gemma-embedding": gemmaEmbedding,
	"gemma2":          gemma2,
	"gemma3":          gemma3,
	"gemma4":          gemma4,
	"glm4":            glm4,
	"glm4moe":         glm4moe,
	"gpt2":            gpt2,
	"gptneox":         gptneox,
	"gpt-oss":         gptOSS,
	"granite":         granite,
	"granitemoe":      granitemoe,
	"grok":            grok,
	"hunyuan-dense":   hunyuanDense,
	"hunyuan-moe":     hunyuanMoE,
	"internlm2":       internlm2,
	"jais":            jais,
	"jina-bert-v2":    jinaBert2,
	"llama":           llama,
	"minicpm":         minicpm,
	"minicpm3":        minicpm3,
	"minimax-m2":      minimaxM2,
	"mistral3":        mistral3,
	"modern-bert":     modernBert,
	"mpt":             mpt,
	"nemotron":        nemotron,
	"nomic-bert":      nomicBert,
	"nomic-bert-moe":  nomicBertMoE,
	"olmo":            olmo,
	"olmo2":           olmo2,
	"olmoe":           olmoe,
	"orion":           orion,
	"phi2":            phi2,
	"phi3":            phi3,
	"phimoe":          phimoe,
	"qwen":            qwen,
	"qwen2":           qwen2,
	"qwen2moe":        qwen2moe,
	"qwen2vl":         qwen2vl,
	"qwen3":           qwen3,
	"qwen3moe":        qwen3moe,
	"qwen3vl":         qwen3vl,
	"qwen3vlmoe":      qwen3vlmoe,
	"refact":          refact,
	"seed_oss":        seedOSS,
	"smollm3":         smollm3,
	"stablelm":        stablelm,
	"starcoder":       starcoder,
	"starcoder2":      starcoder2,
	"xverse":          xverse,
}

// OptionError means that an option does not fit a valid model file.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }
func (e *OptionError) Unwrap() error { return e.Err }

// Names returns the architectures that Build knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(architectures)) }

// Build returns the module of a model file, as imported: the functions prefill and decode, which share weights and
// the KV cache, and decode_joint if there is room for several sequences. It reports all faults that it finds.
func Build(f *gguf.File, o Options) (*ir.Module, error) {
	name, err := f.String("general.architecture")
	if err != nil {
		return nil, err
	}
	describe, ok := architectures[name]
	if !ok {
		return nil, f.KeyError("general.architecture", "architecture %s is not supported:%s ggmlc compiles %s",
			gguf.Quote(name), hint(name), strings.Join(Names(), ", "))
	}
	m := newModel(f, name, o.withDefaults())
	m.given = o
	return m.build(describe(m))
}

// hint names the known architecture that is nearest to name.
func hint(name string) string {
	if near := spell.Near(name, Names()); near != "" {
		return " the nearest known one is " + near + ";"
	}
	return ""
}

func (o Options) withDefaults() Options {
	if o.Batch == 0 {
		o.Batch = DefaultBatch
	}
	if o.KV == dtype.Invalid {
		o.KV = dtype.F16
	}
	o.Sequences = max(o.Sequences, 1)
	return o
}
