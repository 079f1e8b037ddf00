package kir

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Limits that every device of ours has.
const (
	maxThreads = 1024
	maxShared  = 32 << 10 // bytes
	maxArgs    = 64
	maxGroups  = 8 // of copies under way that a copy_wait leaves
)

// Verify checks that each value is defined once and before it is used, that operands and results have the types that the
// operations want, that constants fit, and that no barrier is in control flow that depends on the thread. It returns all
// faults, joined.
func Verify(k *Kernel) error {
	v := &verifier{k: k, defined: make(map[*Value]bool), ids: make(map[int]bool), names: make(map[string]bool), varies: make(map[*Value]bool)}
	v.kernel()
	return errors.Join(v.found...)
}

type verifier struct {
	k       *Kernel
	defined map[*Value]bool
	ids     map[int]bool
	names   map[string]bool
	varies  map[*Value]bool // values that may differ between threads of a workgroup
	diverge int             // blocks around the current instruction that not all threads may run, or not equally often
	at      *Instr
	found   []error
}

func (v *verifier) fail(format string, args ...any) {
	where := v.k.Name
	if v.at != nil {
		where += ": " + v.at.Op.String()
		if r := v.at.Result(); r != nil {
			where += " %" + r.Name
		}
	}
	v.found = append(v.found, fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...)))
}

func (v *verifier) must(ok bool, format string, args ...any) {
	if !ok {
		v.fail(format, args...)
	}
}

func (v *verifier) kernel() {
	k := v.k
	v.must(isName(k.Name), "the name %q is not letters, digits and _", k.Name)
	v.must(k.Threads >= 1 && k.Threads <= maxThreads, "%d threads: a workgroup has 1 to %d", k.Threads, maxThreads)
	v.must(len(k.Args) <= maxArgs, "%d arguments: at most %d fit", len(k.Args), maxArgs)
	v.must(k.SharedBytes() <= maxShared, "%d bytes of shared memory: at most %d", k.SharedBytes(), maxShared)
	names := make(map[string]bool)
	for _, s := range k.Shared {
		v.must(isName(s.Name) && !names[s.Name], "the shared array %q has no name of its own", s.Name)
		v.must(s.Len > 0 && s.Elem.Bytes() > 0 && validLanes(s.Elem), "the shared array %s has no bytes", s.Name)
		v.must(s.Len <= maxShared, "the shared array %s has %d elements: at most %d bytes fit", s.Name, s.Len, maxShared)
		names[s.Name] = true
	}
	for _, a := range k.Args {
		v.must(a.Type == Scalar(U64) || a.Type == Scalar(I32) || a.Type == Scalar(U32), "argument %s is %v", a.Name, a.Type)
		v.define(a, false)
	}
	v.block(k.Body)
	v.at = nil
	v.must(len(k.Body.Params) == 0 && len(k.Body.Yield) == 0, "the body has parameters or results")
}

func isName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

// isValueName allows dots, which a Builder puts before the numbers that make names unique.
func isValueName(s string) bool { return isName(strings.ReplaceAll(s, ".", "_")) }

func validLanes(t Type) bool { return t.Lanes == 1 || t.Lanes == 2 || t.Lanes == 4 }

// define adds a value; varies tells whether threads may have different ones.
func (v *verifier) define(x *Value, varies bool) {
	switch {
	case x == nil:
		v.fail("a value is nil")
		return
	case v.defined[x] || v.ids[x.ID] || x.ID < 0:
		v.fail("%%%s is defined twice, or another value has its id", x.Name)
	case !isValueName(x.Name) || v.names[x.Name]:
		v.fail("the name %%%s is taken, or not letters, digits, _ and .", x.Name)
	case x.Type.Kind == Invalid || x.Type.Kind >= numKinds || !validLanes(x.Type) || x.Type.Kind == Bool && x.Type.Lanes > 1:
		v.fail("%%%s has no possible type: %v", x.Name, x.Type)
	}
	v.defined[x], v.ids[x.ID], v.names[x.Name], v.varies[x] = true, true, true, varies
}

// block checks a block. What it defines is not visible after it.
func (v *verifier) block(b *Block) {
	var own []*Value
	for _, i := range b.Instrs {
		v.at = i
		if v.instr(i) {
			own = append(own, i.Results...)
		}
	}
	v.at = nil
	for _, y := range b.Yield {
		v.must(y != nil && v.defined[y], "a block yields a value that is not defined there")
	}
	for _, x := range append(own, b.Params...) {
		delete(v.defined, x)
	}
}

// instr checks an instruction; ok is false if its results were not defined.
func (v *verifier) instr(i *Instr) (ok bool) {
	if i.Op == OpInvalid || i.Op >= numOps {
		v.fail("no operation")
		return false
	}
	for _, a := range i.Args {
		if a == nil || !v.defined[a] {
			v.fail("an operand is not defined before it is used")
			return false
		}
	}
	before := len(v.found)
	if i.Op != OpFor && i.Op != OpIf {
		v.must(i.Body == nil && i.Else == nil, "only for and if have blocks")
	}
	v.signature(i)
	if len(v.found) > before {
		return false
	}
	varies := v.isVarying(i)
	switch i.Op {
	case OpFor:
		varies = v.loop(i, varies)
	case OpIf:
		varies = v.branch(i, varies)
	case OpBarrier:
		v.must(v.diverge == 0, "not all threads may reach it: it is in control flow that depends on the thread")
	case OpReduceAdd, OpReduceMax, OpShuffleXor:
		v.must(v.diverge == 0, "not all threads of the subgroup may reach it")
	}
	v.at = i
	for _, r := range i.Results {
		v.define(r, varies)
	}
	return true
}

// isVarying reports whether threads may get different results.
func (v *verifier) isVarying(i *Instr) bool {
	switch i.Op {
	case OpThread, OpLane, OpSubgroup, OpLoad, OpSharedLoad, OpAtomicAdd, OpReduceAdd, OpReduceMax, OpShuffleXor:
		return true
	}
	return slices.ContainsFunc(i.Args, func(a *Value) bool { return v.varies[a] })
}

// loop checks the body of a for. Its carried values vary if their first ones do, or the number of iterations, or what
// the body yields; the body is checked with the assumption that they do.
func (v *verifier) loop(i *Instr, varies bool) bool {
	bounds := v.varies[i.Args[0]] || v.varies[i.Args[1]] || v.varies[i.Args[2]]
	for at, p := range i.Body.Params {
		v.define(p, at > 0 || bounds)
	}
	v.nested(i.Body, bounds)
	v.at = i
	if v.must(len(i.Body.Yield) == len(i.Results), "the body yields %d values for %d results", len(i.Body.Yield), len(i.Results)); len(i.Body.Yield) == len(i.Results) {
		for at, y := range i.Body.Yield {
			v.must(y != nil && y.Type == i.Results[at].Type, "the body yields another type than result %d has", at)
		}
	}
	return varies || len(i.Results) > 0
}

func (v *verifier) branch(i *Instr, varies bool) bool {
	v.nested(i.Body, varies)
	if i.Else != nil {
		v.nested(i.Else, varies)
	}
	v.at = i
	for _, b := range []*Block{i.Body, i.Else} {
		if b == nil {
			v.must(len(i.Results) == 0, "an if with results has two blocks")
			continue
		}
		if len(b.Yield) != len(i.Results) {
			v.fail("a block yields %d values for %d results", len(b.Yield), len(i.Results))
			continue
		}
		for at, y := range b.Yield {
			v.must(y != nil && y.Type == i.Results[at].Type, "a block yields another type than result %d has", at)
		}
	}
	return true
}

// nested checks a block of an instruction. With diverges not all threads may run it, or not equally often.
func (v *verifier) nested(b *Block, diverges bool) {
	if diverges {
		v.diverge++
	}
	v.block(b)
	if diverges {
		v.diverge--
	}
}
