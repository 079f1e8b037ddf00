package ptx

import (
	"maps"
	"math/big"
	"slices"
	"strings"
)

// flow checks that the end of the entry is not reached without ret, and that no register is read that is not written on
// every path to the instruction. It is a forward analysis: a register is written before a block if all predecessors of
// the block have written it. An instruction with a guard counts as one that writes nothing.
func (c *checker) flow(e *entry) {
	f := newFlow(e)
	for again := true; again; {
		again = false
		for b := range f.starts {
			again = f.propagate(b) || again
		}
	}
	for b := range f.starts {
		f.reads(b, func(s *statement, name string) {
			c.s = s
			c.fail("%s is read, but not written on every path to here", name)
		})
	}
	if n := len(e.statements); n == 0 || !ends(&e.statements[n-1]) {
		c.found = append(c.found, fault(e.end, "the entry ends without ret"))
	}
	for _, name := range slices.Sorted(maps.Keys(e.labels)) {
		if e.labels[name] == len(e.statements) {
			c.found = append(c.found, fault(e.lines[name], "no instruction follows %s", name))
		}
	}
}

// ends reports whether what follows the instruction in the text does not follow it in time.
func ends(s *statement) bool { return (s.op == "ret" || s.op == "bra") && s.guard == "" }

// flowState is the state of the analysis.
type flowState struct {
	e       *entry
	numbers map[string]int // of registers
	starts  []int          // index of each block's first statement
	blocks  map[int]int    // block by first statement
	written []*big.Int     // registers written before each block; nil where none precedes yet
}

func newFlow(e *entry) *flowState {
	f := &flowState{e: e, numbers: make(map[string]int), blocks: make(map[int]int)}
	for name := range e.registers {
		f.numbers[name] = len(f.numbers)
	}
	starts := map[int]bool{0: true}
	for _, at := range e.labels {
		starts[at] = true
	}
	for i := range e.statements {
		if e.statements[i].op == "bra" || e.statements[i].op == "ret" {
			starts[i+1] = true
		}
	}
	delete(starts, len(e.statements))
	f.starts = slices.Sorted(maps.Keys(starts))
	for b, at := range f.starts {
		f.blocks[at] = b
	}
	f.written = make([]*big.Int, len(f.starts))
	if len(f.starts) > 0 {
		f.written[0] = new(big.Int)
	}
	return f
}

// block returns the statements of a block.
func (f *flowState) block(b int) []statement {
	if b+1 < len(f.starts) {
		return f.e.statements[f.starts[b]:f.starts[b+1]]
	}
	return f.e.statements[f.starts[b]:]
}

// propagate adds what a block writes to the blocks that follow it, and reports whether that changed one.
func (f *flowState) propagate(b int) (changed bool) {
	if f.written[b] == nil {
		return false
	}
	after := f.reads(b, func(*statement, string) {})
	statements := f.block(b)
	last := &statements[len(statements)-1]
	if last.op == "bra" {
		changed = f.meet(f.e.labels[last.operands[0].name], after)
	}
	if !ends(last) {
		changed = f.meet(f.starts[b]+len(statements), after) || changed
	}
	return changed
}

// meet keeps the registers that are written on the path to a statement, too.
func (f *flowState) meet(at int, written *big.Int) bool {
	b, ok := f.blocks[at]
	if !ok {
		return false
	}
	if f.written[b] == nil {
		f.written[b] = new(big.Int).Set(written)
		return true
	}
	before := new(big.Int).Set(f.written[b])
	f.written[b].And(f.written[b], written)
	return f.written[b].Cmp(before) != 0
}

// reads calls unwritten for each register that a block reads before it is written, and returns what is written after
// the block. A block that nothing reaches reads nothing.
func (f *flowState) reads(b int, unwritten func(s *statement, name string)) *big.Int {
	if f.written[b] == nil {
		return nil
	}
	state := new(big.Int).Set(f.written[b])
	statements := f.block(b)
	for i := range statements {
		s := &statements[i]
		results, sources := f.registers(s)
		for _, name := range sources {
			if state.Bit(f.numbers[name]) == 0 {
				unwritten(s, name)
			}
		}
		for _, name := range results {
			if s.guard == "" {
				state.SetBit(state, f.numbers[name], 1)
			}
		}
	}
	return state
}

// registers returns the registers that an instruction writes and reads. The first operand is the result, except of
// stores, where it is an address; the sums of wgmma.mma_async are read as well.
func (f *flowState) registers(s *statement) (results, sources []string) {
	if s.guard != "" {
		sources = append(sources, s.guard)
	}
	for i, o := range s.operands {
		for _, name := range operandNames(o) {
			_, ok := f.numbers[name]
			switch {
			case !ok:
			case i == 0 && o.form != addressOperand:
				results = append(results, name)
				if strings.HasPrefix(s.op, "wgmma.mma_async.") {
					sources = append(sources, name)
				}
			default:
				sources = append(sources, name)
			}
		}
	}
	return results, sources
}

// operandNames returns the names in an operand.
func operandNames(o operand) []string {
	var names []string
	switch o.form {
	case nameOperand, addressOperand:
		names = append(names, o.name)
	case listOperand:
		for _, part := range o.list {
			names = append(names, operandNames(part)...)
		}
	}
	return names
}
