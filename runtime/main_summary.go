package runtime

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// summary prints the number of tokens, why they ended and the speed, as the last JSON line or to standard error. The error
// is that which ended the generation.
func (g *generateCommand) summary(gen *generation, err error) error {
	finish := finishWord(gen.finish, err)
	if g.json {
		_, err := g.out.Write(g.appendSummary(g.line[:0], gen, finish))
		return err
	}
	if terminal(g.out) {
		fmt.Fprintln(g.out)
	}
	fmt.Fprintf(g.err, "%s: prompt %d tokens, %.0f tok/s; generated %d tokens, %.0f tok/s, until %s; loaded in %.1f ms, ran for %.1f s; threads %d%s\n",
		g.name, g.promptTokens, rate(g.promptTokens, g.prefill), gen.made, rate(gen.made-1, g.decode), finishText(finish), milliseconds(g.loaded),
		(g.prefill + g.decode).Seconds(), gen.s.model.Threads(), g.seedText())
	return nil
}

// appendSummary appends the summary as a JSON line.
func (g *generateCommand) appendSummary(b []byte, gen *generation, finish Finish) []byte {
	b = fmt.Appendf(b, `{"summary":{"prompt_tokens":%d,"generated":%d,"finish":%q`, g.promptTokens, gen.made, finish)
	b = g.appendSeed(b)
	b = appendFields(b, field{"prefill_tok_s", rate(g.promptTokens, g.prefill)}, field{"decode_tok_s", rate(gen.made-1, g.decode)},
		field{"load_ms", milliseconds(g.loaded)}, field{"prefill_ms", milliseconds(g.prefill)}, field{"decode_ms", milliseconds(g.decode)})
	return append(b, '}', '}', '\n')
}

// seedText is the seed for the end of a summary, where tokens are drawn.
func (g *generateCommand) seedText() string {
	if g.o.Sampling.Temperature > 0 {
		return fmt.Sprintf("; seed %d", g.o.Sampling.Seed)
	}
	return ""
}

// appendSeed appends the seed to a JSON object, where tokens are drawn.
func (g *generateCommand) appendSeed(b []byte) []byte {
	if g.o.Sampling.Temperature > 0 {
		b = strconv.AppendUint(append(b, `,"seed":`...), g.o.Sampling.Seed, 10)
	}
	return b
}

// Reasons that only summaries have.
const (
	finishCancelled Finish = "cancelled"
	finishContext   Finish = "context" // it is full
	finishError     Finish = "error"
)

// finishWord returns why a generation ended, also for one that ended with an error.
func finishWord(f Finish, err error) Finish {
	switch {
	case errors.Is(err, ErrCancelled):
		return finishCancelled
	case errors.Is(err, ErrContextFull):
		return finishContext
	case err != nil:
		return finishError
	}
	return f
}

// finishText explains the end of a generation to a reader of the summary.
func finishText(f Finish) string {
	switch f {
	case FinishEnd:
		return "the end of the text"
	case FinishStop:
		return "a stop string"
	case FinishLength:
		return "the limit of tokens"
	case finishCancelled:
		return "it was cancelled"
	case finishContext:
		return "the context was full"
	}
	return "an error"
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
