package runtime

import (
	"context"
	"math"
	"slices"
	"time"
)

// Machines that are shared, or whose memory is, change their speed by a third within seconds.
// So whatever bench compares takes short turns: generation behind each depth some 50 ms, prompts
// of each length one step of the program, and reading memory between them.

// tally adds up the turns of one length of prompt or of one depth.
type tally struct {
	tokens int
	took   time.Duration
	gbs    float64 // 10^9 bytes/s that were read in turns with the tokens
}

// rate is in tokens/s.
func (s *tally) rate() float64 { return rate(s.tokens, s.took) }

// warmTokens is what is generated before anything counts, at most: it touches all weights.
const warmTokens = 8

// measure interleaves everything, so that what disturbs the machine disturbs all alike. A first
// round that does not count, of the first length and depth and of few tokens, touches all pages.
func (b *benchCommand) measure(ctx context.Context, s *Session) error {
	prompts, depths, err := b.sessions(ctx, s)
	if err != nil {
		return err
	}
	machine := newPeak(s.Model().pool)
	if _, err := b.repeat(ctx, prompts[:1], depths[:1], min(b.n, warmTokens), machine); err != nil {
		return err
	}
	for range b.repeats {
		r, err := b.repeat(ctx, prompts, depths, b.n, machine)
		if err != nil {
			return err
		}
		b.repeated = append(b.repeated, r)
	}
	return nil
}

// sessions are one for each length of prompt and for each depth, filled: turns leave what others
// have in progress alone. The first of both are one.
func (b *benchCommand) sessions(ctx context.Context, first *Session) (prompts, depths []*Session, err error) {
	if err := b.fill(ctx, first, b.depths[0]); err != nil {
		return nil, nil, err
	}
	prompts, depths = []*Session{first}, []*Session{first}
	for range b.prompts[1:] {
		if prompts, err = b.another(ctx, prompts, b.depths[0]); err != nil {
			return nil, nil, err
		}
	}
	for _, depth := range b.depths[1:] {
		if depths, err = b.another(ctx, depths, depth); err != nil {
			return nil, nil, err
		}
	}
	return prompts, depths, nil
}

// another appends a session that is filled.
func (b *benchCommand) another(ctx context.Context, list []*Session, depth int) ([]*Session, error) {
	s, err := list[0].Model().NewSession()
	if err != nil {
		return nil, err
	}
	return append(list, s), b.fill(ctx, s, depth)
}

// fill runs a prompt of the depth.
func (b *benchCommand) fill(ctx context.Context, s *Session, depth int) error {
	if depth == 0 {
		return nil
	}
	_, err := s.Prefill(ctx, b.tokens(depth))
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

// benchToken is an arbitrary id that depends on nothing but its position.
func benchToken(i, vocab int) int32 { return int32((i*7919 + 1) % vocab) }

// repeat measures everything once, with n generated tokens.
func (b *benchCommand) repeat(ctx context.Context, prompts, depths []*Session, n int, machine *peak) (r benchRepeat, err error) {
	if r.depths, err = b.generateOnce(ctx, depths, n, machine); err != nil {
		return r, err
	}
	if r.gops, err = machine.gops(ctx, b.program.LM.Peak); err != nil {
		return r, err
	}
	r.prompts, err = b.promptOnce(ctx, prompts)
	return r, err
}

// readEvery is how long generation goes on between two reads of memory: shorter than memory
// keeps its speed where other machines share it, and long beside what such a read costs the
// tokens behind it, whose activations it drives out of caches.
const readEvery = 50 * time.Millisecond

// generateOnce decodes n tokens behind each depth, as many tokens in a turn as the first depth's session does
// in readEvery. The tokens are given: choosing them is no part of the model. After each turn it
// only reads memory, which is what the rate is compared with: the machine at the same time.
func (b *benchCommand) generateOnce(ctx context.Context, at []*Session, n int, machine *peak) ([]tally, error) {
	for i, s := range at {
		if err := s.Truncate(b.depths[i]); err != nil {
			return nil, err
		}
	}
	sums := make([]tally, len(at))
	reads := make([][numPatterns]time.Duration, len(at))
	turns := 0.0
	for done := 0; done < n; done, turns = sums[0].tokens, turns+1 {
		most, limit := n-done, readEvery
		for i, s := range at {
			ran, err := b.decode(ctx, s, &sums[i], most, limit)
			if err != nil {
				return nil, err
			}
			if err := machine.read(ctx, &reads[i]); err != nil {
				return nil, err
			}
			most, limit = ran, math.MaxInt64
		}
	}
	for i := range sums {
		sums[i].gbs = turns * machine.bytes() / slices.Min(reads[i][:]).Seconds() / 1e9
	}
	return sums, nil
}

// decode is a turn: at most so many tokens, none begun after the limit. It returns how many.
func (b *benchCommand) decode(ctx context.Context, s *Session, sum *tally, most int, limit time.Duration) (ran int, err error) {
	begin := time.Now()
	for ; ran < most && (ran == 0 || time.Since(begin) < limit); ran++ {
		if _, err := s.Decode(ctx, benchToken(sum.tokens+ran, b.program.LM.Vocab)); err != nil {
			return ran, err
		}
	}
	sum.took += time.Since(begin)
	sum.tokens += ran
	return ran, nil
}

// promptOnce runs a prompt of each length behind the first depth. Of several, each runs one step in
// a turn, and shorter ones begin again until the longest is done; each is run once at least.
func (b *benchCommand) promptOnce(ctx context.Context, at []*Session) ([]tally, error) {
	sums, left := make([]tally, len(at)), make([]int, len(at))
	longest := slices.Max(b.prompts[:len(at)])
	tokens, step := b.tokens(longest), b.program.LM.Batch
	if len(at) == 1 {
		step = longest // several steps may be under way
	}
	for over, busy := false, true; busy; {
		busy = false
		for i, s := range at {
			if left[i] == 0 {
				if over && sums[i].tokens > 0 {
					continue
				}
				if err := s.Truncate(b.depths[0]); err != nil {
					return nil, err
				}
				left[i] = b.prompts[i]
			}
			from := b.prompts[i] - left[i]
			n := min(left[i], step)
			if err := sums[i].prefill(ctx, s, tokens[from:from+n]); err != nil {
				return nil, err
			}
			left[i] -= n
			busy = true
			over = over || left[i] == 0 && b.prompts[i] == longest
		}
	}
	return sums, nil
}

// prefill is a turn.
func (sum *tally) prefill(ctx context.Context, s *Session, tokens []int32) error {
	begin := time.Now()
	_, err := s.Prefill(ctx, tokens)
	sum.took += time.Since(begin)
	sum.tokens += len(tokens)
	return err
}
