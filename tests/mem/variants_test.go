package mem_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/passes/mem"
)

var all = flag.Bool("all", false, "variants of all public problems, of which some are searched for ten seconds")

// variantTime is how long the search for a variant may take.
const variantTime = 10 * time.Second

// TestVariantsArePacked packs public problems mirrored in time, and with an eighth of the buffers cut in two: they fit
// whenever the problem does. Those of C are packed with the steps of TestMiniMallocProblemsFitTheirCapacity; -all takes
// ten seconds for each variant of each problem and reports how many are packed.
func TestVariantsArePacked(t *testing.T) {
	for _, file := range problems(t) {
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		if name != "C" && !*all {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := read(t, file)
			packed := 0
			list := []mem.Problem{mirrored(p), cut(p, 1, inTime), cut(p, 2, inTime), cut(p, 3, inSize), cut(p, 4, inSize)}
			for i, v := range list {
				start := time.Now()
				ok := packVariant(t, v, capacityOf(t, file))
				if ok {
					packed++
				} else if !*all {
					t.Errorf("variant %d is not packed", i)
				}
				t.Logf("variant %d: %d buffers, packed: %v, %v", i, len(v.Buffers), ok, time.Since(start).Round(time.Millisecond))
			}
			t.Logf("%d of %d variants packed", packed, len(list))
		})
	}
}

// packVariant reports whether p is packed within its steps or its time.
func packVariant(t *testing.T, p mem.Problem, capacity int64) bool {
	ctx, opts := t.Context(), mem.Options{Capacity: capacity, MaxSteps: steps}
	if *all {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, variantTime)
		defer cancel()
		opts.MaxSteps = math.MaxInt64
	}
	s, _, err := mem.Solve(ctx, p, opts)
	if _, tooHigh := errors.AsType[*mem.CapacityError](err); tooHigh || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if err == nil {
		err = p.Validate(s, capacity)
	}
	if err != nil {
		t.Error(err)
	}
	return err == nil
}

// mirrored returns p with time running backwards.
func mirrored(p mem.Problem) mem.Problem {
	var end int64
	for _, b := range p.Buffers {
		end = max(end, b.Upper)
	}
	var out mem.Problem
	for _, b := range p.Buffers {
		b.Lower, b.Upper = end-b.Upper, end-b.Lower
		out.Buffers = append(out.Buffers, b)
	}
	return out
}

// inTime and inSize cut b in two at a random place, if it is long enough.
func inTime(b mem.Buffer, rng *rand.Rand) (first, second mem.Buffer) {
	first, second = b, b
	if length := b.Upper - b.Lower; length > 1 {
		first.Upper = b.Lower + 1 + rng.Int64N(length-1)
	}
	second.Lower = first.Upper
	return first, second
}

func inSize(b mem.Buffer, rng *rand.Rand) (first, second mem.Buffer) {
	first, second = b, b
	if b.Size > 1 {
		first.Size = 1 + rng.Int64N(b.Size-1)
	}
	second.Size = b.Size - first.Size
	return first, second
}

// cut returns p with an eighth of its buffers in two pieces.
func cut(p mem.Problem, seed uint64, by func(mem.Buffer, *rand.Rand) (first, second mem.Buffer)) mem.Problem {
	rng := rand.New(rand.NewPCG(seed, 8))
	var out mem.Problem
	for _, b := range p.Buffers {
		pieces := []mem.Buffer{b}
		if rng.IntN(8) == 0 {
			if first, second := by(b, rng); second.Size > 0 && second.Lower < second.Upper {
				pieces = []mem.Buffer{first, second}
			}
		}
		for i, piece := range pieces {
			piece.ID = fmt.Sprint(b.ID, ".", i)
			out.Buffers = append(out.Buffers, piece)
		}
	}
	return out
}
