package grammar

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// opcode is what an instruction does.
type opcode uint8

const (
	opByte   opcode = iota // reads a byte from lo to hi, then continues at x
	opSplit                // continues at x and at y
	opCall                 // calls the rule that begins at x, then continues at y
	opReturn               // ends a rule
	opToken                // reads the token that element y of the grammar allows, then continues at x
)

// instruction is one step of a grammar's program.
type instruction struct {
	op     opcode
	lo, hi byte
	x, y   int32
}

// Grammar is a compiled grammar. It does not change and may be used by several goroutines.
type Grammar struct {
	code   []instruction
	start  int32
	tokens []tokenElement
}

// rootName is the rule that the whole text follows.
const rootName = "root"

// Compile compiles a grammar in GBNF. The error is a *SyntaxError.
func Compile(text string) (*Grammar, error) {
	p, err := parse(text)
	if err != nil {
		return nil, err
	}
	root, ok := p.index[rootName]
	if !ok {
		return nil, &SyntaxError{0, "there is no rule " + rootName}
	}
	c := &compiler{parser: p, starts: make([]int32, len(p.rules))}
	if err := c.compile(); err != nil {
		return nil, err
	}
	g := &Grammar{c.code, c.starts[root], c.tokens}
	return g, nil
}

// compiler makes instructions from the last one of a rule to its first, so that each knows what follows it.
type compiler struct {
	*parser
	code   []instruction
	starts []int32 // by rule
	tokens []tokenElement
	err    *SyntaxError
}

func (c *compiler) compile() error {
	for i := range c.rules {
		end := c.add(instruction{op: opReturn})
		c.starts[i] = c.node(c.rules[i].body, end)
	}
	if c.err != nil {
		return c.err
	}
	for i := range c.code {
		if in := &c.code[i]; in.op == opCall {
			in.x = c.starts[in.x]
		}
	}
	return c.checkRecursion()
}

// add appends an instruction, and returns its index.
func (c *compiler) add(in instruction) int32 {
	if len(c.code) >= maxInstructions {
		c.note(0, "it needs more than %d instructions: use smaller numbers of repetitions", maxInstructions)
		return 0
	}
	c.code = append(c.code, in)
	return int32(len(c.code) - 1)
}

func (c *compiler) note(line int, format string, args ...any) {
	if c.err == nil {
		c.err = &SyntaxError{line, fmt.Sprintf(format, args...)}
	}
}

// node compiles a part of a rule that continues at next. It returns where it begins.
func (c *compiler) node(n node, next int32) int32 {
	if c.err != nil {
		return next
	}
	switch n := n.(type) {
	case sequence:
		for _, part := range slices.Backward(n) {
			next = c.node(part, next)
		}
		return next
	case choice:
		return c.choice(n, next)
	case literal:
		return c.bytes(string(n), next)
	case class:
		return c.class(n, next)
	case repeat:
		return c.repeat(n, next)
	case reference:
		return c.call(n, next)
	case tokenElement:
		c.tokens = append(c.tokens, n)
		return c.add(instruction{op: opToken, x: next, y: int32(len(c.tokens) - 1)})
	}
	panic(fmt.Sprintf("grammar: internal error: a node of type %T", n))
}

// split continues at each of the starts. There is at least one, but after an error.
func (c *compiler) split(starts []int32) int32 {
	if len(starts) == 0 {
		return 0
	}
	at := starts[len(starts)-1]
	for _, s := range slices.Backward(starts[:len(starts)-1]) {
		at = c.add(instruction{op: opSplit, x: s, y: at})
	}
	return at
}

// call compiles a reference to a rule. Until all rules are compiled, x is the rule's index.
func (c *compiler) call(r reference, next int32) int32 {
	i, ok := c.index[r.name]
	if !ok {
		c.note(r.line, "there is no rule %s", r.name)
	}
	return c.add(instruction{op: opCall, x: int32(i), y: next})
}

// repeat compiles of{min,max}: min copies, and then either a loop, or optional copies within each other.
func (c *compiler) repeat(r repeat, next int32) int32 {
	if r.max < 0 {
		loop := c.add(instruction{op: opSplit, y: next})
		if c.err == nil {
			c.code[loop].x = c.node(r.of, loop)
		}
		next = loop
	} else {
		end := next
		for range r.max - r.min {
			next = c.add(instruction{op: opSplit, x: c.node(r.of, next), y: end})
		}
	}
	for range r.min {
		next = c.node(r.of, next)
	}
	return next
}

// class compiles a set of characters: a choice of sequences of ranges of bytes.
func (c *compiler) class(n class, next int32) int32 {
	var starts []int32
	for _, r := range n.runes() {
		for _, bytes := range appendUTF8(nil, r) {
			at := next
			for _, b := range slices.Backward(bytes) {
				at = c.add(instruction{op: opByte, lo: b.lo, hi: b.hi, x: at})
			}
			starts = append(starts, at)
		}
	}
	if len(starts) == 0 {
		c.note(0, "a set of characters is empty")
		return next
	}
	return c.split(starts)
}

// runes returns the ranges of the characters of a set in order, without surrogates, which UTF-8 does not have.
func (n class) runes() []runeRange {
	sorted := slices.Clone(n.ranges)
	slices.SortFunc(sorted, func(a, b runeRange) int { return int(a.lo - b.lo) })
	var in, out []runeRange
	from := rune(0) // the first character that is in no range so far
	for _, r := range sorted {
		if r.lo > from {
			out = append(out, runeRange{from, r.lo - 1})
		}
		if r.hi >= from {
			in = append(in, runeRange{max(from, r.lo), r.hi})
			from = r.hi + 1
		}
	}
	if from <= utf8.MaxRune {
		out = append(out, runeRange{from, utf8.MaxRune})
	}
	if n.not {
		return withoutSurrogates(out)
	}
	return withoutSurrogates(in)
}

func withoutSurrogates(list []runeRange) []runeRange {
	const lo, hi = 0xd800, 0xdfff
	var kept []runeRange
	for _, r := range list {
		for _, part := range []runeRange{{r.lo, min(r.hi, lo-1)}, {max(r.lo, hi+1), r.hi}} {
			if part.lo <= part.hi {
				kept = append(kept, part)
			}
		}
	}
	return kept
}

// byteRange is a range of bytes.
type byteRange struct{ lo, hi byte }

// appendUTF8 appends the sequences of ranges of bytes that together are the encodings of a range of characters.
//
// For example, U+0041 to U+07BF are the sequences 41-7f, and c2-de 80-bf, and df... all characters of a sequence have
// as many bytes, and each byte after one that varies takes all values.
func appendUTF8(list [][]byteRange, r runeRange) [][]byteRange {
	for _, last := range []rune{0x7f, 0x7ff, 0xffff} { // of 1, 2 and 3 bytes
		if r.lo <= last && r.hi > last {
			return appendUTF8(appendUTF8(list, runeRange{r.lo, last}), runeRange{last + 1, r.hi})
		}
	}
	for shift := 6; shift <= 18 && r.lo>>7 != 0; shift += 6 {
		low := rune(1)<<shift - 1 // the bits of the last bytes
		if r.lo&^low == r.hi&^low {
			break
		}
		if r.lo&low != 0 {
			return appendUTF8(appendUTF8(list, runeRange{r.lo, r.lo | low}), runeRange{r.lo | low + 1, r.hi})
		}
		if r.hi&low != low {
			return appendUTF8(appendUTF8(list, runeRange{r.lo, r.hi&^low - 1}), runeRange{r.hi &^ low, r.hi})
		}
	}
	lo, hi := utf8.AppendRune(nil, r.lo), utf8.AppendRune(nil, r.hi)
	bytes := make([]byteRange, len(lo))
	for i := range lo {
		bytes[i] = byteRange{lo[i], hi[i]}
	}
	return append(list, bytes)
}
