package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// toyWidth is the number of elements of the toy's states.
const toyWidth = 3

// toyState is the state of a token at a position.
func toyState(id int32, at int) []float32 {
	return []float32{float32(id), float32(at), float32(int(id)*at - 7)}
}

// embedding is the toy with a prefill that returns states.
func embedding(own Pooling) *Program {
	p := toyProgram()
	p.LM.Hidden, p.LM.Pooling = 1, own
	p.IOBytes += 4 * toyWidth * toyBatch
	f := &p.Funcs[p.LM.Prefill.Func]
	f.Outputs = append(slices.Clone(f.Outputs), Tensor{
		Name: "hidden", Type: dtype.F32, Dims: []Dim{{Sym: 0, Scale: 1}, {Const: toyWidth}}, Offset: toyIO,
	})
	run := f.Run
	f.Run = func(w *Worker, a *Args) {
		n := a.Dims[0]
		tokens := unsafe.Slice((*int32)(unsafe.Add(a.IO, toyTokens)), n)
		pos := unsafe.Slice((*int32)(unsafe.Add(a.IO, toyPos)), n)
		for i := w.Part; i < n; i += w.Parts {
			copy(unsafe.Slice((*float32)(unsafe.Add(a.IO, toyIO+4*toyWidth*i)), toyWidth), toyState(tokens[i], int(pos[i])))
		}
		run(w, a)
	}
	return p
}

// wantEmbedding computes an embedding by its definition.
func wantEmbedding(ids []int32, how Pooling) (v []float32) {
	sum := make([]float64, toyWidth)
	for i, id := range ids {
		row := toyState(id, i)
		switch {
		case how == PoolNone, how == PoolCLS && i == 0, how == PoolLast && i == len(ids)-1:
			v = append(v, row...)
		}
		for j, x := range row {
			sum[j] += float64(x) / float64(len(ids))
		}
	}
	for _, x := range sum {
		if how == PoolMean {
			v = append(v, float32(x))
		}
	}
	return v
}

func near(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Abs(float64(x-y)) <= 1e-5*(1+math.Abs(float64(y))) })
}

func TestEmbedPoolsTheStatesOfAllChunks(t *testing.T) {
	for _, n := range []int{1, toyBatch, 2*toyBatch + 3} {
		for _, c := range []struct{ own, asked, want Pooling }{
			{PoolNone, "", PoolMean}, {PoolCLS, "", PoolCLS}, {PoolLast, "", PoolLast}, {PoolCLS, PoolMean, PoolMean},
			{PoolMean, PoolNone, PoolNone}, {PoolMean, PoolLast, PoolLast},
		} {
			_, s := openProgram(t, embedding(c.own), Options{Threads: 1})
			for range 2 { // a text does not depend on the one before
				got, err := s.Embed(context.Background(), toyText(n), c.asked)
				if want := wantEmbedding(toyText(n), c.want); err != nil || !near(got, want) {
					t.Errorf("%d tokens, %+v: %v, %v, want %v", n, c, got, err, want)
				}
			}
		}
	}
}

func TestEmbedErrors(t *testing.T) {
	_, s := openProgram(t, embedding(PoolMean), Options{Threads: 1})
	_, plain := openProgram(t, toyProgram(), Options{Threads: 1})
	ended, end := context.WithCancel(context.Background())
	end()
	for name, c := range map[string]struct {
		ctx    context.Context
		s      *Session
		tokens []int32
		how    Pooling
		want   error
	}{
		"plain":     {context.Background(), plain, toyText(2), "", ErrInput},
		"pooling":   {context.Background(), s, toyText(2), "max", ErrInput},
		"empty":     {context.Background(), s, nil, "", ErrInput},
		"id":        {context.Background(), s, []int32{toyVocab}, "", ErrInput},
		"long":      {context.Background(), s, toyText(toyContext + 1), "", ErrContextFull},
		"cancelled": {ended, s, toyText(2), "", ErrCancelled},
	} {
		if v, err := c.s.Embed(c.ctx, c.tokens, c.how); !errors.Is(err, c.want) || v != nil || c.s.Len() != 0 {
			t.Errorf("%s: %v, %v, %d positions", name, v, err, c.s.Len())
		}
	}
	broken := embedding(PoolMean)
	run := broken.Funcs[0].Run
	broken.Funcs[0].Run = func(w *Worker, a *Args) {
		run(w, a)
		*(*float32)(unsafe.Add(a.IO, toyIO)) = float32(math.NaN())
	}
	_, s = openProgram(t, broken, Options{Threads: 1})
	if _, err := s.Embed(context.Background(), toyText(2), ""); !errors.Is(err, ErrNumerics) {
		t.Errorf("NaN: %v", err)
	}
}

func TestNormalize(t *testing.T) {
	v, zero := []float32{3, 0, -4}, []float32{0, 0}
	Normalize(v)
	Normalize(zero)
	if !near(v, []float32{0.6, 0, -0.8}) || !slices.Equal(zero, []float32{0, 0}) {
		t.Errorf("%v, %v", v, zero)
	}
}

func TestEmbedCommand(t *testing.T) {
	p := spoken(t, embedding(PoolMean))
	file := filepath.Join(t.TempDir(), "x.npy")
	lines := writeText(t, "ab\r\n\nba")
	for _, c := range []struct{ args, want string }{
		{"embed --no-bos ab", "6.5 0.5 -3.5\n"},
		{"embed --tokens 6,7 --pooling last", "7 1 0\n"},
		{"embed --no-bos --pooling none ab", "6 0 -7\n7 1 0\n"},
		{"embed --no-bos --normalize --pooling last --json a", `{"index":0,"tokens":1,"embedding":[0.65079135,0,-0.7592566]}` + "\n"},
		{"embed --lines --pooling cls --json --file " + lines, `{"index":0,"tokens":3,"embedding":[1,0,-7]}` + "\n" +
			`{"index":1,"tokens":1,"embedding":[1,0,-7]}` + "\n" + `{"index":2,"tokens":3,"embedding":[1,0,-7]}` + "\n"},
		{"embed --no-bos --pooling none -o " + file + " ab", ""},
	} {
		if status, out, errs := invoke(p, strings.Fields(c.args)...); status != 0 || out != c.want || errs != "" {
			t.Errorf("%s: status %d, %q, want %q; %s", c.args, status, out, c.want, errs)
		}
	}
	if a, err := readArray(file, dtype.F32); err != nil || !slices.Equal(a.Shape, []int{2, toyWidth}) {
		t.Errorf("%v, shape %v", err, a.Shape)
	}
	for _, c := range []struct {
		p    *Program
		args string
		want string
	}{
		{toyProgram(), "embed --tokens 1", "toy gives no embeddings: compile it with ggmlc build --embeddings"},
		{p, "embed --pooling max a", "choose one of [mean last cls none]"},
		{p, "embed", "no text"},
		{p, "embed --lines --tokens 1", "give one of them"},
		{p, "embed -o x --json a", "give one of them"},
		{p, "embed --lines --no-bos --file " + lines, "line 2: bad input: no tokens"},
	} {
		if status, _, errs := invoke(c.p, strings.Fields(c.args)...); status != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%s: status %d, %q, want %q", c.args, status, errs, c.want)
		}
	}
	if _, help, _ := invoke(toyProgram(), "-h"); strings.Contains(help, "embed") {
		t.Error("a program without embeddings lists the command")
	}
	if _, out, _ := invoke(p, "embed", "--json", "a"); !json.Valid([]byte(out)) {
		t.Errorf("%q is no JSON", out)
	}
}
