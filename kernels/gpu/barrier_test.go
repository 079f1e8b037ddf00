package gpu_test

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
	"github.com/ggmlc/ggmlc/kernels/gpu/interp"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// withoutBarrier runs kernels without one of their barriers.
type withoutBarrier struct {
	simulated
	drop int            // the number of the barrier
	seen map[string]int // which barriers were left out, by where they are: 1 if that was noticed
}

// barrierLine is a barrier in the text of a kernel, with the lines around it.
var barrierLine = regexp.MustCompile(`(?m)^( *)barrier\n`)

// Run implements gputest.Machine.
func (w *withoutBarrier) Run(k *kir.Kernel, groups int, args []uint64) error {
	text := k.String()
	places := barrierLine.FindAllStringIndex(text, -1)
	if w.drop >= len(places) {
		return w.simulated.Run(k, groups, args)
	}
	at := places[w.drop]
	less, err := kir.Parse(text[:at[0]] + text[at[1]:])
	if err != nil {
		return err
	}
	where := k.Name + ": barrier after " + operation(nearest(linesBefore(text[:at[0]]))) + ", before " + operation(nearest(strings.Split(text[at[1]:], "\n")))
	if w.seen[where] > 0 {
		return errNoticed
	}
	w.seen[where] += 0
	err = w.simulated.Run(less, groups, args)
	if f, ok := errors.AsType[*interp.Fault](err); ok && (f.Kind == interp.Race || f.Kind == interp.Uninitialised) {
		w.seen[where]++
		return errNoticed
	}
	if err == nil {
		return errNotNoticed
	}
	return err
}

var (
	errNoticed    = errors.New("the missing barrier is noticed")
	errNotNoticed = errors.New("the missing barrier is not noticed")
)

// nearest returns the first line that is no constant.
func nearest(lines []string) string {
	for _, line := range lines {
		if !strings.Contains(line, " = const ") {
			return line
		}
	}
	return ""
}

func linesBefore(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	slices.Reverse(lines)
	return lines
}

// operation returns what a line does, without the numbers of values: for a store in shared memory the array too.
func operation(line string) string {
	_, what, found := strings.Cut(line, " = ")
	if !found || strings.HasPrefix(strings.TrimSpace(line), "for ") {
		what = line
	}
	var words []string
	for _, word := range strings.Fields(what) {
		if !strings.ContainsAny(word, "%{(") {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return strings.TrimSpace(line)
	}
	return strings.Join(words, " ")
}

// barrierMachines are what kernels may assume in TestEachBarrierIsNeeded.
func barrierMachines() []simulated {
	all, _ := gpu.Of("gpusim")
	var list []simulated
	for _, on := range []gpu.Machine{{}, {Caps: kir.CapSubgroup, Lanes: 32}, all} {
		list = append(list, simulated{Options: interp.Options{Subgroup: 32}, on: on})
	}
	return list
}

// TestEachBarrierIsNeeded leaves each barrier out of each kernel of all cases and of random ones. The interpreter has
// to report a race, or that a thread reads what was not written, for one of the cases that have the barrier: else the
// barrier is needless. Of an op with barriers for which no case so far does this, more random cases are drawn.
func TestEachBarrierIsNeeded(t *testing.T) {
	needtest.Slow(t, "e2e")
	const random, further = 60, 5000
	seen := make(map[string]int)
	try := func(c gputest.Case, seed uint64) {
		for _, on := range barrierMachines() {
			dropBarriers(t, c, seed, on, seen, func() (*irtest.Call, error) { return irtest.Case(c.Op, c.Case, seed%3) })
		}
	}
	for i, c := range gputest.Cases() {
		try(c, uint64(i))
	}
	for i, p := range gputest.Prompts() {
		for _, on := range append(barrierMachines(), expertsMachines(t)...) {
			dropBarriers(t, p.Case(), uint64(i), on, seen, p.Call)
		}
	}
	for seed := range uint64(random) {
		try(gputest.RandomCase(seed), seed)
	}
	for seed := uint64(random); seed < further && len(needless(seen)) > 0; seed++ {
		c := gputest.RandomCase(seed)
		if slices.ContainsFunc(needless(seen), func(where string) bool { return strings.HasPrefix(where, c.Op.String()+":") }) {
			try(c, seed)
		}
	}
	for _, where := range needless(seen) {
		t.Errorf("%s: no case needs it", where)
	}
	t.Logf("%d of %d barriers are needed", len(seen)-len(needless(seen)), len(seen))
}

// needless returns the barriers that no case has needed.
func needless(seen map[string]int) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(seen)), func(where string) bool { return seen[where] > 0 })
}

// dropBarriers runs a case without each of its barriers, in one workgroup, which so does all units one after the other.
func dropBarriers(t *testing.T, c gputest.Case, seed uint64, on simulated, seen map[string]int, build func() (*irtest.Call, error)) {
	t.Helper()
	for drop := 0; ; drop++ {
		call, err := build()
		if err != nil {
			t.Fatal(err)
		}
		on.Memory, on.Seed = interp.NewMemory(), seed
		err = gputest.Compare(t.Context(), call, &withoutBarrier{on, drop, seen}, 1, gputest.Tolerance(c, on.on))
		if err == nil || errors.Is(err, gpu.ErrNoKernel) {
			return // there are fewer barriers
		}
		if !errors.Is(err, errNoticed) && !errors.Is(err, errNotNoticed) {
			t.Errorf("%s: without barrier %d: %v", c.Name, drop, fmt.Sprint(err))
			return
		}
	}
}
