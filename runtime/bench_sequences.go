package runtime

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"
)

// seat opens the sessions of --sequences, and fills them to the first depth.
func (b *benchCommand) seat(ctx context.Context, first *Session) error {
	if len(b.sequences) == 0 {
		return nil
	}
	g, err := first.Model().NewSessions()
	if err != nil {
		return err
	}
	alone, err := first.Model().NewSession()
	if err != nil {
		return err
	}
	b.members = []*Session{alone}
	for range g.Limit() {
		s, err := g.NewSession(ctx)
		if err != nil {
			return err
		}
		b.members = append(b.members, s)
	}
	for _, s := range b.members {
		if err := b.fill(ctx, s, b.depths[0]); err != nil {
			return err
		}
	}
	return nil
}

// sequencesOnce decodes n tokens of a single sequence and of each number of sequences, in turns as long as those of
// generateOnce. Each sequence has a goroutine, as in a service.
func (b *benchCommand) sequencesOnce(ctx context.Context, r *benchRepeat, n int) error {
	if len(b.sequences) == 0 {
		return nil
	}
	for _, s := range b.members {
		s.rewind(b.depths[0])
	}
	r.sequences = make([]tally, 1+len(b.sequences))
	for done := 0; done < n; done = r.sequences[0].tokens {
		ran, err := b.decode(ctx, b.members[0], &r.sequences[0], n-done, readEvery)
		if err != nil {
			return err
		}
		for i, k := range b.sequences {
			if err := b.together(ctx, b.members[1:1+k], &r.sequences[1+i], done, ran); err != nil {
				return err
			}
		}
	}
	return nil
}

// together decodes further tokens of each session at the same time, and adds them to sum. Each session has decoded
// before tokens already.
func (b *benchCommand) together(ctx context.Context, sessions []*Session, sum *tally, before, tokens int) error {
	var all sync.WaitGroup
	errs := make([]error, len(sessions))
	for _, s := range sessions {
		s.rewind(b.depths[0] + before)
	}
	begin := time.Now()
	for i, s := range sessions {
		all.Go(func() {
			_, errs[i] = b.decode(ctx, s, new(tally), tokens, math.MaxInt64)
			s.leave()
		})
	}
	all.Wait()
	sum.took += time.Since(begin)
	sum.tokens += tokens * len(sessions)
	return errors.Join(errs...)
}

// sequenceRates returns the results of a single sequence and of each number of sequences; none without --sequences.
func (b *benchCommand) sequenceRates() []contender {
	if len(b.sequences) == 0 {
		return nil
	}
	list := make([]contender, 1+len(b.sequences))
	for i, n := range append([]int{1}, b.sequences...) {
		list[i] = contender{
			size:  n,
			rate:  b.over(func(r *benchRepeat) float64 { return r.sequences[i].rate() }).median,
			ratio: b.over(func(r *benchRepeat) float64 { return r.sequences[i].rate() / r.sequences[0].rate() }),
		}
	}
	return list
}
