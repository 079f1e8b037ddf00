package model

import (
	"context"
	"iter"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/sample"
)

// fill sets all exported fields of a struct to values that differ from zero and from each other, as far as their types
// allow.
func fill(v reflect.Value, next *int) {
	for i := range v.NumField() {
		f := v.Field(i)
		if *next++; !f.CanSet() {
			continue
		}
		switch f.Kind() {
		case reflect.Struct:
			fill(f, next)
		case reflect.Int, reflect.Int32, reflect.Int64:
			f.SetInt(int64(*next))
		case reflect.Uint64:
			f.SetUint(uint64(*next))
		case reflect.Float32:
			f.SetFloat(float64(*next))
		case reflect.String:
			f.SetString(strings.Repeat("x", *next))
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		}
	}
}

// compare reports exported fields of a struct that another one lacks or has other values of. left has fields that need
// not be there.
func compare(t *testing.T, got, want reflect.Value, left ...string) {
	t.Helper()
	for i := range want.NumField() {
		name := want.Type().Field(i).Name
		if !want.Type().Field(i).IsExported() || slices.Contains(left, name) {
			continue
		}
		g, w := got.FieldByName(name), want.Field(i)
		if g.IsValid() && g.Kind() == reflect.Struct {
			w = reflect.Indirect(w)
		}
		switch {
		case !g.IsValid():
			t.Errorf("%v lacks the field %s of %v: add it in codegen/model, with its conversion and a line in docs/reference/package.md", got.Type(), name, want.Type())
		case g.Kind() == reflect.Struct:
			compare(t, g, w, left...)
		case g.IsZero() != w.IsZero(), g.Comparable() && g.CanConvert(w.Type()) && !g.Convert(w.Type()).Equal(w):
			t.Errorf("%v.%s is %v, want %v", got.Type(), name, g, w)
		}
	}
}

type ignored struct{}

func (ignored) Step(StepMetrics)  {}
func (ignored) Generated(Summary) {}

// TestOptionsAreComplete: all fields of package runtime's options are here, and keep their values in the conversion.
func TestOptionsAreComplete(t *testing.T) {
	next := 0
	o := Options{Logger: slog.Default(), Metrics: ignored{}, Timeline: os.Stderr, Observe: func(string, int, runtime.Array) error { return nil }}
	fill(reflect.ValueOf(&o).Elem(), &next)
	compare(t, reflect.ValueOf(o), reflect.ValueOf(o.runtime()), "Metrics", "Observe")
	if r := (Options{}).runtime(); r.Logger != nil || r.Metrics != nil || r.Observe != nil {
		t.Errorf("zero options become %+v", r)
	}

	session := &Session{&runtime.Session{}}
	g := GenerateOptions{Sampler: func(*Choice) (int32, error) { return 0, nil }, Grammar: &Grammar{}}
	fill(reflect.ValueOf(&g).Elem(), &next)
	g.Sampling.DRY.Multiplier = 0 // it would need a model
	g.Sampling.Bias = map[int32]float32{4: 2, 3: 1}
	r := g.runtime(session)
	compare(t, reflect.ValueOf(g), reflect.ValueOf(r), "Grammar", "Bias", "Breakers")
	if !reflect.DeepEqual(r.Sampling.Bias, []sample.Bias{{Token: 3, Add: 1}, {Token: 4, Add: 2}}) {
		t.Errorf("bias %v", r.Sampling.Bias)
	}
	r = GenerateOptions{}.runtime(session)
	if r.Sampler != nil || r.Grammar != nil || r.Sampling.Seed == 0 {
		t.Errorf("zero options become %+v", r)
	}
	want := sample.Defaults()
	want.Seed, want.DRY.Last = r.Sampling.Seed, program.ContextLength()
	if !reflect.DeepEqual(*r.Sampling, want) {
		t.Errorf("zero options become %+v, not %+v", *r.Sampling, want)
	}
	compare(t, reflect.ValueOf(ChatOptions{}), reflect.ValueOf(runtime.ChatOptions{}), "GenerateOptions")
}

// TestResultsAreComplete: all fields of what package runtime returns are here, with their values.
func TestResultsAreComplete(t *testing.T) {
	next := 0
	var sum runtime.Summary
	fill(reflect.ValueOf(&sum).Elem(), &next)
	compare(t, reflect.ValueOf(summaryOf(sum)), reflect.ValueOf(sum))
	var tok runtime.Token
	fill(reflect.ValueOf(&tok).Elem(), &next)
	for got, err := range tokensOf(func(yield func(runtime.Token, error) bool) { yield(tok, context.Canceled) }) {
		compare(t, reflect.ValueOf(got), reflect.ValueOf(tok))
		if err != context.Canceled {
			t.Error(err)
		}
	}
	compare(t, reflect.ValueOf(StepMetrics{}), reflect.ValueOf(runtime.StepMetrics{}))
}

// TestTheLoopEndsWhenItIsLeft: the sequence of package runtime gets no more calls.
func TestTheLoopEndsWhenItIsLeft(t *testing.T) {
	n := 0
	var seq iter.Seq2[runtime.Token, error] = func(yield func(runtime.Token, error) bool) {
		for n++; yield(runtime.Token{}, nil); n++ {
			continue
		}
	}
	for range tokensOf(seq) {
		if n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d tokens were made", n)
	}
}

// TestWordsAreTheRuntimes: the constants of strings are those of package runtime.
func TestWordsAreTheRuntimes(t *testing.T) {
	for got, want := range map[Finish]runtime.Finish{
		FinishNone: runtime.FinishNone, FinishEnd: runtime.FinishEnd, FinishStop: runtime.FinishStop, FinishLength: runtime.FinishLength,
		FinishContext: runtime.FinishContext, FinishCancelled: runtime.FinishCancelled, FinishError: runtime.FinishError, FinishBreak: runtime.FinishBreak,
	} {
		if string(got) != string(want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for got, want := range map[Pooling]runtime.Pooling{
		PoolDefault: "", PoolNone: runtime.PoolNone, PoolMean: runtime.PoolMean, PoolCLS: runtime.PoolCLS, PoolLast: runtime.PoolLast,
	} {
		if string(got) != string(want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
