package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ggmlc/ggmlc/kernels/cpu"
)

// benchCommand measures prompts and generation, and between them the machine.
type benchCommand struct {
	*cli
	p, n, repeats int
	depth         int // positions that are filled before what is measured

	repeated []benchRepeat
}

// benchRepeat is what was measured beside each other.
type benchRepeat struct {
	prefill, decode float64 // tokens/s
	gops            float64 // 10^9 operations/s
	gbs             float64 // 10^9 bytes/s, read in turns with the tokens of decode
}

func (c *cli) bench() func(context.Context) error {
	b := &benchCommand{cli: c, p: 512, n: 64, repeats: 5}
	c.flags.number(&b.p, "p", "N", "tokens of the prompt (default: 512, or the context)", 1)
	c.flags.number(&b.n, "n", "N", "tokens to generate (default: 64, or the context)", 1)
	c.flags.number(&b.depth, "d", "DEPTH", "positions before those that are measured (default: 0)", 0)
	c.flags.number(&b.repeats, "r", "REPEATS", "repeats, of which the median counts (default: 5)", 1)
	c.flags.on(&c.json, "json", "as one JSON object")
	c.modelFlags()
	return b.run
}

func (b *benchCommand) run(ctx context.Context) error {
	lm := b.program.LM
	if lm == nil {
		return usagef("%s is no language model: there is nothing to measure by tokens", b.program.Name)
	}
	if b.depth >= lm.Context {
		return usagef("-d %d: nothing can be measured behind that many positions of %d: take fewer", b.depth, lm.Context)
	}
	b.p, b.n = min(b.p, lm.Context-b.depth), min(b.n, lm.Context-b.depth)
	s, closeModel, err := b.open()
	if err != nil {
		return err
	}
	if err := b.measure(ctx, s); err != nil {
		return errors.Join(err, closeModel())
	}
	return errors.Join(b.report(s.Model()), closeModel())
}

// measure interleaves everything, so that what disturbs the machine disturbs all alike.
// A first round that does not count touches all pages.
func (b *benchCommand) measure(ctx context.Context, s *Session) error {
	if err := b.fill(ctx, s); err != nil {
		return err
	}
	machine := newPeak(s.Model().pool)
	for i := range b.repeats + 1 {
		r, err := b.repeat(ctx, s, machine)
		if err != nil {
			return err
		}
		if i > 0 {
			b.repeated = append(b.repeated, r)
		}
	}
	return nil
}

func (b *benchCommand) repeat(ctx context.Context, s *Session, machine *peak) (r benchRepeat, err error) {
	if r.decode, r.gbs, err = b.generateOnce(ctx, s, machine); err != nil {
		return r, err
	}
	if r.gops, err = machine.gops(ctx, b.program.LM.Peak); err != nil {
		return r, err
	}
	r.prefill, err = b.promptOnce(ctx, s)
	return r, err
}

// fill runs a prompt of the depth.
func (b *benchCommand) fill(ctx context.Context, s *Session) error {
	if b.depth == 0 {
		return nil
	}
	_, err := s.Prefill(ctx, b.tokens(b.depth))
	return err
}

// tokens returns the first n tokens of any sequence here.
func (b *benchCommand) tokens(n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = benchToken(i, b.program.LM.Vocab)
	}
	return tokens
}

// promptOnce runs a prompt behind the depth, in tokens per second.
func (b *benchCommand) promptOnce(ctx context.Context, s *Session) (float64, error) {
	if err := s.Truncate(b.depth); err != nil {
		return 0, err
	}
	tokens := b.tokens(b.p)
	begin := time.Now()
	_, err := s.Prefill(ctx, tokens)
	return rate(b.p, time.Since(begin)), err
}

// readEvery is how long generation goes on between two reads of memory: shorter than memory
// keeps its speed where other machines share it, and long beside what such a read costs the
// tokens behind it, whose activations it drives out of caches.
const readEvery = 50 * time.Millisecond

// generateOnce decodes behind the depth, in tokens/s. The tokens are given: choosing them is
// no part of the model. In turns with runs of tokens it only reads memory, in GB/s, which is
// what the rate is compared with: the machine at the same time.
func (b *benchCommand) generateOnce(ctx context.Context, s *Session, machine *peak) (rate, gbs float64, err error) {
	if err := s.Truncate(b.depth); err != nil {
		return 0, 0, err
	}
	var took time.Duration
	var reads [2]time.Duration
	times := 0.0
	for i := 0; i < b.n; times++ {
		run := time.Now()
		for ; i < b.n && time.Since(run) < readEvery; i++ {
			if _, err := s.Decode(ctx, benchToken(i, b.program.LM.Vocab)); err != nil {
				return 0, 0, err
			}
		}
		took += time.Since(run)
		if err := machine.read(ctx, &reads); err != nil {
			return 0, 0, err
		}
	}
	return float64(b.n) / took.Seconds(), times * machine.bytes() / min(reads[0], reads[1]).Seconds() / 1e9, nil
}

// benchToken is an arbitrary id that depends on nothing but its position.
func benchToken(i, vocab int) int32 { return int32((i*7919 + 1) % vocab) }

// median is that of a figure over all repeats.
func (b *benchCommand) median(figure func(r benchRepeat) float64) float64 {
	var v []float64
	for _, r := range b.repeated {
		v = append(v, figure(r))
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func (b *benchCommand) report(m *Model) error {
	lm := b.program.LM
	chunks := float64((b.p + lm.Batch - 1) / lm.Batch)
	opsPerToken := lm.PrefillOpsPerToken + lm.PrefillOpsPerStep*chunks/float64(b.p)
	prefill := b.median(func(r benchRepeat) float64 { return r.prefill })
	decode := b.median(func(r benchRepeat) float64 { return r.decode })
	gops := b.median(func(r benchRepeat) float64 { return r.gops })
	gbs := b.median(func(r benchRepeat) float64 { return r.gbs })
	prefillShare := b.median(func(r benchRepeat) float64 { return r.prefill * opsPerToken / r.gops / 1e9 })
	decodeShare := b.median(func(r benchRepeat) float64 { return r.decode * lm.DecodeBytes / r.gbs / 1e9 })
	if b.json {
		line := []byte("{")
		line = appendFields(line, field{"prefill_tok_s", prefill}, field{"decode_tok_s", decode},
			field{"prefill_share", prefillShare}, field{"decode_share", decodeShare}, field{"peak_gop_s", gops}, field{"read_gb_s", gbs})
		line = append(line[:1], line[2:]...) // the first comma
		_, err := b.out.Write(append(line, '}', '\n'))
		return err
	}
	step := &b.program.Funcs[lm.Decode]
	_, err := fmt.Fprintf(b.out, "%s: %s kernels, %d threads, behind %d positions, medians of %d\n"+
		"prefill %6d tokens %12.1f tok/s  %5.2f of %.0f GOP/s (%s)\n"+
		"decode  %6d tokens %12.1f tok/s  %5.2f of %.1f GB/s\n"+
		"decode step: %d nodes, %d barriers, %.1f MB of weights%s\n",
		b.program.Name, cpu.Active(), m.Threads(), b.depth, b.repeats,
		b.p, prefill, prefillShare, gops, lm.Peak, b.n, decode, decodeShare, gbs, step.Nodes, step.Barriers, lm.DecodeBytes/1e6, cacheNote(lm.DecodeBytes))
	return err
}

// cacheNote warns where decode's share compares with the wrong thing: the probe reads
// memory, and weights of this size stay in a processor's cache.
func cacheNote(weights float64) string {
	const cache = 32e6 // bytes; the last-level cache of common processors
	if weights > cache {
		return ""
	}
	return ", which may stay in cache: a share above 1 is no error"
}
