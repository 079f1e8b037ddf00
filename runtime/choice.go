package runtime

import (
	"math"
	"math/rand/v2"
)

// Choice is the choice of one token. GenerateOptions.Sampler makes it.
type Choice struct {
	// Logits are those after the last token, one for each id. They are a copy, which may be changed. Those of ids that
	// the grammar excludes are minus infinity. They are valid until the call returns.
	Logits []float32

	g *generation
}

// Next returns the id that GenerateOptions.Sampling chooses from Logits as they are now. Each call draws again.
func (c *Choice) Next() (int32, error) { return c.g.sampler.Next(c.Logits) }

// prepareChoice allocates what choose needs for a grammar or a sampler of the caller.
func (g *generation) prepareChoice() {
	if g.matcher != nil || g.o.Sampler != nil {
		g.limited = make([]float32, g.s.model.program.LM.Vocab)
	}
}

// choose chooses the next token. A grammar excludes tokens before all stages of sampling.
func (g *generation) choose() (id int32, err error) {
	if g.logits == nil {
		return g.sampler.NextOf(g.top)
	}
	if g.limited == nil {
		return g.sampler.Next(g.logits)
	}
	copy(g.limited, g.logits)
	if g.matcher != nil {
		if err := g.matcher.Limit(g.limited); err != nil {
			return 0, err
		}
	}
	if g.o.Sampler == nil {
		id, err = g.sampler.Next(g.limited)
	} else {
		id, err = g.ask()
	}
	if err != nil || g.matcher == nil {
		return id, err
	}
	return id, g.matcher.Accept(id)
}

// ask lets the caller's sampler choose.
func (g *generation) ask() (int32, error) {
	g.choice = Choice{Logits: g.limited, g: g}
	id, err := g.o.Sampler(&g.choice)
	switch {
	case err != nil:
		return 0, err
	case id < 0 || int(id) >= len(g.logits):
		return 0, inputError("the sampler chose token %d: ids are 0 to %d", id, len(g.logits)-1)
	case g.matcher == nil:
		return id, nil
	}
	copy(g.limited, g.logits) // the sampler may have changed what the grammar has excluded
	if err := g.matcher.Limit(g.limited); err != nil {
		return 0, err
	}
	if math.IsInf(float64(g.limited[id]), -1) && !math.IsInf(float64(g.logits[id]), -1) {
		return 0, inputError("the sampler chose token %d, which the grammar excludes", id)
	}
	return id, nil
}

// AnySeed returns seed, or for 0 a random one that is not 0.
func AnySeed(seed uint64) uint64 {
	for seed == 0 {
		seed = rand.Uint64()
	}
	return seed
}
