package sample

import (
	"errors"
	"fmt"
	"math"
)

// Options control the choice. The zero Options are greedy: they choose the most probable token.
type Options struct {
	Temperature   float32 // 0 is greedy; higher is more even
	TopK          int     // keep only the K most probable; 0: all
	TopP          float32 // keep only the fewest whose probabilities sum to P; 0 or 1: all
	MinP          float32 // keep only those at least MinP times as probable as the best; 0: all
	RepeatPenalty float32 // divides the odds of recent tokens; 0 or 1: none
	RepeatLast    int     // how many tokens are recent; 0: 64
	Seed          uint64  // of the draws
}

// defaultRepeatLast is llama.cpp's repeat_last_n.
const defaultRepeatLast = 64

// ErrNumerics means that the logits contain NaN, or no finite number.
var ErrNumerics = errors.New("the logits hold NaN or no finite number: the weights or the state are damaged")

// Check reports every option that is out of range.
func (o Options) Check() error {
	var errs []error
	demand := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	demand(o.Temperature >= 0 && !math.IsInf(float64(o.Temperature), 0), "temperature %v: it must be 0 (greedy) or more", o.Temperature)
	demand(o.TopK >= 0, "top-k %d: it must be 0 (all) or more", o.TopK)
	demand(o.TopP >= 0 && o.TopP <= 1, "top-p %v: it must be between 0 and 1", o.TopP)
	demand(o.MinP >= 0 && o.MinP <= 1, "min-p %v: it must be between 0 and 1", o.MinP)
	demand(o.RepeatPenalty >= 0 && !math.IsInf(float64(o.RepeatPenalty), 0), "repeat penalty %v: it must be a finite number from 0 on (0 and 1 are none)", o.RepeatPenalty)
	demand(o.RepeatLast >= 0 && o.RepeatLast <= 1<<20, "repeat window %d: it must be between 0 and 2^20", o.RepeatLast)
	return errors.Join(errs...)
}
