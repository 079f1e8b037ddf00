package runtime

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// benchCommand measures prompts and generation, and the limits of the machine in between.
type benchCommand struct {
	*cli
	prompts    []int // lengths, which take turns
	depths     []int // positions that are filled before generation, which take turns; prompts use the first
	n, repeats int
	sequences  []int // numbers of sequences that generate together, which take turns with a single one

	members  []*Session // that generate together; the first one is alone
	repeated []benchRepeat
}

// benchRepeat holds what was measured in one repeat.
type benchRepeat struct {
	prompts, depths []tally // as in benchCommand
	sequences       []tally // the first one is a single sequence
	gops            float64 // 10^9 operations/s
}

func (c *cli) bench() func(context.Context) error {
	b := &benchCommand{cli: c, depths: []int{0}, repeats: 5}
	c.flags.numbers(&b.prompts, "p", "N,...", "tokens of the prompt (default: 512, or the context); several take turns", 1)
	c.flags.number(&b.n, "n", "N", "tokens to generate (default: 64, or the context)", 1)
	c.flags.numbers(&b.depths, "d", "DEPTH,...", "positions before those that are measured (default: 0); generation at several depths takes turns", 0)
	c.flags.numbers(&b.sequences, "sequences", "N,...", "also sequences that generate together, in turns with a single one", 1)
	c.flags.number(&b.repeats, "r", "REPEATS", "repeats, of which the median counts (default: 5)", 1)
	c.flags.on(&c.json, "json", "as one JSON object")
	c.modelFlags()
	return b.run
}

func (b *benchCommand) run(ctx context.Context) error {
	return b.withSession(ctx, b.check, func(ctx context.Context, s *Session) error {
		if err := b.measure(ctx, s); err != nil {
			return err
		}
		return b.report(s.Model())
	})
}

// check refuses sizes that the context has no room for. A size that the command line leaves out becomes as large as the
// context allows.
func (b *benchCommand) check() error {
	lm := b.program.LM
	if lm == nil {
		return usagef("%s is no language model: there is nothing to measure by tokens", b.program.Name)
	}
	deepest := slices.Max(b.depths)
	if deepest >= lm.Context {
		return usagef("-d %d: nothing can be measured after that many of %d positions: use fewer", deepest, lm.Context)
	}
	if most := slices.Max(append(b.sequences, 1)); most > lm.sequences() {
		return usagef("--sequences %d: this program was built for %d at a time: build it with --sequences %d", most, lm.sequences(), most)
	}
	if b.n == 0 {
		b.n = min(64, lm.Context-deepest)
	}
	if b.prompts == nil {
		b.prompts = []int{min(512, lm.Context-b.depths[0])}
	}
	if b.n > lm.Context-deepest {
		return usagef("-n %d: after %d positions the context of %d has room for %d tokens", b.n, deepest, lm.Context, lm.Context-deepest)
	}
	if longest := slices.Max(b.prompts); longest > lm.Context-b.depths[0] {
		return usagef("-p %d: after %d positions the context of %d has room for %d tokens", longest, b.depths[0], lm.Context, lm.Context-b.depths[0])
	}
	return nil
}

// figures holds the median and the extremes over all repeats.
type figures struct{ median, least, most float64 }

// over returns the figures of one measurement over all repeats.
func (b *benchCommand) over(figure func(r *benchRepeat) float64) figures {
	var v []float64
	for i := range b.repeated {
		v = append(v, figure(&b.repeated[i]))
	}
	slices.Sort(v)
	return figures{(v[(len(v)-1)/2] + v[len(v)/2]) / 2, v[0], v[len(v)-1]}
}

// contender is the result of one prompt length, or of generation at one depth.
type contender struct {
	size  int     // tokens of the prompt, or depth
	rate  float64 // tokens/s
	limit float64 // of the machine: 10^9 operations/s for prompts, 10^9 bytes/s for generation
	share float64 // of the limit
	ratio figures // its rate relative to that of the first contender, per repeat
}

// promptRates returns the results of all prompt lengths.
func (b *benchCommand) promptRates() []contender {
	list := make([]contender, len(b.prompts))
	for i, p := range b.prompts {
		lm := b.program.LM
		chunks := float64((p + lm.Batch - 1) / lm.Batch)
		ops := lm.PrefillOpsPerToken + lm.PrefillOpsPerStep*chunks/float64(p)
		list[i] = contender{
			size:  p,
			rate:  b.over(func(r *benchRepeat) float64 { return r.prompts[i].rate() }).median,
			limit: b.over(func(r *benchRepeat) float64 { return r.gops }).median,
			share: b.over(func(r *benchRepeat) float64 { return r.prompts[i].rate() * ops / r.gops / 1e9 }).median,
			ratio: b.over(func(r *benchRepeat) float64 { return r.prompts[i].rate() / r.prompts[0].rate() }),
		}
	}
	return list
}

// depthRates returns the results of all depths: the lengths of the sequence at which bench measured tokens.
func (b *benchCommand) depthRates() []contender {
	list := make([]contender, len(b.depths))
	for i, d := range b.depths {
		list[i] = contender{
			size:  d,
			rate:  b.over(func(r *benchRepeat) float64 { return r.depths[i].rate() }).median,
			limit: b.over(func(r *benchRepeat) float64 { return r.depths[i].gbs }).median,
			share: b.over(func(r *benchRepeat) float64 {
				return r.depths[i].rate() * b.program.LM.DecodeBytes / r.depths[i].gbs / 1e9
			}).median,
			ratio: b.over(func(r *benchRepeat) float64 { return r.depths[i].rate() / r.depths[0].rate() }),
		}
	}
	return list
}

func (b *benchCommand) report(m *Model) error {
	prompts, depths := b.promptRates(), b.depthRates()
	var text []byte
	if b.json {
		text = benchJSON(prompts, depths, b.sequenceRates())
	} else {
		text = b.benchText(m, prompts, depths)
	}
	_, err := b.out.Write(text)
	return err
}

// benchText formats one line per contender, between lines about the program.
func (b *benchCommand) benchText(m *Model, prompts, depths []contender) []byte {
	lm := b.program.LM
	text := fmt.Appendf(nil, "%s: %s kernels, %d threads, after %d positions, medians of %d\n", printable.Line(b.program.Name), cpu.Active(), m.Threads(), b.depths[0], b.repeats)
	for i, c := range prompts {
		text = fmt.Appendf(text, "prefill %6d tokens %12.1f tok/s  %5.2f of %.0f GOP/s (%s)", c.size, c.rate, c.share, c.limit, lm.Peak)
		text = c.appendRatio(text, i, "%d tokens", prompts[0].size)
	}
	for i, c := range depths {
		text = fmt.Appendf(text, "decode  %6d tokens %12.1f tok/s  %5.2f of %.1f GB/s", b.n, c.rate, c.share, c.limit)
		if i > 0 {
			text = fmt.Appendf(text, ", after %d", c.size)
		}
		text = c.appendRatio(text, i, "generation after %d", depths[0].size)
	}
	for i, c := range b.sequenceRates() {
		text = fmt.Appendf(text, "decode  %6d at a time %11.1f tok/s", c.size, c.rate)
		text = c.appendRatio(text, i, "%d", 1)
	}
	step := &b.program.Funcs[lm.Decode.Func]
	return fmt.Appendf(text, "decode step: %d nodes, %d barriers, %.1f MB of weights%s\n", step.Nodes, step.Barriers, lm.DecodeBytes/1e6, cacheNote(lm.DecodeBytes))
}

// appendRatio ends the line of contender i.
func (c *contender) appendRatio(text []byte, i int, of string, first int) []byte {
	if i > 0 {
		text = fmt.Appendf(text, ", %.2f (%.2f to %.2f) of the rate of "+of, c.ratio.median, c.ratio.least, c.ratio.most, first)
	}
	return append(text, '\n')
}

// benchJSON formats the results of the first length and depth as members of their own, and lists of all of them if
// there are several.
func benchJSON(prompts, depths, sequences []contender) []byte {
	line := appendFields([]byte("{"), field{"prefill_tok_s", prompts[0].rate}, field{"decode_tok_s", depths[0].rate},
		field{"prefill_share", prompts[0].share}, field{"decode_share", depths[0].share}, field{"peak_gop_s", prompts[0].limit}, field{"read_gb_s", depths[0].limit})
	line = append(line[:1], line[2:]...) // without the first comma
	line = appendContenders(line, "prompts", "tokens", prompts)
	line = appendContenders(line, "depths", "depth", depths)
	line = appendSequences(line, sequences)
	return append(line, '}', '\n')
}

// appendSequences appends the results of sequences that generate together, if there are any.
func appendSequences(line []byte, list []contender) []byte {
	if list == nil {
		return line
	}
	line = append(line, `,"sequences":`...)
	for i, c := range list {
		line = fmt.Appendf(line, `%c{"n":%d`, "[,"[min(i, 1)], c.size)
		line = append(appendFields(line, field{"tok_s", c.rate}, field{"ratio", c.ratio.median}, field{"ratio_least", c.ratio.least}, field{"ratio_most", c.ratio.most}), '}')
	}
	return append(line, ']')
}

// appendContenders appends a list of at least two contenders, and nothing for a shorter one.
func appendContenders(line []byte, name, size string, list []contender) []byte {
	if len(list) == 1 {
		return line
	}
	line = append(line, `,"`+name+`":`...)
	for i, c := range list {
		line = append(line, "[,"[min(i, 1)], '{')
		line = strconv.AppendInt(append(line, `"`+size+`":`...), int64(c.size), 10)
		line = appendFields(line, field{"tok_s", c.rate}, field{"share", c.share},
			field{"ratio", c.ratio.median}, field{"ratio_least", c.ratio.least}, field{"ratio_most", c.ratio.most})
		line = append(line, '}')
	}
	return append(line, ']')
}

// cacheNote returns a warning if decode's share is misleading: the probe reads memory, but weights of this size stay
// in a processor's cache.
func cacheNote(weights float64) string {
	const cache = 32e6 // bytes; the last-level cache of common processors
	if weights > cache {
		return ""
	}
	return ", which may stay in cache: a share above 1 is no error"
}
