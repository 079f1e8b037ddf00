package ptx

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Check reads PTX text and reports what is wrong with it, with line numbers: syntax, unknown instructions and
// directives, operands of another number or type than the instruction has, names that are declared twice or not at all,
// labels that nothing branches to, registers that are read before they are written, and instructions that the module's
// version or target does not have. It knows the instructions that Emit prints and their relatives, and refuses others.
func Check(text string) error {
	_, err := checked(text)
	return err
}

// checked returns the module that Check has read.
func checked(text string) (*module, error) {
	m, err := parse(text)
	if m == nil {
		return nil, err
	}
	c := &checker{m: m, found: []error{err}}
	c.header()
	for _, e := range m.entries {
		c.entry(e)
	}
	return m, errors.Join(c.found...)
}

type checker struct {
	m     *module
	sm    int // number of the target
	e     *entry
	s     *statement
	used  map[string]bool // labels
	found []error
}

func (c *checker) fail(format string, args ...any) {
	line := 1
	if c.s != nil {
		line = c.s.line
		format = c.s.op + ": " + format
	}
	c.found = append(c.found, fault(line, format, args...))
}

// header checks the target against the version.
func (c *checker) header() {
	a, ok := architectures[c.m.target]
	c.sm = a.sm
	switch {
	case !ok:
		c.fail("the target %s is not known", c.m.target)
	case c.m.version.less(a.since):
		c.fail("%s exists from version %v on, this is %v", c.m.target, a.since, c.m.version)
	case len(c.m.entries) == 0:
		c.fail("there is no entry")
	}
}

func (c *checker) entry(e *entry) {
	c.e, c.s, c.used = e, nil, make(map[string]bool)
	if len(e.threads) > 3 || product(e.threads) < 1 || product(e.threads) > 1024 {
		c.fail(".reqntid %v: a workgroup has 1 to 1024 threads in up to 3 dimensions (11.4.3)", e.threads)
	}
	for i := range e.statements {
		c.s = &e.statements[i]
		c.statement()
	}
	c.s = nil
	for _, name := range slices.Sorted(maps.Keys(e.lines)) {
		if !c.used[name] {
			c.found = append(c.found, fault(e.lines[name], "nothing branches to %s", name))
		}
	}
	if len(c.found) == 1 && c.found[0] == nil {
		c.flow(e)
	}
}

func product(list []int) int {
	p := 1
	for _, n := range list {
		p *= n
	}
	return p
}

// statement checks an instruction.
func (c *checker) statement() {
	if g := c.s.guard; g != "" && c.e.registers[g] != "pred" {
		c.fail("the guard %s is no predicate (9.3)", g)
	}
	r, types, lanes, known := find(c.s.op)
	switch {
	case !known:
		c.fail("is not known")
		return
	case r == nil:
		c.fail("does not exist with these types")
		return
	case c.sm > 0 && (c.m.version.less(r.since) || c.sm < r.sm):
		c.fail("needs version %v and sm_%d (%s), this is %v for %s", r.since, r.sm, r.section, c.m.version, c.m.target)
	}
	if strings.HasPrefix(r.op, "wgmma.") {
		c.ofWarpgroup()
	}
	specs := strings.Fields(r.operands)
	if len(specs) != len(c.s.operands) {
		c.fail("%d operands instead of %d (%s)", len(c.s.operands), len(specs), r.section)
		return
	}
	if lanes > 1 && lanes*sizes[types[0]] > 128 {
		c.fail("a vector has 128 bits at most (5.4.2)")
	}
	for i, spec := range specs {
		c.operand(c.s.operands[i], spec, types, lanes)
	}
}

// ofWarpgroup checks an instruction of a warpgroup: it exists for one architecture (11.1.2 of version 8.7), and all
// threads of four warps run it.
func (c *checker) ofWarpgroup() {
	if c.m.target != "sm_90a" {
		c.fail("exists for sm_90a only, this is for %s", c.m.target)
	}
	if n := product(c.e.threads); n%warpgroup != 0 {
		c.fail("%d threads are no whole number of warpgroups of %d (9.7.15.1 of version 8.7)", n, warpgroup)
	}
	if c.s.guard != "" {
		c.fail("all threads of a warpgroup run it, so it has no guard")
	}
}

// operand checks an operand against its word in the rule.
func (c *checker) operand(o operand, spec string, types []string, lanes int) {
	switch spec {
	case "label":
		c.label(o)
	case "zero":
		if o.form != intOperand || o.value > 15 {
			c.fail("a barrier has a number up to 15")
		}
	case "[row]":
		c.address(o, "[shared]", 16)
	case "4|8|16", "16|", "1|", "0|1":
		if o.form != intOperand || !slices.Contains(strings.Split(spec, "|"), strconv.FormatUint(o.value, 10)) {
			c.fail("an operand is none of %s", spec)
		}
	case "count":
		if o.form != intOperand || o.signed {
			c.fail("an operand is no number")
		}
	case "[global:]", "[shared:]":
		if size := c.s.operands[len(c.s.operands)-1].value; size > 0 && size <= 16 {
			c.address(o, strings.Replace(spec, ":", "", 1), int(size))
		}
	case "[param]", "[global]", "[shared]":
		c.address(o, spec, lanes*sizes[types[0]]/8)
	case "=mov", "mov":
		c.moved(o, spec == "=mov", types[0])
	default:
		c.typed(o, spec, types, lanes)
	}
}

// typed checks an operand whose word has a type.
func (c *checker) typed(o operand, spec string, types []string, lanes int) {
	spec, isResult := strings.CutPrefix(spec, "=")
	spec, isWide := strings.CutPrefix(spec, "~")
	spec, count, isList := strings.Cut(spec, "*")
	if isList {
		lanes, _ = strconv.Atoi(count)
	}
	typ := strings.TrimSuffix(spec, "v")
	if at, err := strconv.Atoi(typ); err == nil {
		typ = types[at]
	}
	agree := agrees
	if isWide {
		agree = agreesWide
	}
	if lanes == 1 {
		c.value(o, typ, isResult, agree)
		return
	}
	if o.form != listOperand || len(o.list) != lanes {
		c.fail("an operand is no list of %d registers", lanes)
		return
	}
	for _, lane := range o.list {
		c.value(lane, typ, isResult, agree)
	}
	c.together(o.list, isResult)
}

// together checks that the types of a list's registers agree among themselves, too, as ptxas demands, and that an
// instruction writes each register once, which ptxas does not look at.
func (c *checker) together(list []operand, isResult bool) {
	for i, o := range list {
		for _, other := range list[:i] {
			a, b := c.e.registers[o.name], c.e.registers[other.name]
			if a != "" && b != "" && !agrees(a, b) {
				c.fail("%s is a .%s, another register of the list is a .%s", o.name, a, b)
				return
			}
			if isResult && o.name == other.name {
				c.fail("%s is written twice", o.name)
			}
		}
	}
}

// value checks a register or a constant.
func (c *checker) value(o operand, typ string, isResult bool, agree func(typ, register string) bool) {
	switch {
	case o.form == nameOperand:
		if r := c.e.registers[o.name]; r == "" {
			c.fail("%s is no register", o.name)
		} else if !agree(typ, r) {
			c.fail("%s is a .%s, not a .%s (9.4)", o.name, r, typ)
		}
	case isResult:
		c.fail("the result is no register")
	case o.form == intOperand && isInt(typ):
		if !fits(o, sizes[typ]) {
			c.fail("the constant has more than %d bits", sizes[typ])
		}
	case o.form == floatOperand && typ == "f32":
	default:
		c.fail("an operand is no register or constant of type .%s", typ)
	}
}

// fits reports whether an integer has that many bits, with or without sign.
func fits(o operand, bits int) bool {
	if o.signed {
		return int64(o.value) >= -1<<(bits-1) && int64(o.value) <= 0
	}
	return bits == 64 || o.value < 1<<bits
}

// isInt reports whether constants of the type are integers; predicates have them too (4.6.2).
func isInt(typ string) bool { return typ[0] != 'f' }

// agrees reports whether a register may be an operand of a type (9.4, table of type checking rules).
func agrees(typ, register string) bool {
	if typ == register {
		return true
	}
	if typ == "pred" || register == "pred" || sizes[typ] != sizes[register] {
		return false
	}
	return typ[0] == 'b' || register[0] == 'b' || typ[0] != 'f' && register[0] != 'f'
}

// agreesWide is agrees for instructions whose operands may be wider than the type (9.4.1).
func agreesWide(typ, register string) bool {
	if typ == "pred" || register == "pred" || sizes[register] < sizes[typ] {
		return typ == register
	}
	switch {
	case register[0] == 'f':
		return typ[0] == 'b' || typ == register
	case typ[0] == 'f':
		return register[0] == 'b'
	}
	return true
}

func (c *checker) label(o operand) {
	if _, ok := c.e.labels[o.name]; o.form != nameOperand || !ok {
		c.fail("%q is no label", o.name)
		return
	}
	c.used[o.name] = true
}

// moved checks an operand of mov: besides registers and constants a special register, the address of shared memory, or
// a list that is packed or unpacked (9.7.8.3, 9.7.8.4).
func (c *checker) moved(o operand, isResult bool, typ string) {
	_, isShared := c.e.shared[o.name]
	_, isParam := c.e.params[o.name]
	switch {
	case o.form == listOperand:
		c.packed(o, isResult, typ)
	case !isResult && o.form == nameOperand && (specials[o.name] || isShared || isParam):
		if isSpecial := specials[o.name]; typ[0] == 'f' || sizes[typ] != 32 && (isSpecial || sizes[typ] != 64) {
			c.fail("%s does not fit a .%s", o.name, typ)
		}
	default:
		c.value(o, typ, isResult, agrees)
	}
}

// packed checks a list of 2 or 4 registers whose bits make up the type; the other operand is one register.
func (c *checker) packed(o operand, isResult bool, typ string) {
	if typ[0] != 'b' || len(o.list) != 2 && len(o.list) != 4 || sizes[typ]/len(o.list) < 16 {
		c.fail("a .%s is not packed from %d registers (9.7.8.4)", typ, len(o.list))
		return
	}
	if c.s.operands[0].form == listOperand && c.s.operands[1].form != nameOperand {
		c.fail("only a register is unpacked")
	}
	for _, part := range o.list {
		if part.form != nameOperand {
			c.fail("only registers are packed")
			return
		}
		c.value(part, "b"+strconv.Itoa(sizes[typ]/len(o.list)), isResult, agrees)
	}
	c.together(o.list, isResult)
}

// address checks the operand of an access to that many bytes (6.4.1).
func (c *checker) address(o operand, space string, bytes int) {
	if o.form != addressOperand {
		c.fail("an operand is no address")
		return
	}
	v, isVariable := c.e.params[o.name]
	if space == "[shared]" {
		v, isVariable = c.e.shared[o.name]
	}
	register := c.e.registers[o.name]
	isAddress := register == "u64" || register == "s64" || register == "b64"
	if space == "[shared]" {
		isAddress = isAddress || register == "u32" || register == "s32" || register == "b32"
	}
	switch {
	case space != "[global]" && isVariable:
		if o.value+uint64(bytes) > uint64(v.bytes) || v.align%bytes != 0 && bytes%v.align != 0 {
			c.fail("%s has %d bytes, the access is to %d at %d", o.name, v.bytes, bytes, o.value)
		}
	case space == "[param]" || !isAddress:
		c.fail("%s is no address in the space %s", o.name, strings.Trim(space, "[]"))
	}
	if o.value%uint64(bytes) != 0 {
		c.fail("the offset %d is no multiple of %d bytes", o.value, bytes)
	}
}
