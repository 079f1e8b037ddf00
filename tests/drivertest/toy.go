package drivertest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime"
)

// Of [Toy].
const (
	ToyVocab   = 16 // tokens, and elements of the weights
	ToyWeights = 0  // the memory of the weights

	toyState     = 1 // memories
	toyHost      = 2
	toyTokens    = 64 // offset in the inputs and outputs
	toyIO        = 128
	toySizeBytes = 4 * ToyVocab
)

// Toy is a language model of one device, in the form of emitted code. Each step adds the weights 1, 2, 3, … to a state,
// as many as the token says, and returns the state as logits.
type Toy struct {
	*Kernels
	Loader  runtime.Loader
	State   int64      // bytes of the state; 0 are as many as needed
	Further []Dispatch // of the command of each step
}

// Program returns the program.
func (k *Toy) Program() *runtime.Program {
	stateBytes := cmp.Or(k.State, toySizeBytes+64)
	weights := FloatBytes(Ramp(ToyVocab))
	step := runtime.Func{
		Inputs:  []runtime.Tensor{{Name: "tokens", Type: dtype.I32, Dims: []runtime.Dim{{Sym: 0, Scale: 1}}, Offset: toyTokens}},
		Outputs: []runtime.Tensor{{Name: "logits", Type: dtype.F32, Dims: []runtime.Dim{{Const: ToyVocab}}}},
		Run:     k.step(),
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
			Vocab: ToyVocab, Context: 64, Batch: 1, Peak: "f32"},
		Devices: runtime.NewDevices(runtime.Layout{
			Devices: []runtime.DeviceInfo{{Name: "gpu", Loader: k.Loader, Queues: []string{"gpu"}, Memory: []int{ToyWeights, toyState}}},
			Queues:  []runtime.QueueInfo{{Device: 0}},
			Memory: []runtime.Chunk{
				ToyWeights: {Space: "gpu", Class: runtime.Weights, Device: 0, Bytes: toySizeBytes},
				toyState:   {Space: "gpu", Class: runtime.State, Device: 0, Bytes: stateBytes},
				toyHost:    {Space: "host", Class: runtime.IO, Device: -1, Bytes: toyIO},
			},
		}),
	}
}

// step returns the step function. The token is copied to where the kernel reads its size.
func (k *Toy) step() func(*runtime.Worker, *runtime.Args) {
	tokens := runtime.Label{Func: "step", Split: 0, What: "tokens"}
	logits := runtime.Label{Func: "step", Split: 2, What: "logits"}
	state := Arg{Memory: toyState}
	one := Dispatch{Kernel: k.AddStored, Groups: 1,
		Args: []Arg{{Memory: ToyWeights}, state, state, {Memory: toyState, Offset: toySizeBytes}}}
	c := Command(append([]Dispatch{one}, k.Further...)...)
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

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// programRuns runs a program with the device as its only backend, as emitted code does, with a timeline.
func (s *Suite) programRuns(t *testing.T) {
	const steps, token = 5, 12
	var out bytes.Buffer
	toy := Toy{Kernels: s.Kernels, Loader: s.Loader(t)}
	m, err := runtime.Open(toy.Program(), runtime.Options{Threads: 1, Timeline: &out})
	if err != nil {
		t.Fatal(err)
	}
	session, err := m.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	logits, err := session.Prefill(t.Context(), []int32{token})
	for range steps - 1 {
		if err != nil {
			t.Fatal(err)
		}
		logits, err = session.Decode(t.Context(), token)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range logits {
		want := float32(steps * (i + 1))
		if i >= token {
			want = 0
		}
		if x != want {
			t.Errorf("logit %d: %v, want %v", i, x, want)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	checkTimeline(t, out.Bytes(), steps)
}

// exact is how exactly the text has times, in microseconds.
const exact = 0.01

// checkTimeline compares the spans of a run with the work of its steps, in order and without overlaps.
func checkTimeline(t *testing.T, text []byte, steps int) {
	type event struct {
		Name    string
		TS, Dur float64
		Args    struct {
			Step   int
			Kernel string
		}
	}
	var events []event
	if err := json.Unmarshal(text, &events); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	events = slices.DeleteFunc(events[1:], func(e event) bool { return e.Args.Kernel != "" }) // without the queue's name
	names := []string{"@step split 0: tokens", "@step split 1", "@step split 2: logits"}
	if len(events) != steps*len(names) {
		t.Fatalf("%d spans, want %d of %d steps\n%s", len(events), len(names), steps, text)
	}
	end := 0.0
	for i, e := range events {
		if e.Name != names[i%len(names)] || e.Args.Step != 1+i/len(names) || e.TS < end-exact {
			t.Errorf("span %d: %+v, want %s of step %d, after %v", i, e, names[i%len(names)], 1+i/len(names), end)
		}
		end = e.TS + e.Dur
	}
}
