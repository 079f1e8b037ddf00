package runtime

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime/sample"
)

// Where the outputs of the toy's entry for the most probable tokens are.
const (
	toyIDs     = toyIO
	toyMost    = toyIO + 0x40
	toyFew     = toyIO + 0x80
	toyTopIO   = toyIO + 0xc0
	toyChoices = 4 // of each part
	toyParts   = 2
)

// chooser returns the toy with an entry that returns the four most probable tokens of each half. damage may change the logits of a
// step of that entry, which also overwrites them afterwards, as a device that keeps them would leave others there.
func chooser(damage func(logits []float32)) *Program {
	p := toyProgram()
	p.IOBytes = toyTopIO
	top := p.Funcs[1]
	top.Name = "top"
	one, two, four := Dim{Const: 1}, Dim{Const: toyParts}, Dim{Const: toyChoices}
	top.Inputs = slices.Clone(top.Inputs)
	for i := range top.Inputs {
		top.Inputs[i].Dims = []Dim{one}
	}
	top.Outputs = []Tensor{
		{Name: "ids", Type: dtype.I32, Dims: []Dim{two, four}, Offset: toyIDs},
		{Name: "most", Type: dtype.F32, Dims: []Dim{two, one}, Offset: toyMost},
		{Name: "few", Type: dtype.F32, Dims: []Dim{two, four}, Offset: toyFew},
	}
	top.Run = func(w *Worker, a *Args) {
		b := *a
		b.Dims[0] = 1
		toyStep(w, &b)
		w.Barrier()
		if w.Part > 0 {
			return
		}
		logits := unsafe.Slice((*float32)(unsafe.Add(a.IO, toyLogits)), toyVocab)
		damage(logits)
		ids := unsafe.Slice((*int32)(unsafe.Add(a.IO, toyIDs)), toyParts*toyChoices)
		few := unsafe.Slice((*float32)(unsafe.Add(a.IO, toyFew)), toyParts*toyChoices)
		most := unsafe.Slice((*float32)(unsafe.Add(a.IO, toyMost)), toyParts)
		for at := range most {
			part := logits[at*toyVocab/toyParts:][:toyVocab/toyParts]
			for i, id := range topIDs(part, toyChoices) {
				ids[at*toyChoices+i], few[at*toyChoices+i] = id, part[id]
			}
			most[at] = part[0]
			for i := range part {
				most[at] = max(most[at], part[i]) // NaN if one is
				part[i] = -1
			}
		}
	}
	p.Funcs = append(p.Funcs, top)
	p.LM.Top = &TopEntry{Entry{Func: 2, Tokens: 0, Pos: 1, Slot: -1, Lengths: -1, Logits: 2}, 0, 1}
	return p
}

// TestNoLogitsMakeNoDifference generates with all logits and with the few that are enough.
func TestNoLogitsMakeNoDifference(t *testing.T) {
	count := 0
	model, _ := openProgram(t, chooser(func([]float32) { count++ }), Options{Threads: 2})
	for name, c := range map[string]struct {
		set   func(o *sample.Options)
		steps int // of the entry for the most probable tokens
	}{
		"greedy":   {func(*sample.Options) {}, 7},
		"draws":    {func(o *sample.Options) { o.Temperature, o.TopK, o.Seed = 2, 3, 5 }, 7},
		"too many": {func(o *sample.Options) { o.Temperature, o.TopK, o.Seed = 2, 5, 5 }, 0},
		"penalty":  {func(o *sample.Options) { o.RepeatPenalty = 1.2 }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			sampling := sample.Defaults()
			c.set(&sampling)
			generate := func(o GenerateOptions) (ids []int32, with int) {
				s, err := model.NewSession()
				if err != nil {
					t.Fatal(err)
				}
				o.MaxTokens, o.Sampling = 8, &sampling
				for tok, err := range s.GenerateTokens(context.Background(), []int32{4, 5}, o) {
					if err != nil {
						t.Fatal(err)
					}
					ids = append(ids, tok.ID)
					if tok.Logits != nil {
						with++
					}
				}
				return ids, with
			}
			count = 0
			want, with := generate(GenerateOptions{})
			if with != 8 || count != 0 {
				t.Errorf("%d tokens with logits, %d steps without", with, count)
			}
			got, with := generate(GenerateOptions{NoLogits: true})
			if !slices.Equal(got, want) || count != c.steps || with != 8-c.steps {
				t.Errorf("%v in %d steps without logits and %d with, want %v in %d without", got, count, with, want, c.steps)
			}
			count = 0
			chosen := func(c *Choice) (int32, error) { return c.Next() }
			if got, _ := generate(GenerateOptions{NoLogits: true, Sampler: chosen}); !slices.Equal(got, want) || count != 0 {
				t.Errorf("a sampler of the caller has %v, after %d steps without logits", got, count)
			}
		})
	}
}

// TestSuppressedTokensAreNotGenerated: neither by the program's own choice, nor by that of a device, which knows no
// vocabulary, nor where the caller prefers one.
func TestSuppressedTokensAreNotGenerated(t *testing.T) {
	const best, other = 13, 8
	onDevice := 0
	for name, program := range map[string]*Program{
		"host":   script(t, 2, best, best, best),
		"device": chooser(func([]float32) { onDevice++ }),
	} {
		program.Tokenizer = toyTokenizer(t)
		_, free := openProgram(t, program, Options{})
		want := map[int32]bool{}
		o := GenerateOptions{MaxTokens: 3, NoLogits: true, IgnoreEOG: true, Sampling: biased(other, 1)}
		for tok, err := range free.GenerateTokens(context.Background(), []int32{4, 5}, o) {
			if err != nil {
				t.Fatal(err)
			}
			want[tok.ID] = true
		}
		ids := slices.Sorted(maps.Keys(want))
		program.Tokenizer = toyTokenizer(t, ids...)
		_, s := openProgram(t, program, Options{})
		o.Sampling = biased(ids[0], 100)
		for _, with := range []GenerateOptions{o, {MaxTokens: 3, NoLogits: true, IgnoreEOG: true}} {
			onDevice = 0
			for tok, err := range s.GenerateTokens(context.Background(), []int32{4, 5}, with) {
				if err != nil {
					t.Fatal(err)
				}
				if want[tok.ID] {
					t.Errorf("%s: token %d, which the vocabulary suppresses", name, tok.ID)
				}
			}
			if onDevice > 0 {
				t.Errorf("%s: the device chose %d tokens by itself", name, onDevice)
			}
		}
	}
}

// biased returns the options that add to the logit of a token.
func biased(id int32, add float32) *sample.Options {
	o := sample.Defaults()
	o.Bias = []sample.Bias{{Token: id, Add: add}}
	return &o
}

// TestDamageOfADeviceIsAnError: logits that are NaN, and ids that no vocabulary has.
func TestDamageOfADeviceIsAnError(t *testing.T) {
	damaged := chooser(func(l []float32) { l[3] = float32(math.NaN()) })
	wild := chooser(func([]float32) {})
	run := wild.Funcs[2].Run
	wild.Funcs[2].Run = func(w *Worker, a *Args) {
		run(w, a)
		*(*int32)(unsafe.Add(a.IO, toyIDs)) = toyVocab / toyParts
	}
	for want, p := range map[error]*Program{sample.ErrNumerics: damaged, ErrFault: wild} {
		_, s := openProgram(t, p, Options{Threads: 1})
		var last error
		for _, err := range s.GenerateTokens(context.Background(), []int32{4, 5}, GenerateOptions{MaxTokens: 3, NoLogits: true}) {
			last = err
		}
		if !errors.Is(last, want) {
			t.Errorf("error %v, want %v", last, want)
		}
	}
}

// TestTopEntriesOfAnotherShapeAreBroken: tables that contradict each other are noticed when a program is opened.
func TestTopEntriesOfAnotherShapeAreBroken(t *testing.T) {
	for name, change := range map[string]func(p *Program){
		"no output":      func(p *Program) { p.LM.Top.IDs = 3 },
		"ids are floats": func(p *Program) { p.LM.Top.IDs = 2 },
		"one logit":      func(p *Program) { p.LM.Top.Logits = 1 },
		"all largest":    func(p *Program) { p.LM.Top.Largest = 2 },
		"several tokens": func(p *Program) { p.LM.Top.Func = 0 },
	} {
		p := chooser(func([]float32) {})
		change(p)
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, "toy") {
					t.Errorf("%s: opened, or %q", name, text)
				}
			}()
			Open(p, Options{})
		}()
	}
}
