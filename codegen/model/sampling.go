package model

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/sample"
)

//api:if language

// Sampling is how tokens are chosen. The zero Sampling takes the most probable one. The stages, their order and their
// defaults are those of llama.cpp; its command line begins with a temperature of 0.8, TopK 40, TopP 0.95 and MinP 0.05.
type Sampling struct {
	Temperature float32 // 0 takes the most probable token; higher is more even
	TopK        int     // keep only the K most probable; 0: all
	TopP        float32 // keep only the fewest whose probabilities sum to P; 0 or 1: all
	MinP        float32 // keep only those at least MinP times as probable as the best; 0: all
	Seed        uint64  // of the draws; 0: another one each time, which Summary has

	// RepeatPenalty divides the odds of recent tokens; 0 or 1: none. FrequencyPenalty is subtracted from the logit of a
	// recent token once for each time that it occurs, PresencePenalty once.
	RepeatPenalty    float32
	FrequencyPenalty float32
	PresencePenalty  float32
	RepeatLast       int // how many tokens are recent; 0: 64

	// TopNSigma keeps only tokens whose logit is at most that many standard deviations below the largest; 0: all.
	// Typical keeps only the fewest of typical information whose probabilities sum to P; 0 or 1: all.
	TopNSigma float32
	Typical   float32

	// With XTCProbability, a draw leaves out the tokens that have XTCThreshold or more, but for the least probable of
	// them. A threshold of 0 is 0.1.
	XTCProbability float32
	XTCThreshold   float32

	// The temperature is between Temperature-DynamicRange and Temperature+DynamicRange: it grows with the entropy's
	// share of its maximum to the power of DynamicExponent (0: 1).
	DynamicRange    float32
	DynamicExponent float32

	// Mirostat 1 or 2 draws so that the information of tokens is MirostatTau bits on average (0: 5), with the learning
	// rate MirostatEta (0: 0.1). Of the other fields, only Temperature, Bias and Seed have an effect then.
	Mirostat    int
	MirostatTau float32
	MirostatEta float32

	Bias map[int32]float32 // added to the logits of ids; minus infinity excludes one
	DRY  DRY
}

// DRY lowers the logits of tokens that would continue a repetition of L tokens by Multiplier * Base^(L-Allowed).
type DRY struct {
	Multiplier float32 // 0: off
	Base       float32 // 0: 1.75
	Allowed    int     // length of the shortest repetition with a penalty; 0: 2
	Last       int     // how many tokens are recent; 0: all of the context

	// Breakers are texts that a repetition does not reach across; nil is a newline, a colon, a quote and an asterisk.
	// Without a tokenizer there are none.
	Breakers []string
}

// runtime returns the options as package sample has them, for a session. There, 0 means 0: fields of 0 get the value
// that their comment has for it.
func (o Sampling) runtime(s *Session) sample.Options {
	d := sample.Defaults()
	r := sample.Options{
		Temperature: o.Temperature, TopK: o.TopK, TopP: cmp.Or(o.TopP, d.TopP), MinP: o.MinP, Seed: runtime.AnySeed(o.Seed),
		RepeatPenalty: cmp.Or(o.RepeatPenalty, d.RepeatPenalty), FrequencyPenalty: o.FrequencyPenalty, PresencePenalty: o.PresencePenalty,
		RepeatLast: cmp.Or(o.RepeatLast, d.RepeatLast),
		TopNSigma:  o.TopNSigma, Typical: cmp.Or(o.Typical, d.Typical),
		XTCProbability: o.XTCProbability, XTCThreshold: cmp.Or(o.XTCThreshold, d.XTCThreshold),
		DynamicRange: o.DynamicRange, DynamicExponent: cmp.Or(o.DynamicExponent, d.DynamicExponent),
		Mirostat: o.Mirostat, MirostatTau: cmp.Or(o.MirostatTau, d.MirostatTau), MirostatEta: cmp.Or(o.MirostatEta, d.MirostatEta),
		DRY: sample.DRY{
			Multiplier: o.DRY.Multiplier, Base: cmp.Or(o.DRY.Base, d.DRY.Base), Allowed: cmp.Or(o.DRY.Allowed, d.DRY.Allowed),
			Last: cmp.Or(o.DRY.Last, min(program.ContextLength(), sample.MaxLast)),
		},
	}
	for _, id := range slices.Sorted(maps.Keys(o.Bias)) {
		r.Bias = append(r.Bias, sample.Bias{Token: id, Add: o.Bias[id]})
	}
	s.s.AddBreakers(&r.DRY, o.DRY.Breakers)
	return r
}

//api:end
