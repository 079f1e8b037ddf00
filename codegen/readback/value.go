package readback

import (
	"fmt"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// kind is the kind of a value.
type kind uint8

const (
	invalid   kind = iota
	number         // an integer: n
	real           // a floating-point constant: text is its literal
	text           // a string constant: text
	boolean        // text is true or false
	null           // nil
	pointer        // n bytes after the beginning of the memory base
	object         // one of the runtime's objects that step functions are given: text
	name           // a declaration: text, such as runtime.MarkEnd or weights; addressed where addr is set
	composite      // a composite literal: text is its type
	code           // bytes n to to of the file with kernels of GPUs that the variable text holds
	call           // a call of a function in a table: text is its name, list its arguments
)

// value is the result of an expression of an emitted program.
type value struct {
	kind kind
	n    ir.Dim
	base base
	text string
	addr bool // taken with &
	to   int64

	list   []value          // of a composite without keys
	fields map[string]value // of a composite with keys
}

// base is the memory that a pointer is into: that of a class of the host's arenas, or a
// numbered memory as a device sees it.
type base struct {
	class  string // a field of runtime.Args; "" for a device's
	memory int
}

func (b base) String() string {
	if b.class != "" {
		return "a." + b.class
	}
	return fmt.Sprintf("e.Mem[%d]", b.memory)
}

// The objects of step functions and of kernels of devices.
const (
	objWorker = "worker"
	objArgs   = "args"
	objEnv    = "env"
	objGPU    = "GPU environment"
	objGroup  = "group environment"
	objQueues = "queues"
	objShare  = "share"

	objForeign = "environment of another module"
)

func num(d ir.Dim) value     { return value{kind: number, n: d} }
func constant(n int64) value { return num(ir.Const(n)) }
func obj(which string) value { return value{kind: object, text: which} }

// isEnvironment reports whether v is what a command of a device is given.
func (v value) isEnvironment() bool {
	return v.isObject(objEnv) || v.isObject(objGPU) || v.isObject(objGroup)
}

// isObject reports whether v is that object of the runtime's.
func (v value) isObject(which string) bool { return v.kind == object && v.text == which }

// String returns the value as differences name it.
func (v value) String() string {
	switch v.kind {
	case number:
		return readable(v.n)
	case pointer:
		return fmt.Sprintf("%v+%s", v.base, readable(v.n))
	case text:
		return fmt.Sprintf("%q", v.text)
	case null:
		return "nil"
	case composite:
		return v.text + "{…}"
	case call:
		return v.text + "(…)"
	}
	if v.addr {
		return "&" + v.text
	}
	return v.text
}

// Symbols that the module does not have. No name of a module's symbol begins with a NUL.
const private = "\x00"

func readable(d ir.Dim) string { return strings.ReplaceAll(d.String(), private, "") }

// symbol returns a symbol of this package.
func symbol(name string, most int64) ir.Dim {
	return ir.Sym(&ir.Symbol{Name: private + name, Min: 0, Max: most})
}

// The number of the worker and of all workers, the instance of the step, and the index of the loop around one call.
var (
	part  = symbol("w.Part", 1<<16)
	parts = symbol("w.Parts", 1<<16)
	slot  = symbol("slot", 1<<16)
	index = symbol("i", 1<<40)
)

// borders returns the first index that a worker owns of n in granules, and the one after the
// last: the results of tile.Range.
func borders(n ir.Dim, granule int64) (lo, hi ir.Dim) {
	return border("range", n, granule)
}

// share returns the borders of the pieces that a worker takes of n in granules.
func share(n ir.Dim, granule int64) (lo, hi ir.Dim) {
	return border("share", n, granule)
}

// border returns borders between granules. Each is a whole number of granules or n itself, so that it is
// a multiple of every common divisor of both.
func border(what string, n ir.Dim, granule int64) (lo, hi ir.Dim) {
	of := fmt.Sprintf("%s(%v by %d)", what, n, granule)
	unit := ir.Const(divisor(n, granule))
	return symbol(of+".lo", n.Upper()).Mul(unit), symbol(of+".hi", n.Upper()).Mul(unit)
}

// divisor returns the largest divisor of granule that is seen to divide n for all sizes.
func divisor(n ir.Dim, granule int64) int64 {
	_, scale, offset, linear := n.Linear()
	switch {
	case granule < 1:
		return 1
	case n.DivisibleBy(granule):
		return granule
	case linear:
		return gcd(granule, gcd(scale, offset))
	}
	return 1
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}
