package spirv

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Disassemble returns the text of a module in the assembly language of SPIRV-Tools, with an instruction on each line:
// what spirv-dis --raw-id --no-header prints. Instructions and numbers that Emit does not use are printed as numbers.
func Disassemble(module []uint32) (string, error) {
	if len(module) < headerWords || module[0] != magic {
		return "", fmt.Errorf("spirv: %d words that are no module", len(module))
	}
	d := &disassembler{types: make(map[id][]uint32), typeOf: make(map[id]id)}
	for at := headerWords; at < len(module); {
		n := int(module[at] >> 16)
		if n == 0 || at+n > len(module) {
			return "", fmt.Errorf("spirv: the instruction at word %d has %d words of %d", at, n, len(module)-at)
		}
		d.instruction(opcode(module[at]), module[at+1:at+n])
		at += n
	}
	return d.text.String(), nil
}

// disassembler prints instructions one after the other.
type disassembler struct {
	text   strings.Builder
	types  map[id][]uint32 // words of the declarations of numeric types
	typeOf map[id]id       // types of results

	// Of the instruction that is printed.
	words  []uint32 // operands that are left
	result id
	of     id // the type of the result
	line   []string
}

// resultColumn is the column of the "=" after a result, from 1.
const resultColumn = 13

func (d *disassembler) instruction(code opcode, words []uint32) {
	d.words, d.result, d.of, d.line = words, 0, 0, nil
	in, known := grammar[code]
	if !known {
		in = instruction{name: fmt.Sprintf("OpUnknown(%d)", code), operands: "N"}
	}
	switch in.result {
	case typedResult:
		d.of, d.result = d.next(), d.next()
		d.line = append(d.line, idText(d.of))
		d.typeOf[d.result] = d.of
	case result:
		d.result = d.next()
	}
	if code == opTypeInt || code == opTypeFloat {
		d.types[d.result] = append([]uint32{uint32(code)}, d.words...)
	}
	for _, kind := range in.operands {
		d.operand(operandKind(kind))
	}
	for len(d.words) > 0 { // more operands than the table knows
		d.number()
	}
	head := strings.Repeat(" ", resultColumn+2)
	if d.result != 0 {
		head = fmt.Sprintf("%*s = ", resultColumn-1, idText(d.result))
	}
	d.text.WriteString(head + strings.Join(append([]string{in.name}, d.line...), " ") + "\n")
}

func idText(x id) string { return "%" + strconv.FormatUint(uint64(x), 10) }

// next takes a word; 0 if there is none.
func (d *disassembler) next() uint32 {
	if len(d.words) == 0 {
		return 0
	}
	w := d.words[0]
	d.words = d.words[1:]
	return w
}

func (d *disassembler) add(text string) { d.line = append(d.line, text) }

func (d *disassembler) id() { d.add(idText(d.next())) }

func (d *disassembler) number() { d.add(strconv.FormatUint(uint64(d.next()), 10)) }

// operand prints operands of a kind. One that is left out prints nothing.
func (d *disassembler) operand(kind operandKind) {
	if len(d.words) == 0 {
		return
	}
	switch kind {
	case anID:
		d.id()
	case ids:
		for len(d.words) > 0 {
			d.id()
		}
	case aNumber:
		d.number()
	case numbers:
		for len(d.words) > 0 {
			d.number()
		}
	case aString:
		d.add(d.string())
	case literalOf:
		d.add(d.literal(d.types[d.of]))
	case memoryAccess:
		d.memoryAccess()
	case decoration:
		if w := d.words[0]; w == decorationBuiltIn {
			d.add(name(decorations, d.next()))
			d.add(name(builtIns, d.next()))
			return
		}
		d.add(name(decorations, d.next()))
	case mask:
		d.add(maskText(nil, d.next()))
	default:
		d.add(name(enumerations[kind], d.next()))
	}
}

// name returns the name of a number, or the number.
func name(names map[uint32]string, n uint32) string {
	if text, ok := names[n]; ok {
		return text
	}
	return strconv.FormatUint(uint64(n), 10)
}

// memoryAccess prints the mask of a load or a store. An alignment follows it.
func (d *disassembler) memoryAccess() {
	m := d.next()
	d.add(maskText(memoryAccesses, m))
	if m&accessAligned != 0 {
		d.number()
	}
}

// maskText returns the names of the bits of a mask.
func maskText(names map[uint32]string, m uint32) string {
	if m == 0 {
		return "None"
	}
	var list []string
	for bit := uint32(1); bit != 0; bit <<= 1 {
		if m&bit != 0 {
			list = append(list, name(names, bit))
		}
	}
	return strings.Join(list, "|")
}

// string takes the words of a string.
func (d *disassembler) string() string {
	var b []byte
	for len(d.words) > 0 {
		w := d.next()
		for range 4 {
			if byte(w) == 0 {
				return quoted(b)
			}
			b = append(b, byte(w))
			w >>= 8
		}
	}
	return quoted(b)
}

func quoted(b []byte) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(string(b)) + `"`
}

// literal takes the words of a number of a type.
func (d *disassembler) literal(typ []uint32) string {
	if len(typ) < 2 {
		return strconv.FormatUint(uint64(d.next()), 10)
	}
	bits := uint64(d.next())
	if typ[1] > 32 {
		bits |= uint64(d.next()) << 32
	}
	switch {
	case opcode(typ[0]) == opTypeInt && len(typ) > 2 && typ[2] == 1:
		return strconv.FormatInt(int64(bits<<(64-typ[1]))>>(64-typ[1]), 10)
	case opcode(typ[0]) == opTypeInt:
		return strconv.FormatUint(bits, 10)
	case typ[1] == 32:
		return float32Text(uint32(bits))
	}
	if len(typ) > 2 && typ[2] == encodingBFloat16KHR {
		return hexFloat(bits, format{7, 8})
	}
	return hexFloat(bits, map[uint32]format{16: {10, 5}, 64: {52, 11}}[typ[1]])
}

// float32Text returns 9 digits, which determine the number, or the hexadecimal form of what is not normal.
func float32Text(bits uint32) string {
	if exponent := bits >> 23 & 0xff; exponent == 0xff || exponent == 0 && bits<<1 != 0 {
		return hexFloat(uint64(bits), format{23, 8})
	}
	return fmt.Sprintf("%.9g", math.Float32frombits(bits))
}

// format is that of floating-point numbers: the bits of the fraction and of the exponent.
type format struct{ fraction, exponent int }

// hexFloat returns a number with a hexadecimal fraction. Infinities and NaN have the exponent after the largest one.
func hexFloat(bits uint64, f format) string {
	sign := ""
	if bits>>(f.fraction+f.exponent)&1 == 1 {
		sign = "-"
	}
	fraction := bits & (1<<f.fraction - 1)
	exponent := int(bits >> f.fraction & (1<<f.exponent - 1))
	if fraction == 0 && exponent == 0 {
		return sign + "0x0p+0"
	}
	power := exponent - (1<<(f.exponent-1) - 1)
	if exponent == 0 {
		for power++; fraction>>f.fraction == 0; power-- { // make the leading 1 implicit
			fraction <<= 1
		}
		fraction &= 1<<f.fraction - 1
	}
	digits := (f.fraction + 3) / 4
	text := strings.TrimRight(fmt.Sprintf("%0*x", digits, fraction<<(4*digits-f.fraction)), "0")
	if text != "" {
		text = "." + text
	}
	return fmt.Sprintf("%s0x1%sp%+d", sign, text, power)
}
