package fake_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/fake"
)

// The ledger is a language model on one device with two states: one holds the token of each position in 2 heads, the
// other one of the host's memory counts positions. The largest logit is a hash of all positions of both heads.
const (
	ledgerHeads = 2
	memLedger   = 0 // state on the device: [1, heads, context, 1] i32, at ledgerAt
	memWork     = 1 // activations of the device: token and position, then the logits
	memLedgerIO = 2
	memCount    = 3 // state on the host: [1, 1, context, 1] i32
	ledgerAt    = 16
	ledgerIO    = 16 + 4*toyVocab
)

// ledger returns the program, with a record of sums that the tests compare.
func ledger(options fake.Options, pipeline int) *runtime.Program {
	const states = 4 * ledgerHeads * toyContext
	one := []runtime.Dim{{Const: 1}}
	f := runtime.Func{
		Name: "decode",
		Inputs: []runtime.Tensor{
			{Name: "tokens", Type: dtype.I32, Dims: one}, {Name: "pos", Type: dtype.I32, Dims: one, Offset: 4},
		},
		Outputs: []runtime.Tensor{{Name: "logits", Type: dtype.F32, Dims: []runtime.Dim{{Const: toyVocab}}, Offset: 16}},
	}
	write := &runtime.Command{Label: runtime.Label{Func: "decode"}, Kernel: fake.Kernel(writeLedger)}
	f.Run = func(w *runtime.Worker, a *runtime.Args) {
		if w.Part != 0 {
			return
		}
		q := a.Queues
		in := 512 * q.Slot()
		q.Copy(0, &tokensLabel, 0, memWork, in, memLedgerIO, 0, 8)
		q.Run(0, write, 0)
		q.Copy(0, &logitsLabel, 0, memLedgerIO, 16, memWork, in+16, 4*toyVocab)
		pos := *(*int32)(unsafe.Add(a.IO, 4))
		*(*int32)(unsafe.Add(a.State, 4*pos)) = pos + 1
	}
	entry := runtime.Entry{Tokens: 0, Pos: 1, Slot: -1, Lengths: -1}
	return &runtime.Program{
		Name: "ledger", PlanID: "l", IOBytes: ledgerIO, StateBytes: 4 * toyContext, Funcs: []runtime.Func{f},
		States: []runtime.StateInfo{
			{Name: "ids", Type: dtype.I32, Dims: []int{1, ledgerHeads, toyContext, 1}, Memory: memLedger, Offset: ledgerAt, Bytes: states, Heads: ledgerHeads},
			{Name: "count", Type: dtype.I32, Dims: []int{1, 1, toyContext, 1}, Memory: memCount, Bytes: 4 * toyContext, Heads: 1},
		},
		LM: &runtime.LanguageModel{Prefill: entry, Decode: entry, Vocab: toyVocab, Context: toyContext, Batch: 1, Peak: "f32"},
		Devices: runtime.NewDevices(runtime.Layout{
			Pipeline: pipeline, Events: 1,
			Devices: []runtime.DeviceInfo{{Name: "first", Loader: &fake.Loader{Options: options}, Queues: []string{"first"}, Memory: []int{memLedger, memWork}}},
			Queues:  []runtime.QueueInfo{{}},
			Memory: []runtime.Chunk{
				memLedger:   {Space: "first", Class: runtime.State, Bytes: ledgerAt + states},
				memWork:     {Space: "first", Class: runtime.Activations, Bytes: int64(512 * max(pipeline, 1))},
				memLedgerIO: {Space: "host", Class: runtime.IO, Device: -1, Bytes: ledgerIO},
				memCount:    {Space: "host", Class: runtime.State, Device: -1, Bytes: 4 * toyContext},
			},
		}),
	}
}

// writeLedger stores a token in both heads and hashes all positions.
func writeLedger(e *fake.Env, _ int) {
	in := 512 * e.Slot
	id, pos := *word(e.Mem[memWork], in), *word(e.Mem[memWork], in+4)
	hash := int32(0)
	for h := range int32(ledgerHeads) {
		at := func(p int32) *int32 { return word(e.Mem[memLedger], ledgerAt+4*int(h*toyContext+p)) }
		*at(pos) = id + h
		for p := range pos + 1 {
			hash = nextHash(hash, *at(p))
		}
	}
	for i := range toyVocab {
		*(*float32)(unsafe.Add(e.Mem[memWork], in+16+4*i)) = 0
	}
	*(*float32)(unsafe.Add(e.Mem[memWork], in+16+4*int(hash))) = 1
}

// ledgerNext is the most probable token by the definition of the model.
func ledgerNext(ids []int32) (hash int32) {
	for h := range int32(ledgerHeads) {
		for _, id := range ids {
			hash = nextHash(hash, id+h)
		}
	}
	return hash
}

func openLedger(t *testing.T, seed uint64, pipeline int) *runtime.Model {
	t.Helper()
	m, err := runtime.Open(ledger(fake.Options{Seed: seed}, pipeline), runtime.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// decodes appends tokens and compares the last logits with the definition. all are the tokens before.
func decodes(t *testing.T, s *runtime.Session, all []int32, ids ...int32) {
	t.Helper()
	for _, id := range ids {
		all = append(all, id)
		if logits, err := s.Decode(t.Context(), id); err != nil || best(logits) != ledgerNext(all) {
			t.Errorf("after %d tokens: %d, want %d, error %v", len(all), best(logits), ledgerNext(all), err)
			return
		}
	}
}

// TestDeviceStatesAreSavedAndForked continues sequences of random lengths in forks, and in other models that have
// loaded them.
func TestDeviceStatesAreSavedAndForked(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for pipeline := range 4 {
		m := openLedger(t, uint64(pipeline), pipeline)
		for range 8 {
			s, ids := newSession(t, m), toyPrompt(1+r.IntN(toyContext/2))
			var last *runtime.LogitsStep
			for _, id := range ids { // in flight when the session is saved
				var err error
				if last, err = s.StartDecode(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
			var data bytes.Buffer
			if err := s.Save(&data); err != nil {
				t.Fatal(err)
			}
			if logits, err := last.Wait(); err != nil || best(logits) != ledgerNext(ids) {
				t.Fatalf("%d tokens: %v", len(ids), err)
			}
			fork, err := s.Fork(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			loaded := newSession(t, openLedger(t, 9, 1+pipeline))
			if err := loaded.Load(bytes.NewReader(data.Bytes())); err != nil {
				t.Fatal(err)
			}
			decodes(t, fork, slices.Clone(ids), 7, 8)
			decodes(t, loaded, slices.Clone(ids), 9, 10)
			decodes(t, s, slices.Clone(ids), 11, 12)
			decodes(t, fork, append(slices.Clone(ids), 7, 8), 13)
			var again bytes.Buffer
			if err := loaded.Truncate(len(ids)); err != nil || loaded.Save(&again) != nil || !bytes.Equal(again.Bytes(), data.Bytes()) {
				t.Errorf("what was loaded is saved as other bytes (%v)", err)
			}
		}
	}
}

// TestDeviceStatesByName reads and writes states between steps in flight, on the device and on the host.
func TestDeviceStatesByName(t *testing.T) {
	for pipeline := range 4 {
		s, ids := newSession(t, openLedger(t, uint64(pipeline), pipeline)), toyPrompt(20)
		var reads []*runtime.StateStep
		for i, id := range ids {
			if _, err := s.StartDecode(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if i%5 != 4 {
				continue
			}
			st, err := s.StartReadState(t.Context(), "ids")
			if err != nil {
				t.Fatal(err)
			}
			reads = append(reads, st)
		}
		for i, st := range reads {
			a, err := st.Wait()
			if err != nil {
				t.Fatal(err)
			}
			for p := range toyContext {
				want := int32(0)
				if p < 5*(i+1) {
					want = ids[p] + 1
				}
				if got := int32(binary.NativeEndian.Uint32(a.Data[4*(toyContext+p):])); got != want {
					t.Fatalf("read %d, position %d of head 1: %d, want %d", i, p, got, want)
				}
			}
		}
		other := make([]int32, ledgerHeads*toyContext)
		for i := range 20 {
			other[i], other[toyContext+i] = 5, 6
		}
		a := runtime.Array{Type: dtype.I32, Shape: []int{1, ledgerHeads, toyContext, 1}, Data: make([]byte, 4*len(other))}
		for i, v := range other {
			binary.NativeEndian.PutUint32(a.Data[4*i:], uint32(v))
		}
		if _, err := s.StartWriteState(t.Context(), "ids", a); err != nil {
			t.Fatal(err)
		}
		decodes(t, s, slices.Repeat([]int32{5}, 20), 3)
		count, err := s.ReadState("count")
		if err != nil || binary.NativeEndian.Uint32(count.Data[4*20:]) != 21 || math.MaxInt32 < len(count.Data) {
			t.Errorf("the host's state: %v, %v", count.Data[4*18:4*22], err)
		}
	}
}

// TestCancelledReads: a read whose context has ended fails, and what follows is skipped.
func TestCancelledReads(t *testing.T) {
	s := newSession(t, openLedger(t, 1, 2))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	st, err := s.StartReadState(ctx, "ids")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Wait(); err == nil {
		t.Error("it succeeds")
	}
	decodes(t, s, nil, 3)
}

// TestPlacedIOOnDevices moves the inputs and outputs of a session with steps in flight to memory of the caller's,
// several times.
func TestPlacedIOOnDevices(t *testing.T) {
	for pipeline := range 4 {
		m := openLedger(t, 5, pipeline)
		s := newSession(t, m)
		size, align := m.IOSize()
		var all []int32
		for range 3 {
			room := make([]byte, size+int64(align))
			skip := -uintptr(unsafe.Pointer(&room[0])) % uintptr(align)
			mem := room[skip : int64(skip)+size]
			if err := s.PlaceIO(mem); err != nil {
				t.Fatal(err)
			}
			var last *runtime.LogitsStep
			for _, id := range toyPrompt(5) {
				var err error
				if last, err = s.StartDecode(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				all = append(all, id)
			}
			if logits, err := last.Wait(); err != nil || best(logits) != ledgerNext(all) {
				t.Errorf("%d, want %d, error %v", best(logits), ledgerNext(all), err)
			}
			if out, err := s.Output(0, "logits"); err != nil || uintptr(unsafe.Pointer(&out.Data[0]))-uintptr(unsafe.Pointer(&mem[0])) >= uintptr(size) {
				t.Errorf("the outputs are elsewhere (%v)", err)
			}
		}
		if err := s.PlaceIO(make([]byte, 1)); err == nil {
			t.Error("a byte is enough")
		}
	}
}
