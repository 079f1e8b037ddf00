package runtime

import (
	"context"
	"math"
	"slices"
	"time"
)

// A machine that is shared, or whose memory is, changes its speed by a third within seconds. Everything that bench
// compares therefore takes short turns: generation at each depth for 50 ms, prompts of each length for one step, and
// reads of memory between them.

// tally sums up the turns of one prompt length or of one depth.
type tally struct {
	tokens int
	took   time.Duration
	gbs    float64 // 10^9 bytes/s read in the same turns
}

// rate returns tokens/s.
func (s *tally) rate() float64 { return rate(s.tokens, s.took) }

// warmTokens is the most tokens that are generated before measuring. They touch all weights.
const warmTokens = 8

// measure interleaves everything, so that a disturbance of the machine affects all contenders alike. A first repeat,
// with the first length and depth and few tokens, touches all pages and is not counted.
func (b *benchCommand) measure(ctx context.Context, s *Session) error {
	prompts, depths, err := b.sessions(ctx, s)
	if err != nil {
		return err
	}
	if err := b.seat(ctx, s); err != nil {
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

// sessions returns a filled session for each prompt length and each depth, so that the turns of one do not change the
// sequence of another. The first length and the first depth share the session first.
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

// another appends a new session that is filled to the given depth.
func (b *benchCommand) another(ctx context.Context, list []*Session, depth int) ([]*Session, error) {
	s, err := list[0].Model().NewSession()
	if err != nil {
		return nil, err
	}
	return append(list, s), b.fill(ctx, s, depth)
}

// fill runs a prompt of depth tokens.
func (b *benchCommand) fill(ctx context.Context, s *Session, depth int) error {
	if depth == 0 {
		return nil
	}
	_, err := s.Prefill(ctx, b.tokens(depth))
	return err
}

// tokens returns the first n tokens that every sequence of the benchmark begins with.
func (b *benchCommand) tokens(n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = benchToken(i, b.program.LM.Vocab)
	}
	return tokens
}

// benchToken returns an arbitrary token id that depends on nothing but its position.
func benchToken(i, vocab int) int32 { return int32((i*7919 + 1) % vocab) }

// repeat measures everything once, with n generated tokens.
func (b *benchCommand) repeat(ctx context.Context, prompts, depths []*Session, n int, machine *peak) (r benchRepeat, err error) {
	if r.depths, err = b.generateOnce(ctx, depths, n, machine); err != nil {
		return r, err
	}
	if err = b.sequencesOnce(ctx, &r, n); err != nil {
		return r, err
	}
	if r.gops, err = machine.gops(ctx, b.program.LM.Peak); err != nil {
		return r, err
	}
	r.prompts, err = b.promptOnce(ctx, prompts)
	return r, err
}

// readEvery is how long generation runs between two reads of memory. It is shorter than the time for which shared
// memory keeps its speed, and much longer than the delay of the next token, whose activations the read evicts from
// the caches.
const readEvery = 50 * time.Millisecond

// generateOnce decodes n tokens at each depth. A turn has as many tokens as the session of the first depth decodes in
// readEvery. The tokens are given, as choosing them is no part of the model. A read of memory follows each turn: the
// rate is compared with what the machine reached at the same time.
func (b *benchCommand) generateOnce(ctx context.Context, at []*Session, n int, machine *peak) ([]tally, error) {
	for i, s := range at {
		s.rewind(b.depths[i])
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

// decode runs one turn of at most most tokens, none of which begins after limit, and returns how many it ran.
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

// promptOnce runs a prompt of each length, starting at the first depth. Of several prompts, each runs one step in a
// turn. Shorter prompts start again until the longest is done; each runs at least once.
func (b *benchCommand) promptOnce(ctx context.Context, at []*Session) ([]tally, error) {
	sums, left := make([]tally, len(at)), make([]int, len(at))
	longest := slices.Max(b.prompts[:len(at)])
	tokens, step := b.tokens(longest), b.program.LM.Batch
	if len(at) == 1 {
		step = longest // several steps may be in flight
	}
	for over, busy := false, true; busy; {
		busy = false
		for i, s := range at {
			if left[i] == 0 {
				if over && sums[i].tokens > 0 {
					continue
				}
				s.rewind(b.depths[0])
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

// prefill runs one turn and adds it to sum.
func (sum *tally) prefill(ctx context.Context, s *Session, tokens []int32) error {
	begin := time.Now()
	_, err := s.Prefill(ctx, tokens)
	sum.took += time.Since(begin)
	sum.tokens += len(tokens)
	return err
}
