package runtime

import (
	"errors"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// observedToy is the toy with its logits observed under another name.
func observedToy() *Program {
	p := toyProgram()
	for i := range p.Funcs {
		f := &p.Funcs[i]
		f.Observed = []Observed{{Names: []string{"sum"}, Type: dtype.F32, Dims: f.Outputs[0].Dims}}
		f.Run = func(w *Worker, a *Args) {
			toyStep(w, a)
			w.Barrier()
			if w.Part == 0 {
				w.Observe(a, 0, 0, unsafe.Add(a.IO, toyLogits))
			}
		}
	}
	return p
}

// layersToy is the toy with two observed values before its work: one for each of three layers, and their number. Its
// layers count how often they begin.
func layersToy(begun *[toyLayers]atomic.Int32) *Program {
	p := toyProgram()
	for i := range p.Funcs {
		f := &p.Funcs[i]
		f.Observed = []Observed{
			{Names: []string{"first", "second", "third"}, Type: dtype.F32, Dims: []Dim{{Const: 2}}},
			{Names: []string{"tokens"}, Type: dtype.I32, Dims: []Dim{{Sym: 0, Scale: 1}}},
		}
		f.Run = func(w *Worker, a *Args) {
			for l := range toyLayers {
				w.Barrier()
				begun[l].Add(1)
				if w.Part == 0 {
					values := [2]float32{float32(l), float32(l * l)}
					w.Observe(a, 0, l, unsafe.Pointer(&values))
				}
			}
			if w.Part == 0 {
				w.Observe(a, 1, 0, unsafe.Add(a.IO, toyTokens))
			}
			w.Barrier()
			toyStep(w, a)
		}
	}
	return p
}

// TestValuesAreHandedOutInTheirOrder has a value in a loop: each iteration has its own name.
func TestValuesAreHandedOutInTheirOrder(t *testing.T) {
	var begun [toyLayers]atomic.Int32
	var names []string
	_, s := openProgram(t, layersToy(&begun), Options{Threads: 2, Observe: func(node string, _ int, v Array) error {
		if l := len(names); l < toyLayers {
			if got, want := unsafeFloats(v.Data), []float32{float32(l), float32(l * l)}; !slices.Equal(got, want) || begun[l].Load() == 0 {
				t.Errorf("%s is %v, want %v", node, got, want)
			}
		} else if got := unsafe.Slice((*int32)(unsafe.Pointer(&v.Data[0])), v.Shape[0]); !slices.Equal(got, []int32{4, 5}) {
			t.Errorf("%s is %v, want the tokens 4 and 5", node, got)
		}
		names = append(names, node)
		return nil
	}})
	if _, err := s.Prefill(t.Context(), []int32{4, 5}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"first", "second", "third", "tokens"}; !slices.Equal(names, want) {
		t.Errorf("%v are handed out, want %v", names, want)
	}
}

// TestObserversErrorEndsTheStepThere: after the error nothing is handed out, and no worker goes past the next barrier.
func TestObserversErrorEndsTheStepThere(t *testing.T) {
	for threads := 1; threads <= 3; threads++ {
		var begun [toyLayers]atomic.Int32
		stop := errors.New("seen enough")
		var names []string
		refuse := "second"
		_, s := openProgram(t, layersToy(&begun), Options{Threads: threads, Observe: func(node string, _ int, _ Array) error {
			names = append(names, node)
			if node == refuse {
				return stop
			}
			return nil
		}})
		tokens := []int32{1, 2, 3}
		if _, err := s.Prefill(t.Context(), tokens); err != stop || s.Len() != 0 {
			t.Errorf("%d threads: error %v, %d positions filled, want the observer's error and 0", threads, err, s.Len())
		}
		if !slices.Equal(names, []string{"first", "second"}) || begun[2].Load() != 0 {
			t.Errorf("%d threads: %v are handed out, and the third layer has begun %d times", threads, names, begun[2].Load())
		}
		refuse = ""
		if got, err := s.Prefill(t.Context(), tokens); err != nil || !slices.Equal(got, toyWant(tokens)) {
			t.Errorf("%d threads: after the error: %v, %v", threads, got, err)
		}
	}
}

// TestObserversPanicIsTheCallers: a panic of the observer reaches the caller of the step with its value, and one that
// ends the goroutine ends it. The other workers leave the step, so that the next one runs.
func TestObserversPanicIsTheCallers(t *testing.T) {
	for threads := 1; threads <= 3; threads++ {
		var begun [toyLayers]atomic.Int32
		var act func()
		m, s := openProgram(t, layersToy(&begun), Options{Threads: threads, Observe: func(node string, _ int, _ Array) error {
			if node == "second" {
				act()
			}
			return nil
		}})
		for what, fails := range map[string]func(){"panic": func() { panic("of the observer") }, "Goexit": goruntime.Goexit} {
			act = fails
			done := make(chan any)
			go func() {
				defer func() { done <- recover() }()
				_, err := s.Prefill(t.Context(), []int32{1, 2, 3})
				t.Errorf("%s, %d threads: the call returns, with error %v", what, threads, err)
			}()
			if v := <-done; (v == "of the observer") != (what == "panic") {
				t.Errorf("%s, %d threads: the caller recovers %v", what, threads, v)
			}
			act = func() {}
			next, err := m.NewSession()
			if err != nil {
				t.Fatal(err)
			}
			got, err := next.Prefill(t.Context(), []int32{1, 2, 3})
			if err != nil || !slices.Equal(got, toyWant([]int32{1, 2, 3})) {
				t.Errorf("after a %s, %d threads: %v, %v", what, threads, got, err)
			}
			s = next
		}
	}
}

// TestProgramsWithWrongTablesOfObservedValuesAreRefused has a value without a name, and one over a size that the
// program does not have.
func TestProgramsWithWrongTablesOfObservedValuesAreRefused(t *testing.T) {
	for what, change := range map[string]func(o *Observed){
		"no name": func(o *Observed) { o.Names = nil },
		"no type": func(o *Observed) { o.Type = dtype.Invalid },
		"no size": func(o *Observed) { o.Dims = []Dim{{Sym: 7, Scale: 1}} },
	} {
		p := observedToy()
		change(&p.Funcs[0].Observed[0])
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: the program is opened", what)
				}
			}()
			p.check()
		}()
	}
}

// TestObserverGetsValuesOfEachStep has a prompt of two chunks and a decoded token.
func TestObserverGetsValuesOfEachStep(t *testing.T) {
	tokens := []int32{5, 9, 1, 30, 2, 2, 7, 8, 4, 3}
	var steps []int
	var last []float32
	_, s := openProgram(t, observedToy(), Options{Threads: 2, Observe: func(node string, step int, v Array) error {
		if node != "sum" || !slices.Equal(v.Shape, []int{1, toyVocab}) || v.Type != dtype.F32 {
			t.Errorf("%s of %v and the shape %v", node, v.Type, v.Shape)
		}
		last = slices.Clone(unsafeFloats(v.Data))
		steps = append(steps, step)
		return nil
	}})
	if _, err := s.Prefill(t.Context(), tokens); err != nil {
		t.Fatal(err)
	}
	if want := toyWant(tokens); !slices.Equal(last, want) {
		t.Errorf("observed %v, want %v", last, want)
	}
	if _, err := s.Decode(t.Context(), 6); err != nil {
		t.Fatal(err)
	}
	if want := toyWant(append(tokens, 6)); !slices.Equal(last, want) {
		t.Errorf("after decode: observed %v, want %v", last, want)
	}
	if !slices.Equal(steps, []int{0, 1, 2}) {
		t.Errorf("steps %v, want 0 to 2", steps)
	}
}

func unsafeFloats(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	copy(raw(v), b)
	return v
}

// TestObserversErrorFailsTheStep runs the same tokens again after the error.
func TestObserversErrorFailsTheStep(t *testing.T) {
	stop := errors.New("seen enough")
	answer := stop
	_, s := openProgram(t, observedToy(), Options{Threads: 1, Observe: func(string, int, Array) error { return answer }})
	if _, err := s.Prefill(t.Context(), []int32{1, 2, 3}); !errors.Is(err, stop) || s.Len() != 0 {
		t.Errorf("error %v, %d positions filled, want %v and 0", err, s.Len(), stop)
	}
	answer = nil
	got, err := s.Prefill(t.Context(), []int32{1, 2, 3})
	if err != nil || !slices.Equal(got, toyWant([]int32{1, 2, 3})) {
		t.Errorf("after the error: %v, %v", got, err)
	}
}

func TestProgramsWithoutObservedValuesRefuseObservers(t *testing.T) {
	_, err := Open(toyProgram(), Options{Observe: func(string, int, Array) error { return nil }})
	if !errors.Is(err, ErrInput) {
		t.Errorf("error %v, want one of input", err)
	}
	if status, _, errs := invoke(toyProgram(), "--tokens", "1", "--observe-to", t.TempDir()); status != exitUsage {
		t.Errorf("--observe-to: status %d, %s", status, errs)
	}
}

// TestObserveToWritesAFolderForEachStep reads the files back.
func TestObserveToWritesAFolderForEachStep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if status, _, errs := invoke(observedToy(), "--tokens", "3,4", "-n", "2", "--temp", "0", "--json", "--observe-to", dir); status != 0 {
		t.Fatalf("status %d, %s", status, errs)
	}
	index, err := os.ReadFile(filepath.Join(dir, "000000", "index.tsv"))
	want := "func\t\"prefill\"\t\nsize\t\"tokens\"\t2\nsize\t\"kv\"\t2\ninput\t\"tokens\"\ttokens.npy\ninput\t\"pos\"\tpos.npy\nvalue\t\"sum\"\tsum.npy\n"
	if err != nil || string(index) != want {
		t.Errorf("index\n%swant\n%s(error %v)", index, want, err)
	}
	a, err := readArray(filepath.Join(dir, "000000", "sum.npy"), dtype.F32)
	if err != nil || !slices.Equal(unsafeFloats(a.Data), toyWant([]int32{3, 4})) {
		t.Errorf("sum.npy: %v, error %v", a, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "000001", "index.tsv")); err != nil {
		t.Error(err)
	}
	file := filepath.Join(dir, "000000", "sum.npy")
	if status, _, _ := invoke(observedToy(), "--tokens", "3,4", "--observe-to", file); status != exitFailed {
		t.Errorf("a folder that cannot be made: status %d, want %d", status, exitFailed)
	}
}

// TestObserveToForgetsAnEarlierRun writes the values of a shorter run to the folder of a longer one, and then those of a
// run whose step does not end.
func TestObserveToForgetsAnEarlierRun(t *testing.T) {
	dir := t.TempDir()
	for i, want := range []string{"000000 000001", "000000", ""} {
		args := []string{"--tokens", "3,4", "-n", strconv.Itoa(2 - min(i, 1)), "--temp", "0", "--observe-to", dir}
		if i == 2 { // the value cannot be written
			file := filepath.Join(dir, "000000", "sum.npy")
			if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o777)); err != nil {
				t.Fatal(err)
			}
		}
		if status, _, errs := invoke(observedToy(), args...); (status == 0) != (i < 2) {
			t.Fatalf("run %d: status %d, %s", i, status, errs)
		}
		steps, err := filepath.Glob(filepath.Join(dir, "*", "index.tsv"))
		for k, path := range steps {
			steps[k] = filepath.Base(filepath.Dir(path))
		}
		if got := strings.Join(steps, " "); err != nil || got != want {
			t.Errorf("run %d: the steps %q have an index, want %q (error %v)", i, got, want, err)
		}
	}
}

// TestObserversErrorEndsAPrompt: no step begins after the one whose value the observer has refused.
func TestObserversErrorEndsAPrompt(t *testing.T) {
	stop := errors.New("seen enough")
	calls := 0
	_, s := openProgram(t, observedToy(), Options{Threads: 2, Observe: func(string, int, Array) error {
		calls++
		return stop
	}})
	prompt := []int32{5, 9, 1, 30, 2, 2, 7, 8, 4, 3} // two chunks
	if _, err := s.Prefill(t.Context(), prompt); !errors.Is(err, stop) || calls != 1 || s.Len() != 0 {
		t.Errorf("error %v after %d calls, %d positions filled, want %v, 1 and 0", err, calls, s.Len(), stop)
	}
}

// TestSessionsAreObservedOneAtATime runs two sessions at once. The observer refuses the values of one of them.
func TestSessionsAreObservedOneAtATime(t *testing.T) {
	const rounds = 20
	stop := errors.New("seen enough")
	own, other := []int32{5, 9, 1}, []int32{7, 8, 4, 3}
	refused := toyWant(other)
	var inside atomic.Int32
	var steps []int
	m, first := openProgram(t, observedToy(), Options{Threads: 2, Observe: func(_ string, step int, v Array) error {
		if inside.Add(1) != 1 {
			t.Error("two calls at once")
		}
		defer inside.Add(-1)
		steps = append(steps, step)
		if slices.Equal(unsafeFloats(v.Data), refused) {
			return stop
		}
		return nil
	}})
	second, err := m.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for range rounds {
			if got, err := first.Prefill(t.Context(), own); err != nil || !slices.Equal(got, toyWant(own)) {
				t.Errorf("the first session: %v, error %v", got, err)
			}
			first.Reset()
		}
	})
	wg.Go(func() {
		for range rounds {
			if _, err := second.Prefill(t.Context(), other); !errors.Is(err, stop) || second.Len() != 0 {
				t.Errorf("the second session: error %v, %d positions", err, second.Len())
			}
		}
	})
	wg.Wait()
	for i, step := range steps {
		if step != i {
			t.Fatalf("steps %v, want 0 to %d in turn", steps, 2*rounds-1)
		}
	}
	if len(steps) != 2*rounds {
		t.Errorf("%d calls, want %d", len(steps), 2*rounds)
	}
}
