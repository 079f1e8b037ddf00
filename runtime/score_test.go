package runtime

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"unsafe"
)

// allRows is the toy with a prefill that returns the logits after each token.
func allRows() *Program {
	p := toyProgram()
	p.IOBytes = toyLogits + 4*toyVocab*toyBatch
	f := &p.Funcs[p.LM.Prefill.Func]
	f.Outputs = slices.Clone(f.Outputs)
	f.Outputs[0].Dims = []Dim{{Sym: 0, Scale: 1}, {Const: toyVocab}}
	f.Run = func(w *Worker, a *Args) {
		n, kv := a.Dims[0], a.Dims[1]
		if w.Part == 0 {
			tokens := unsafe.Slice((*int32)(unsafe.Add(a.IO, toyTokens)), n)
			state := unsafe.Slice((*int32)(a.State), toyContext)
			copy(state[kv-n:], tokens)
			for i := range n {
				row := unsafe.Slice((*float32)(unsafe.Add(a.IO, toyLogits+4*toyVocab*i)), toyVocab)
				copy(row, toyWant(state[:kv-n+i+1]))
			}
		}
		w.Barrier()
	}
	return p
}

// toyText is longer than two batches.
func toyText(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(i * 11 % toyVocab)
	}
	return ids
}

func TestScoreReturnsTheLogitsAfterEachToken(t *testing.T) {
	for name, p := range map[string]*Program{"one by one": toyProgram(), "chunks": allRows()} {
		for _, first := range []int{0, 1, toyBatch - 1, toyBatch, 18} {
			_, s := openProgram(t, p, Options{Threads: 2, Poison: true, Steady: true})
			before, text := toyText(3), toyText(19)
			if _, err := s.Prefill(context.Background(), before); err != nil {
				t.Fatal(err)
			}
			next := first
			err := s.Score(context.Background(), text, first, func(i int, logits []float32) error {
				if want := toyWant(slices.Concat(before, text[:i+1])); i != next || !slices.Equal(logits, want) {
					t.Errorf("%s, first %d: after token %d (of %d): %v, want %v", name, first, i, next, logits, want)
				}
				next++
				return nil
			})
			if err != nil || next != len(text) || s.Len() != 22 {
				t.Errorf("%s, first %d: %v, %d visits, %d positions", name, first, err, next-first, s.Len())
			}
		}
	}
}

func TestScoreThatFailsLeavesTheSequence(t *testing.T) {
	ended, end := context.WithCancel(context.Background())
	end()
	stop := errors.New("stop")
	for name, p := range map[string]*Program{"one by one": toyProgram(), "chunks": allRows()} {
		_, s := openProgram(t, p, Options{Threads: 1})
		if _, err := s.Prefill(context.Background(), []int32{1, 2}); err != nil {
			t.Fatal(err)
		}
		visits := 0
		visit := func(i int, _ []float32) error {
			if visits++; i == 12 {
				return stop
			}
			return nil
		}
		for _, c := range []struct {
			ctx    context.Context
			tokens []int32
			first  int
			want   error
			visits int
		}{
			{context.Background(), toyText(20), 10, stop, 3},
			{context.Background(), toyText(toyContext - 1), 0, ErrContextFull, 0},
			{context.Background(), []int32{1, toyVocab}, 0, ErrInput, 0},
			{context.Background(), toyText(3), 3, ErrInput, 0},
			{context.Background(), nil, 0, ErrInput, 0},
			{ended, toyText(5), 0, ErrCancelled, 0},
		} {
			visits = 0
			if err := s.Score(c.ctx, c.tokens, c.first, visit); !errors.Is(err, c.want) || visits != c.visits || s.Len() != 2 {
				t.Errorf("%s: %v after %d visits, %d positions; want %v after %d", name, err, visits, s.Len(), c.want, c.visits)
			}
		}
	}
}

// softness divides the logits of soft, so that every token is possible.
const softness = 64

// soft is p with smaller logits.
func soft(p *Program) *Program {
	for i := range p.Funcs {
		run, out := p.Funcs[i].Run, &p.Funcs[i].Outputs[0]
		p.Funcs[i].Run = func(w *Worker, a *Args) {
			run(w, a)
			w.Barrier()
			if w.Part > 0 {
				return
			}
			for j := range out.elems(&a.Dims) {
				*(*float32)(unsafe.Add(a.IO, out.Offset+int64(4*j))) /= softness
			}
		}
	}
	return p
}

// wantPerplexity computes the perplexity by its definition in PerplexityOptions.
func wantPerplexity(text []int32, chunk, stride int, bos int32) (value, deviation float64) {
	var nlls []float64
	predict := func(before []int32, id int32) {
		sum, logits := 0.0, toyWant(before)
		for _, x := range logits {
			sum += math.Exp(float64(x-logits[id]) / softness)
		}
		nlls = append(nlls, math.Log(sum))
	}
	for begin := 0; stride == 0 && begin+chunk <= len(text); begin += chunk {
		part := slices.Concat([]int32{bos}, text[begin+1:begin+chunk])
		for i := chunk/2 + 1; i < chunk; i++ {
			predict(part[:i], part[i])
		}
	}
	for begin := 0; stride > 0 && begin+chunk < len(text); begin += stride {
		for i := begin + chunk - stride; i < begin+chunk; i++ {
			predict(text[begin:i], text[i])
		}
	}
	n, mean, square := float64(len(nlls)), 0.0, 0.0
	for _, x := range nlls {
		mean += x / n
	}
	for _, x := range nlls {
		square += (x - mean) * (x - mean) / n
	}
	return math.Exp(mean), math.Sqrt(square/(n-1)) * math.Exp(mean)
}

func TestPerplexityIsThatOfTheDefinition(t *testing.T) {
	text := toyText(100)
	for name, p := range map[string]*Program{"one by one": toyProgram(), "chunks": allRows()} {
		_, s := openProgram(t, soft(spoken(t, p)), Options{Threads: 2})
		for _, o := range []PerplexityOptions{{Chunk: 20}, {Chunk: 3}, {Chunk: 33}, {Chunk: 20, Stride: 7}, {Chunk: 50, Stride: 49}} {
			chunks := 0
			got, err := s.Perplexity(context.Background(), text, o, func(Perplexity) error { chunks++; return nil })
			value, deviation := wantPerplexity(text, o.Chunk, o.Stride, 1)
			if err != nil || !(math.Abs(got.Value()/value-1) < 1e-5) || !(math.Abs(got.StandardError()/deviation-1) < 1e-4) {
				t.Errorf("%s, %+v: %v, %v ± %v in %d chunks, want %v ± %v", name, o, err, got.Value(), got.StandardError(), chunks, value, deviation)
			}
		}
	}
}
