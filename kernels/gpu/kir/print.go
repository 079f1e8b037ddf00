package kir

import (
	"fmt"
	"math"
	"strings"
)

// String returns the text form of the kernel.
func (k *Kernel) String() string {
	p := &printer{}
	fmt.Fprintf(p, "kernel %s threads=%d args=(", k.Name, k.Threads)
	for i, a := range k.Args {
		if i > 0 {
			p.WriteString(", ")
		}
		fmt.Fprintf(p, "%s: %v", a.Name, a.Type)
	}
	p.WriteString(") {\n")
	for _, s := range k.Shared {
		fmt.Fprintf(p, "  shared %s: %v[%d]\n", s.Name, s.Elem, s.Len)
	}
	p.block(k.Body, "  ")
	p.WriteString("}\n")
	return p.Builder.String()
}

// String returns the text form of the instruction, with its blocks.
func (i *Instr) String() string {
	p := &printer{}
	p.instr(i, "")
	return strings.TrimSuffix(p.Builder.String(), "\n")
}

type printer struct{ strings.Builder }

func (p *printer) block(b *Block, indent string) {
	for _, i := range b.Instrs {
		p.WriteString(indent)
		p.instr(i, indent)
	}
	if len(b.Yield) > 0 {
		p.WriteString(indent + "yield " + names(b.Yield) + "\n")
	}
}

func names(values []*Value) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = "%" + v.Name
	}
	return strings.Join(list, ", ")
}

func (p *printer) instr(i *Instr, indent string) {
	if len(i.Results) > 0 {
		p.WriteString(names(i.Results) + " = ")
	}
	switch i.Op {
	case OpFor:
		p.loop(i, indent)
		return
	case OpIf:
		p.branch(i, indent)
		return
	}
	p.WriteString(i.Op.String())
	if t := i.resultType(); typed[i.Op] {
		fmt.Fprintf(p, " %v", t)
	}
	if i.Op == OpConst {
		p.WriteString(" " + constant(i.resultType().Kind, i.Imm))
	}
	if i.Shared != nil {
		p.WriteString(" " + i.Shared.Name)
	}
	if len(i.Args) > 0 {
		p.WriteString(" " + names(i.Args))
	}
	switch across, down := i.SlabStrides(); {
	case i.Op == OpSlabMulAdd:
		fmt.Fprintf(p, " {%d, %d}", across, down)
	case immediate[i.Op]:
		fmt.Fprintf(p, " {%d}", i.Imm)
	}
	p.WriteString("\n")
}

// typed are the operations whose text has the type of the result, immediate those whose text has Imm in braces.
var (
	typed = map[Op]bool{
		OpConst: true, OpConvert: true, OpBitcast: true, OpLoad: true, OpLoadUniform: true,
		OpTileLoad: true, OpTileSharedLoad: true, OpTileTurned: true, OpSlabFill: true,
	}
	immediate = map[Op]bool{
		OpOffset: true, OpExtract: true, OpShuffleXor: true, OpCopyAsync: true, OpCopyWait: true,
		OpTileLoad: true, OpTileSharedLoad: true, OpTileTurned: true, OpTileSharedStore: true, OpSlabWait: true, OpSlabTile: true,
	}
)

// constant returns a number that is read back as the same bits: in decimal, or for floats as a hexadecimal
// floating-point number, inf, -inf, or nan with the bits.
func constant(k Kind, bits uint64) string {
	switch k {
	case I32:
		return fmt.Sprint(int32(bits))
	case F32:
		x := math.Float32frombits(uint32(bits))
		switch {
		case x != x:
			return fmt.Sprintf("nan:%#x", bits)
		case math.IsInf(float64(x), 0):
			return map[bool]string{true: "inf", false: "-inf"}[x > 0]
		case x == float32(int32(x)) && math.Abs(float64(x)) < 1<<20 && (x != 0 || bits == 0):
			return fmt.Sprint(int32(x))
		}
		return fmt.Sprintf("%x", x)
	case F16, BF16:
		return fmt.Sprintf("bits:%#x", bits)
	}
	return fmt.Sprint(bits)
}

func (p *printer) loop(i *Instr, indent string) {
	in := i.Body.Params
	fmt.Fprintf(p, "for %%%s = %%%s to %%%s step %%%s", in[0].Name, i.Args[0].Name, i.Args[1].Name, i.Args[2].Name)
	if len(in) > 1 {
		p.WriteString(" carry (")
		for n, c := range in[1:] {
			if n > 0 {
				p.WriteString(", ")
			}
			fmt.Fprintf(p, "%%%s = %%%s", c.Name, i.Args[3+n].Name)
		}
		p.WriteString(")")
	}
	p.WriteString(" {\n")
	p.block(i.Body, indent+"  ")
	p.WriteString(indent + "}\n")
}

func (p *printer) branch(i *Instr, indent string) {
	p.WriteString("if " + names(i.Args) + " {\n")
	p.block(i.Body, indent+"  ")
	if i.Else != nil {
		p.WriteString(indent + "} else {\n")
		p.block(i.Else, indent+"  ")
	}
	p.WriteString(indent + "}\n")
}
