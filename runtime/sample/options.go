package sample

import (
	"errors"
	"fmt"
	"math"
)

// Options control the choice. Each value means what it does in llama.cpp (common/common.h, common_params_sampling), 0
// included. [Defaults] has the defaults; the zero Options are an error.
type Options struct {
	Temperature float32 // 0 is greedy; higher is more even
	TopK        int     // keep only the K most probable; 0: all
	TopP        float32 // keep only the fewest whose probabilities sum to P, and at least one; 1: all
	MinP        float32 // keep only those at least MinP times as probable as the best; 0: all
	Seed        uint64  // of the draws

	// RepeatPenalty divides the odds of recent tokens; 1: none. FrequencyPenalty is subtracted from the logit of a recent
	// token once for each time that it occurs, PresencePenalty once.
	RepeatPenalty    float32
	FrequencyPenalty float32
	PresencePenalty  float32
	RepeatLast       int // how many tokens are recent; 0: none, which turns the three penalties off

	// TopNSigma keeps only tokens whose logit is at most that many standard deviations of all logits below the largest;
	// 0: all. Typical keeps only the fewest whose probabilities sum to more than P, in order of the difference between a
	// token's information and the entropy: at least one; 1: all.
	TopNSigma float32
	Typical   float32

	// With XTCProbability, a draw leaves out the tokens that have XTCThreshold or more, but for the least probable of
	// them. With a threshold of 0, only the least probable candidate remains; above 0.5, two tokens cannot have it.
	XTCProbability float32
	XTCThreshold   float32

	// The temperature is between Temperature-DynamicRange and Temperature+DynamicRange, but at least 0: it grows with
	// the entropy's share of its maximum to the power of DynamicExponent. With 0 it is the highest always. The maximum is that of the
	// tokens that are left; llama.cpp counts those that TopNSigma left out, too.
	DynamicRange    float32
	DynamicExponent float32

	// Mirostat 1 or 2 draws so that the information of tokens is MirostatTau bits on average, with the learning rate
	// MirostatEta. Of the other options, only Temperature, Bias and Seed have an effect then.
	Mirostat    int
	MirostatTau float32
	MirostatEta float32

	// Bias is added to logits. Minus infinity excludes a token.
	Bias []Bias

	DRY DRY
}

// Defaults returns the options that choose the most probable token. All filters and penalties are off; what else they
// have is as in llama.cpp. DRY, once it has a multiplier, covers 4096 tokens.
func Defaults() Options {
	return Options{
		TopP: 1, Typical: 1, RepeatPenalty: 1, RepeatLast: 64,
		XTCThreshold: 0.1, DynamicExponent: 1, MirostatTau: 5, MirostatEta: 0.1,
		DRY: DRY{Base: 1.75, Allowed: 2, Last: 4096},
	}
}

// Bias changes the logit of a token.
type Bias struct {
	Token int32
	Add   float32
}

// DRY ("don't repeat yourself") lowers the logits of tokens that would continue a repetition: if the last L tokens are
// also elsewhere among the recent ones, the token after them there loses Multiplier * Base^(L-Allowed), if L is at
// least Allowed. The method is that of oobabooga/text-generation-webui, pull request 5677.
type DRY struct {
	Multiplier float32 // 0: off
	Base       float32 // at least 1
	Allowed    int     // length of the shortest repetition with a penalty; 0: all recent tokens have one
	Last       int     // how many tokens are recent; 0: off
	Breakers   []Breaker
}

// Breaker is a sequence of tokens that a repetition does not reach across.
type Breaker struct {
	Head int32
	Tail []int32
}

// MaxLast is the largest number of recent tokens.
const MaxLast = 1 << 20

// Check reports every option that is out of range.
func (o Options) Check() error {
	var c checks
	c.demand(finite(o.Temperature) && o.Temperature >= 0, "temperature %v: it must be 0 (greedy) or a finite number above it", o.Temperature)
	c.demand(o.TopK >= 0, "top-k %d: it must be 0 (all) or more", o.TopK)
	c.share(o.TopP, "top-p")
	c.share(o.MinP, "min-p")
	c.demand(o.RepeatPenalty > 0 && finite(o.RepeatPenalty), "repeat penalty %v: it must be a finite number above 0 (1 is none)", o.RepeatPenalty)
	c.demand(finite(o.FrequencyPenalty), "frequency penalty %v: it must be a finite number", o.FrequencyPenalty)
	c.demand(finite(o.PresencePenalty), "presence penalty %v: it must be a finite number", o.PresencePenalty)
	c.demand(o.RepeatLast >= 0 && o.RepeatLast <= MaxLast, "repeat window %d: it must be between 0 and 2^20", o.RepeatLast)
	c.demand(o.TopNSigma >= 0 && finite(o.TopNSigma), "top-n-sigma %v: it must be 0 (all) or a finite number above it", o.TopNSigma)
	c.share(o.Typical, "typical")
	c.share(o.XTCProbability, "xtc probability")
	c.share(o.XTCThreshold, "xtc threshold")
	c.demand(o.DynamicRange >= 0 && finite(o.DynamicRange), "dynamic temperature range %v: it must be 0 (off) or a finite number above it", o.DynamicRange)
	c.demand(o.DynamicExponent >= 0 && finite(o.DynamicExponent), "dynamic temperature exponent %v: it must be a finite number from 0 on", o.DynamicExponent)
	c.demand(o.Mirostat >= 0 && o.Mirostat <= 2, "mirostat %d: it must be 0 (off), 1 or 2", o.Mirostat)
	c.demand(o.Mirostat == 0 || o.Temperature > 0, "mirostat %d: it draws, which needs a temperature above 0", o.Mirostat)
	c.demand(o.MirostatTau >= 0 && finite(o.MirostatTau), "mirostat entropy %v: it must be a finite number from 0 on", o.MirostatTau)
	c.share(o.MirostatEta, "mirostat rate")
	o.DRY.check(&c)
	return errors.Join(c.errs...)
}

func (d *DRY) check(c *checks) {
	c.demand(d.Multiplier >= 0 && finite(d.Multiplier), "dry multiplier %v: it must be 0 (off) or a finite number above it", d.Multiplier)
	c.demand(d.Base >= 1 && finite(d.Base), "dry base %v: it must be a finite number, 1 or more", d.Base)
	c.demand(d.Allowed >= 0, "dry allowed length %d: it must be 0 or more", d.Allowed)
	c.demand(d.Last >= 0 && d.Last <= MaxLast, "dry window %d: it must be between 0 and 2^20", d.Last)
}

// CheckFor is Check, and reports tokens that are not in a vocabulary of that size.
func (o Options) CheckFor(vocab int) error {
	c := checks{[]error{o.Check()}}
	for _, b := range o.Bias {
		c.demand(b.Token >= 0 && int(b.Token) < vocab, "bias of token %d: the vocabulary has tokens 0 to %d", b.Token, vocab-1)
		c.demand(b.Add < float32(math.Inf(1)), "bias %v of token %d: it must be a number below infinity", b.Add, b.Token)
	}
	return errors.Join(c.errs...)
}

// checks collects errors.
type checks struct{ errs []error }

func (c *checks) demand(ok bool, format string, args ...any) {
	if !ok {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

func (c *checks) share(x float32, name string) {
	c.demand(x >= 0 && x <= 1, "%s %v: it must be between 0 and 1", name, x)
}

func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

// penalises reports whether recent tokens have penalties of their own.
func (o *Options) penalises() bool {
	return o.RepeatPenalty != 1 || o.FrequencyPenalty != 0 || o.PresencePenalty != 0
}

// greedy reports whether the largest logit is the choice. The filters never drop it, but for Typical and XTC.
func (o *Options) greedy() bool {
	return o.Temperature == 0 && o.DynamicRange == 0 && o.Typical == 1 && o.XTCProbability == 0
}

// remembered returns how many of the last tokens options need.
func (o *Options) remembered() int {
	n := 0
	if o.Mirostat != 0 {
		return n
	}
	if o.penalises() {
		n = o.RepeatLast
	}
	if o.DRY.Multiplier != 0 {
		n = max(n, o.DRY.Last)
	}
	return n
}
