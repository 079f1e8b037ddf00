//go:build linux

package cuda_test

import (
	"crypto/sha256"
	"encoding/hex"
	goruntime "runtime"
	"time"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/cuda"
)

const (
	toyVocab     = 16
	toyWeights   = 0 // memories
	toyState     = 1
	toyHost      = 2
	toyTokens    = 64 // offset in the inputs and outputs
	toyIO        = 128
	toySizeBytes = 4 * toyVocab
)

// toy returns a language model of one device, in the form of emitted code. Each step adds the weights 1, 2, 3, … to a state,
// as many as the token says, and returns the state as logits.
func toy(l *cuda.Loader) *runtime.Program { return toyWith(l) }

// toyWith returns the model with further dispatches in the command of each step.
func toyWith(l *cuda.Loader, further ...dispatch) *runtime.Program {
	weights := floatBytes(ramp(toyVocab))
	step := runtime.Func{
		Inputs:  []runtime.Tensor{{Name: "tokens", Type: dtype.I32, Dims: []runtime.Dim{{Sym: 0, Scale: 1}}, Offset: toyTokens}},
		Outputs: []runtime.Tensor{{Name: "logits", Type: dtype.F32, Dims: []runtime.Dim{{Const: toyVocab}}}},
		Run:     toyStep(further),
	}
	prefill, decode := step, step
	prefill.Name, decode.Name = "prefill", "decode"
	return &runtime.Program{
		Name: "toy", IOBytes: toyIO,
		Weights: runtime.WeightsInfo{Size: toySizeBytes, Embedded: string(weights), SHA256: hash(weights)},
		Symbols: []runtime.Symbol{{Name: "tokens", Min: 1, Max: 1}},
		Funcs:   []runtime.Func{prefill, decode},
		LM: &runtime.LanguageModel{
			Prefill: runtime.Entry{Func: 0, Pos: -1, Slot: -1, Lengths: -1}, Decode: runtime.Entry{Func: 1, Pos: -1, Slot: -1, Lengths: -1},
			Vocab: toyVocab, Context: 64, Batch: 1, Peak: "f32"},
		Devices: runtime.NewDevices(runtime.Layout{
			Devices: []runtime.DeviceInfo{{Name: "gpu", Loader: l, Queues: []string{"gpu"}, Memory: []int{toyWeights, toyState}}},
			Queues:  []runtime.QueueInfo{{Device: 0}},
			Memory: []runtime.Chunk{
				toyWeights: {Space: "gpu", Class: runtime.Weights, Device: 0, Bytes: toySizeBytes},
				toyState:   {Space: "gpu", Class: runtime.State, Device: 0, Bytes: toySizeBytes + 64},
				toyHost:    {Space: "host", Class: runtime.IO, Device: -1, Bytes: toyIO},
			},
		}),
	}
}

// toyStep returns the step function. The token is copied to where the kernel reads its size.
func toyStep(further []dispatch) func(*runtime.Worker, *runtime.Args) {
	tokens := runtime.Label{Func: "step", Split: 0, What: "tokens"}
	logits := runtime.Label{Func: "step", Split: 2, What: "logits"}
	state := arg{Memory: toyState}
	one := dispatch{Kernel: addStored, Groups: 1,
		Args: []arg{{Memory: toyWeights}, state, state, {Memory: toyState, Offset: toySizeBytes}}}
	c := command(append([]dispatch{one}, further...)...)
	c.Label, c.Nodes = runtime.Label{Func: "step", Split: 1}, []string{"the node"}
	return func(w *runtime.Worker, a *runtime.Args) {
		if w.Part != 0 {
			return
		}
		a.Queues.Copy(0, &tokens, 0, toyState, toySizeBytes, toyHost, toyTokens, 4)
		a.Queues.Run(0, c, 0)
		a.Queues.Copy(0, &logits, 0, toyHost, 0, toyState, 0, toySizeBytes)
	}
}

// collect runs the garbage collector and waits for cleanups.
func collect() {
	goruntime.GC()
	time.Sleep(time.Millisecond)
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
