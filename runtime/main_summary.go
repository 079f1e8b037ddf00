package runtime

import (
	"fmt"
	"strconv"
	"time"
)

// summary prints the number of tokens, why they ended and the speed, as the last JSON line or to standard error. The
// error is that which ended the generation.
func (g *generateCommand) summary(gen *generation, err error) error {
	finish := finishOf(gen.finish, err)
	if g.json {
		_, err := g.out.Write(g.appendSummary(g.line[:0], gen, finish))
		return err
	}
	if terminal(g.out) {
		fmt.Fprintln(g.out)
	}
	fmt.Fprintf(g.err, "%s: prompt %d tokens, %.0f tok/s; generated %d tokens, %.0f tok/s, until %s; loaded in %.1f ms, ran for %.1f s; threads %s%s\n",
		g.name, g.promptTokens, rate(g.promptTokens, gen.prefill), gen.made, rate(gen.made-1, gen.decoding), finishText(finish), milliseconds(g.loaded),
		(gen.prefill + gen.decoding).Seconds(), gen.s.model.threadsInUse(), g.seedText())
	return nil
}

// appendSummary appends the summary as a JSON line.
func (g *generateCommand) appendSummary(b []byte, gen *generation, finish Finish) []byte {
	b = fmt.Appendf(b, `{"summary":{"prompt_tokens":%d,"generated":%d,"finish":%q`, g.promptTokens, gen.made, finish)
	b = g.appendSeed(b)
	b = appendFields(b, field{"prefill_tok_s", rate(g.promptTokens, gen.prefill)}, field{"decode_tok_s", rate(gen.made-1, gen.decoding)},
		field{"load_ms", milliseconds(g.loaded)}, field{"prefill_ms", milliseconds(gen.prefill)}, field{"decode_ms", milliseconds(gen.decoding)})
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

// finishText explains the end of a generation to a reader of the summary.
func finishText(f Finish) string {
	switch f {
	case FinishEnd:
		return "the end of the text"
	case FinishStop:
		return "a stop string"
	case FinishLength:
		return "the limit of tokens"
	case FinishCancelled:
		return "it was cancelled"
	case FinishContext:
		return "the context was full"
	}
	return "an error"
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
