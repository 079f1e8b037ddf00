package main

import (
	"bytes"
	"fmt"
	gofmt "go/format"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// This file counts the work of one iteration of a tile's loop. Package tile predicts the speed of a tile
// from it.

// loop is the work of one iteration. The fields are those of tile.loop.
type loop struct {
	weight, feature                    string
	rows, panels                       int
	dots, vectors, loads, instructions int
	chain                              int
	depth                              int // of k
}

// tileName matches the tiles of products; see tile.name.
var tileName = regexp.MustCompile(`^(?:tile|widened)(F32|F16|BF16|Q8|Q4|SignsQ8|PairQ4)(AVX2|AVXVNNI|AVX512|VNNI|DOT)r([0-9]+)p([0-9]+)$`)

var (
	weightNames  = map[string]string{"F32": "F32", "F16": "F16", "BF16": "BF16", "Q8": "Q8_0", "Q4": "Q4_0", "SignsQ8": "Q8_0", "PairQ4": "Q4_0"}
	featureNames = map[string]string{"AVX2": "AVX2", "AVXVNNI": "AVXVNNI", "AVX512": "AVX512", "VNNI": "AVX512VNNI", "DOT": "AVX512BF16"}
)

// loopOf returns the loop of a function with the most instructions, if it is a tile.
func loopOf(f *ir.Function) (loop, bool) {
	m := tileName.FindStringSubmatch(f.Name)
	if m == nil {
		return loop{}, false
	}
	l := loop{weight: weightNames[m[1]], feature: featureNames[m[2]], rows: number(m[3]), panels: number(m[4])}
	if m[1] == "SignsQ8" && l.rows == 1 {
		return loop{}, false // the last of an odd number of rows: one row by itself has other tiles
	}
	body := longestLoop(f)
	for _, i := range body {
		l.count(i)
	}
	l.chain = chainOf(body)
	l.depth = 32 // of a block
	if strings.Contains(m[1], "F") {
		l.depth = l.dots * lanesOf(m[2]) / (l.rows * l.panels * panelRows)
	}
	return l, true
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// lanesOf returns the multiply-adds of one instruction of float products.
func lanesOf(level string) int {
	return map[string]int{"AVX2": 8, "AVX512": 16, "DOT": 32}[level]
}

// longestLoop returns the instructions between a label and the jump back to it, of loops with no loop inside.
func longestLoop(f *ir.Function) (longest []*ir.Instruction) {
	begin := make(map[ir.Label]int)
	all, inner := []*ir.Instruction{}, 0 // where the loop before began
	for _, n := range f.Nodes {
		switch n := n.(type) {
		case ir.Label:
			begin[n] = len(all)
		case *ir.Instruction:
			all = append(all, n)
			if to := n.TargetLabel(); to != nil {
				from, back := begin[*to]
				if back && from >= inner && len(all)-from > len(longest) {
					longest = all[from:len(all):len(all)]
				}
				if back {
					inner = max(inner, from)
				}
			}
		}
	}
	return longest
}

// dotLatency is the cycles from one result of an instruction to the next that adds to it; those
// of VDPBF16PS are measured (peak.go), the others are uops.info's for Zen 4.
var dotLatency = map[string]int{"VFMADD231PS": 4, "VPDPBUSD": 4, opDotVEX: 4, opDotBF16: 6}

// otherLatency is the latency of the other instructions that add to sums: VADDPS, VPADDD.
const otherLatency = 3

func (l *loop) count(i *ir.Instruction) {
	l.instructions++
	if strings.HasPrefix(i.Opcode, "PREFETCH") {
		l.loads++
		return
	}
	if reads(i) {
		l.loads++
	}
	switch {
	case dotLatency[i.Opcode] > 0:
		l.dots++
		l.vectors++
	case strings.HasPrefix(i.Opcode, "V") && !moves(i.Opcode):
		l.vectors++
	}
}

// moves reports whether an instruction only loads or copies.
func moves(opcode string) bool {
	return strings.HasPrefix(opcode, "VMOV") || strings.HasPrefix(opcode, "VBROADCAST") || strings.HasPrefix(opcode, "VPBROADCAST")
}

// reads reports whether an instruction loads from memory. What stores has memory as its last operand.
func reads(i *ir.Instruction) bool {
	return slices.ContainsFunc(i.Operands[:max(0, len(i.Operands)-1)], func(o operand.Op) bool { _, ok := o.(operand.Mem); return ok })
}

// chainOf returns the cycles that an iteration takes at least because it continues sums of the iteration
// before: the maximum over the registers that it reads before it writes them anew.
func chainOf(body []*ir.Instruction) (longest int) {
	cycles := make(map[reg.ID]int)
	known := make(map[reg.ID]bool) // read first: from the iteration before
	for _, i := range body {
		for _, r := range i.InputRegisters() {
			if clears(i) {
				break
			}
			if _, seen := known[r.(reg.Physical).ID()]; !seen {
				known[r.(reg.Physical).ID()] = true
			}
		}
		for _, r := range i.OutputRegisters() {
			id := r.(reg.Physical).ID()
			if _, seen := known[id]; !seen {
				known[id] = false
			}
			if r.Kind() == reg.KindVector && known[id] {
				cycles[id] += max(dotLatency[i.Opcode], otherLatency)
				longest = max(longest, cycles[id])
			}
		}
	}
	return longest
}

// clears reports whether an instruction is a way to write zero: it waits for no operand.
func clears(i *ir.Instruction) bool {
	return strings.HasPrefix(i.Opcode, "VPXOR") && i.Operands[0] == i.Operands[1]
}

// writeLoops writes the loops to package tile.
func writeLoops(all []loop) error {
	var b bytes.Buffer
	b.WriteString("// Code generated by command: go generate. DO NOT EDIT.\n\npackage tile\n\nimport \"github.com/ggmlc/ggmlc/ir/dtype\"\n\n")
	b.WriteString("// loops are the tiles in assembly.\nvar loops = []loop{\n")
	for _, l := range all {
		fmt.Fprintf(&b, "{dtype.%s, %s, %d, %d, %d, %d, %d, %d, %d, %d},\n", l.weight, l.feature, l.rows, l.panels, l.depth, l.dots, l.vectors, l.loads, l.instructions, l.chain)
	}
	b.WriteString("}\n")
	text, err := gofmt.Source(b.Bytes())
	if err != nil {
		return err
	}
	return os.WriteFile("../tile/loops.go", text, 0o644)
}
