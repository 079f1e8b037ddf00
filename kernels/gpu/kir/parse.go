package kir

import (
	"fmt"
	"strings"
)

// maxDepth bounds the nesting of blocks in a text, and so the stack of the parser.
const maxDepth = 100

// Parse reads the text form of a kernel, as String prints it. Blanks separate words, // begins a comment, and an
// instruction ends with its line. An error begins with line and column. Parse infers the types that the text leaves
// out, but does not verify the kernel: call Verify.
func Parse(text string) (*Kernel, error) {
	p := &parser{text: text, k: &Kernel{Body: new(Block)}, values: make(map[string]*Value)}
	p.lines()
	p.kernel()
	p.lines()
	if p.at < len(p.text) {
		p.fail(p.at, "text after the end of the kernel")
	}
	if p.err != nil {
		return nil, p.err
	}
	p.k.Needs = p.k.needs()
	return p.k, nil
}

// parser reads a text from at on. After the first error it reads nothing more.
type parser struct {
	text   string
	at     int
	depth  int
	k      *Kernel
	values map[string]*Value
	err    error
}

// fail records the first error, with the position of byte at of the text.
func (p *parser) fail(at int, format string, args ...any) {
	if p.err != nil {
		return
	}
	before := p.text[:at]
	line := strings.Count(before, "\n") + 1
	column := at - strings.LastIndexByte(before, '\n')
	p.err = fmt.Errorf("%d:%d: %s", line, column, fmt.Sprintf(format, args...))
	p.at = len(p.text)
}

// typ reads a type.
func (p *parser) typ() Type {
	p.blanks()
	from := p.at
	s := p.word("a type")
	for k := Invalid + 1; k < numKinds; k++ {
		for _, t := range []Type{Scalar(k), Vector(k, 2), Vector(k, 4), Tile(k, TileA), Tile(k, TileB), Tile(k, TileSum)} {
			if t.String() == s {
				return t
			}
		}
	}
	for cols := SlabStep; cols <= SlabCols; cols += SlabStep {
		if t := Slab(cols); t.String() == s {
			return t
		}
	}
	p.fail(from, "%q is no type", s)
	return Type{}
}

func (p *parser) kernel() {
	p.keyword("kernel")
	p.k.Name = p.word("the kernel's name")
	p.keyword("threads")
	p.expect("=")
	p.k.Threads = int(p.count(31))
	p.keyword("args")
	p.expect("=")
	p.expect("(")
	for p.err == nil && !p.accept(")") {
		if len(p.k.Args) > 0 {
			p.expect(",")
		}
		p.arg()
	}
	p.expect("{")
	p.endLine()
	for p.peekWord() == "shared" {
		p.shared()
	}
	p.block(p.k.Body)
	p.expect("}")
}

func (p *parser) arg() {
	p.blanks()
	from := p.at
	name := p.run(isValueByte)
	p.expect(":")
	p.k.Args = append(p.k.Args, p.define(token{name, from}, p.typ(), nil))
}

func (p *parser) shared() {
	p.keyword("shared")
	p.blanks()
	from := p.at
	s := &Shared{Name: p.word("the array's name")}
	if p.findShared(s.Name) != nil {
		p.fail(from, "%s is declared twice", s.Name)
	}
	p.expect(":")
	s.Elem = p.typ()
	p.expect("[")
	s.Len = int(p.count(31))
	p.expect("]")
	p.endLine()
	p.k.Shared = append(p.k.Shared, s)
}

func (p *parser) findShared(name string) *Shared {
	for _, s := range p.k.Shared {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// token is the name of a value that is defined later in the text than it is read.
type token struct {
	name string
	at   int
}

// name reads a % and the name of a value.
func (p *parser) name() token {
	p.blanks()
	t := token{at: p.at}
	p.expect("%")
	t.name = p.run(isValueByte)
	if t.name == "" {
		p.fail(p.at, "expected a value's name")
	}
	return t
}

// define adds a value. Values have ids in the order in which a Builder gives them.
func (p *parser) define(t token, of Type, def *Instr) *Value {
	if t.name == "" {
		p.fail(t.at, "expected a value's name")
	}
	if p.values[t.name] != nil {
		p.fail(t.at, "%%%s is defined twice", t.name)
	}
	v := &Value{ID: len(p.values), Type: of, Name: t.name, Def: def}
	p.values[t.name] = v
	return v
}

// use reads the name of a value that is defined.
func (p *parser) use() *Value {
	t := p.name()
	v := p.values[t.name]
	if v == nil {
		p.fail(t.at, "%%%s is not defined", t.name)
		return &Value{}
	}
	return v
}

// uses reads values, separated by commas.
func (p *parser) uses() []*Value {
	list := []*Value{p.use()}
	for p.accept(",") {
		list = append(list, p.use())
	}
	return list
}

// block reads instructions up to the brace that ends the block.
func (p *parser) block(b *Block) {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.at, "blocks are nested deeper than %d", maxDepth)
	}
	for p.err == nil && !p.peek("}") {
		if p.peekWord() == "yield" {
			p.keyword("yield")
			b.Yield = p.uses()
			p.endLine()
			break
		}
		b.Instrs = append(b.Instrs, p.instr())
		p.endLine()
	}
	p.depth--
}

func (p *parser) instr() *Instr {
	var results []token
	if p.peek("%") {
		results = append(results, p.name())
		for p.accept(",") {
			results = append(results, p.name())
		}
		p.expect("=")
	}
	p.blanks()
	from := p.at
	i := &Instr{Op: p.op()}
	var types []Type
	switch i.Op {
	case OpFor:
		p.loop(i)
		types = typesOf(i.Args[3:])
	case OpIf:
		p.branch(i)
		types = typesOf(i.Body.Yield)
	default:
		types = p.simple(i, from)
	}
	if len(results) != len(types) {
		p.fail(from, "%v has %d results, not %d", i.Op, len(types), len(results))
		return i
	}
	for n, t := range results {
		i.Results = append(i.Results, p.define(t, types[n], i))
	}
	return i
}

// op reads the name of an operation.
func (p *parser) op() Op {
	from := p.at
	s := p.word("an operation")
	for o := OpInvalid + 1; o < numOps; o++ {
		if opNames[o] == s {
			return o
		}
	}
	p.fail(from, "%q is no operation", s)
	return OpInvalid
}

func typesOf(values []*Value) []Type {
	var list []Type
	for _, v := range values {
		list = append(list, v.Type)
	}
	return list
}

// loop reads a for after its name. The number of results is that of the carried values.
func (p *parser) loop(i *Instr) {
	i.Body = new(Block)
	index := p.name()
	p.expect("=")
	i.Args = append(i.Args, p.use())
	p.keyword("to")
	i.Args = append(i.Args, p.use())
	p.keyword("step")
	i.Args = append(i.Args, p.use())
	var carried []token
	if p.peekWord() == "carry" {
		carried = p.carry(i)
	}
	i.Body.Params = []*Value{p.define(index, Scalar(I32), nil)}
	for n, t := range carried {
		i.Body.Params = append(i.Body.Params, p.define(t, i.Args[3+n].Type, nil))
	}
	p.expect("{")
	p.endLine()
	p.block(i.Body)
	p.expect("}")
}

// carry reads the carried values of a for, and appends their first ones to its operands.
func (p *parser) carry(i *Instr) []token {
	p.keyword("carry")
	p.expect("(")
	var names []token
	for p.err == nil && !p.accept(")") {
		if len(names) > 0 {
			p.expect(",")
		}
		names = append(names, p.name())
		p.expect("=")
		i.Args = append(i.Args, p.use())
	}
	return names
}

// branch reads an if after its name.
func (p *parser) branch(i *Instr) {
	i.Args = []*Value{p.use()}
	i.Body = p.braced()
	if p.peekWord() == "else" {
		p.keyword("else")
		i.Else = p.braced()
	}
}

func (p *parser) braced() *Block {
	b := new(Block)
	p.expect("{")
	p.endLine()
	p.block(b)
	p.expect("}")
	return b
}

// simple reads an operation without blocks after its name, and returns the types of its results. The operation begins
// at byte from.
func (p *parser) simple(i *Instr, from int) []Type {
	var t Type
	if typed[i.Op] {
		t = p.typ()
	}
	if i.Op == OpConst {
		i.Imm = p.constant(t)
	}
	if accessesShared(i.Op) {
		p.blanks()
		at := p.at
		name := p.word("a shared array")
		if i.Shared = p.findShared(name); i.Shared == nil {
			p.fail(at, "the kernel has no shared array %q", name)
		}
	}
	if p.peek("%") {
		i.Args = p.uses()
	}
	if i.Op == OpSlabMulAdd {
		p.expect("{")
		across := p.count(32)
		p.expect(",")
		i.Imm = across | p.count(32)<<32
		p.expect("}")
	}
	if immediate[i.Op] {
		p.expect("{")
		i.Imm = p.count(64)
		p.expect("}")
	}
	if p.err != nil {
		return nil
	}
	return p.resultTypes(i, t, from)
}

// resultTypes infers the types of an operation's results; t is the type in its text.
func (p *parser) resultTypes(i *Instr, t Type, from int) []Type {
	switch i.Op {
	case OpStore, OpSharedStore, OpTileSharedStore, OpBarrier, OpCopyAsync, OpCopyCommit, OpCopyWait,
		OpSlabFence, OpSlabCommit, OpSlabWait, OpSlabPublish:
		return nil
	case OpThread, OpGroup, OpNumGroups, OpLane, OpSubgroup, OpLanes:
		return []Type{Scalar(I32)}
	case OpEq, OpNe, OpLt, OpLe:
		return []Type{Scalar(Bool)}
	case OpOffset:
		return []Type{Scalar(U64)}
	case OpSharedLoad:
		return []Type{i.Shared.Elem}
	case OpTileFill, OpSlabTile:
		return []Type{Tile(F32, TileSum)}
	}
	if typed[i.Op] {
		return []Type{t}
	}
	if len(i.Args) == 0 {
		p.fail(from, "%v has no operands", i.Op)
		return nil
	}
	first := i.Args[0].Type
	switch i.Op {
	case OpShl, OpShr:
		return []Type{first}
	case OpExtract:
		return []Type{Scalar(first.Kind)}
	case OpVector:
		if len(i.Args) != 2 && len(i.Args) != 4 {
			p.fail(from, "a vector has 2 or 4 lanes, not %d", len(i.Args))
		}
		return []Type{Vector(first.Kind, len(i.Args))}
	}
	return []Type{i.Args[len(i.Args)-1].Type}
}
