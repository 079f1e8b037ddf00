package fake_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/fake"
)

// The toy is a language model for two devices, written by hand in the form of emitted code. The first device sums up
// tokens. The second keeps a hash of all sums, whose remainder determines the largest logit. A sum that is lost,
// early or late therefore changes all later tokens.
const (
	toyVocab   = 64
	toyBatch   = 4
	toyContext = 256
)

// Numbers of memories, and offsets in them. toySum exists once: a step may write it only after the second device has
// read that of the step before.
const (
	memSum    = iota // state of the first device
	memIn            // activations of the first: the tokens of each step in flight, then the sum
	memHash          // state of the second
	memOut           // activations of the second: the sum, then the logits
	memHost          // inputs and outputs
	memories  = iota
	toySum    = 0
	toyTokens = 64
	toySlots  = 64 // bytes from one instance of the tokens to the next
	toyLogits = 64

	ioTokens, ioLogits, ioBytes = 0, 64, 64 + 4*toyVocab
)

// Events.
const (
	summed = 1 + iota // the second device has the sum
	hashed            // the second device has read it
)

// toy holds the parameters that tests change.
type toy struct {
	pipeline int
	options  fake.Options
	drop     int           // an event whose wait is left out; 0 is none
	sum      fake.Kernel   // replaces the first device's kernel
	hash     fake.Kernel   // replaces the second device's kernel
	hold     time.Duration // additional duration of each hash
}

func (o *toy) program() *runtime.Program {
	loader := &fake.Loader{Options: o.options}
	dims := []runtime.Dim{{Sym: 0, Scale: 1}}
	step := runtime.Func{
		Inputs:  []runtime.Tensor{{Name: "tokens", Type: dtype.I32, Dims: dims, Offset: ioTokens}},
		Outputs: []runtime.Tensor{{Name: "logits", Type: dtype.F32, Dims: []runtime.Dim{{Const: toyVocab}}, Offset: ioLogits}},
		Run:     o.step(),
	}
	prefill, decode := step, step
	prefill.Name, decode.Name = "prefill", "decode"
	slots := int64(max(o.pipeline, 1))
	return &runtime.Program{
		Name: "toy", IOBytes: ioBytes,
		Symbols: []runtime.Symbol{{Name: "tokens", Min: 1, Max: toyBatch}},
		Funcs:   []runtime.Func{prefill, decode},
		LM: &runtime.LanguageModel{
			Prefill: runtime.Entry{Func: 0, Pos: -1, Slot: -1, Lengths: -1}, Decode: runtime.Entry{Func: 1, Pos: -1, Slot: -1, Lengths: -1},
			Vocab: toyVocab, Context: toyContext, Batch: toyBatch, Peak: "f32"},
		Devices: runtime.NewDevices(runtime.Layout{
			Pipeline: o.pipeline, Events: hashed + 1,
			Devices: []runtime.DeviceInfo{
				{Name: "first", Loader: loader, Queues: []string{"first"}, Memory: []int{memSum, memIn}},
				{Name: "second", Loader: loader, Queues: []string{"second"}, Memory: []int{memHash, memOut}},
			},
			Queues: []runtime.QueueInfo{{Device: 0}, {Device: 1}},
			Memory: []runtime.Chunk{
				memSum:  {Space: "first", Class: runtime.State, Device: 0, Bytes: 4},
				memIn:   {Space: "first", Class: runtime.Activations, Device: 0, Bytes: toyTokens + slots*toySlots},
				memHash: {Space: "second", Class: runtime.State, Device: 1, Bytes: 4},
				memOut:  {Space: "second", Class: runtime.Activations, Device: 1, Bytes: toyLogits + 4*toyVocab},
				memHost: {Space: "host", Class: runtime.IO, Device: -1, Bytes: ioBytes},
			},
		}),
	}
}

var (
	tokensLabel = runtime.Label{Func: "step", Split: 0, What: "tokens"}
	sumLabel    = runtime.Label{Func: "step", Split: 1, What: "sum"}
	logitsLabel = runtime.Label{Func: "step", Split: 2, What: "logits"}
)

// step returns the step function.
func (o *toy) step() func(*runtime.Worker, *runtime.Args) {
	sum := &runtime.Command{Label: runtime.Label{Func: "step", Split: 0}, Kernel: fake.Kernel(addTokens)}
	hash := &runtime.Command{Label: runtime.Label{Func: "step", Split: 1}, Kernel: fake.Kernel(o.hashSum)}
	if o.sum != nil {
		sum.Kernel = o.sum
	}
	if o.hash != nil {
		hash.Kernel = o.hash
	}
	return func(w *runtime.Worker, a *runtime.Args) {
		if w.Part != 0 {
			return
		}
		q := a.Queues
		q.Copy(0, &tokensLabel, 0, memIn, toyTokens+q.Slot()*toySlots, memHost, ioTokens, 4*a.Dims[0])
		q.Run(0, sum, 0)
		if o.drop != hashed {
			q.WaitPrev(0, hashed)
		}
		q.Copy(0, &sumLabel, 0, memOut, toySum, memIn, toySum, 4)
		q.Record(0, summed)
		if o.drop != summed {
			q.Wait(1, summed)
		}
		q.Run(1, hash, 0)
		q.Record(1, hashed)
		q.Copy(1, &logitsLabel, 0, memHost, ioLogits, memOut, toyLogits, 4*toyVocab)
	}
}

func word(base unsafe.Pointer, offset int) *int32 { return (*int32)(unsafe.Add(base, offset)) }

// addTokens is the first device's kernel.
func addTokens(e *fake.Env, _ int) {
	sum := word(e.Mem[memSum], 0)
	for i := range e.Dims[0] {
		*sum += *word(e.Mem[memIn], toyTokens+e.Slot*toySlots+4*i)
	}
	*word(e.Mem[memIn], toySum) = *sum
}

// hashSum is the second device's kernel.
func (o *toy) hashSum(e *fake.Env, _ int) {
	for begin := time.Now(); time.Since(begin) < o.hold; {
	}
	h := word(e.Mem[memHash], 0)
	*h = nextHash(*h, *word(e.Mem[memOut], toySum))
	for i := range toyVocab {
		*(*float32)(unsafe.Add(e.Mem[memOut], toyLogits+4*i)) = 0
	}
	*(*float32)(unsafe.Add(e.Mem[memOut], toyLogits+4*int(*h))) = 1
}

func nextHash(h, sum int32) int32 { return int32((uint32(h)*31 + uint32(sum)) % toyVocab) }

// toyNext returns the most probable token after a prompt that runs in chunks, by the definition of the model.
func toyNext(prompt []int32, chunk int) int32 {
	var h, sum int32
	for len(prompt) > 0 {
		n := min(chunk, len(prompt))
		for _, id := range prompt[:n] {
			sum += id
		}
		h, prompt = nextHash(h, sum), prompt[n:]
	}
	return h
}

// toyPrompt returns n tokens.
func toyPrompt(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(i*i+7) % toyVocab
	}
	return ids
}

// best returns the index of the only logit that is 1, or -1 for any other vector.
func best(logits []float32) int32 {
	at := int32(-1)
	for i, l := range logits {
		switch {
		case l == 1 && at < 0:
			at = int32(i)
		case l != 0:
			return -1
		}
	}
	return at
}

// open opens the toy; the test closes it.
func (o *toy) open(t testing.TB, ro runtime.Options) *runtime.Model {
	t.Helper()
	m, err := runtime.Open(o.program(), ro)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func newSession(t testing.TB, m *runtime.Model) *runtime.Session {
	t.Helper()
	s, err := m.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	return s
}
