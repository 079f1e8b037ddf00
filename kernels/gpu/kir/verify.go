package kir

import (
	"errors"
	"fmt"
	"strings"
)

// Limits that every device of ours has.
const (
	maxThreads = 1024
	maxShared  = 32 << 10 // bytes
	maxArgs    = 64
	maxGroups  = 8 // of copies under way that a copy_wait leaves
)

// Verify checks that each value is defined once and before it is used, that operands and results have the types that
// the operations want, that constants fit, and that no barrier is in control flow that depends on the thread. It
// returns all faults, joined.
func Verify(k *Kernel) error {
	v := &verifier{k: k, defined: make(map[*Value]bool), ids: make(map[int]bool), names: make(map[string]bool), varies: make(map[*Value]level), slabs: make(map[*Value]*slabUses)}
	v.kernel()
	return errors.Join(v.found...)
}

// level tells among which threads values are equal, or which threads run a block together.
type level uint8

const (
	perGroup    level = iota // all of a workgroup
	perSubgroup              // those of a subgroup
	perThread                // none
)

type verifier struct {
	k        *Kernel
	defined  map[*Value]bool
	ids      map[int]bool
	names    map[string]bool
	varies   map[*Value]level
	diverged level // of the threads that run the current block
	depth    int   // of the current block
	slabs    map[*Value]*slabUses
	at       *Instr
	found    []error
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
		v.define(a, perGroup)
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

// define adds a value; varies tells which threads have equal ones.
func (v *verifier) define(x *Value, varies level) {
	switch {
	case x == nil:
		v.fail("a value is nil")
		return
	case v.defined[x] || v.ids[x.ID] || x.ID < 0:
		v.fail("%%%s is defined twice, or another value has its id", x.Name)
	case !isValueName(x.Name) || v.names[x.Name]:
		v.fail("the name %%%s is taken, or not letters, digits, _ and .", x.Name)
	case x.Type.Kind == Invalid || x.Type.Kind >= numKinds || !validLanes(x.Type) || x.Type.Kind == Bool && x.Type.Lanes > 1 || x.Type.Tile != NoTile && !x.Type.isTile() && !x.Type.isSlab():
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
	varies := v.levelOf(i)
	switch i.Op {
	case OpFor:
		varies = v.loop(i)
	case OpIf:
		varies = v.branch(i, varies)
	case OpBarrier:
		v.must(v.diverged == perGroup, "not all threads may reach it: it is in control flow that depends on the thread")
	case OpReduceAdd, OpReduceMax, OpShuffleXor, OpTileFill, OpTileLoad, OpTileSharedLoad, OpTileTurned, OpTileMulAdd, OpTileSharedStore:
		v.together(i)
	case OpSlabFill, OpSlabMulAdd, OpSlabFence, OpSlabCommit, OpSlabWait, OpSlabTile:
		v.wholeGroup(i)
	}
	v.at = i
	for _, r := range i.Results {
		v.define(r, varies)
	}
	v.defineSlab(i)
	return true
}

// levelOf returns which threads get equal results. Threads that load one element of shared memory get equal numbers, as
// a store in between would be a race.
func (v *verifier) levelOf(i *Instr) level {
	switch i.Op {
	case OpThread, OpLane, OpLoad, OpAtomicAdd:
		return perThread
	case OpSubgroup, OpReduceAdd, OpReduceMax:
		return perSubgroup
	}
	l := perGroup
	for _, a := range i.Args {
		l = max(l, v.varies[a])
	}
	return l
}

// loop checks the body of a for, and returns which threads get equal results. Carried values vary if their first ones
// do, or the number of iterations, or what the body yields; the body is checked with the assumption that they do.
func (v *verifier) loop(i *Instr) level {
	bounds := max(v.varies[i.Args[0]], v.varies[i.Args[1]], v.varies[i.Args[2]])
	for at, p := range i.Body.Params {
		if at == 0 {
			v.define(p, bounds)
		} else {
			v.define(p, perThread)
		}
	}
	v.wholeTiles(i.Results, bounds)
	v.carriedSlabs(i)
	v.nested(i.Body, bounds)
	v.at = i
	if v.must(len(i.Body.Yield) == len(i.Results), "the body yields %d values for %d results", len(i.Body.Yield), len(i.Results)); len(i.Body.Yield) == len(i.Results) {
		for at, y := range i.Body.Yield {
			v.must(y != nil && y.Type == i.Results[at].Type, "the body yields another type than result %d has", at)
		}
		v.yieldedSlabs(i)
	}
	return perThread
}

func (v *verifier) branch(i *Instr, cond level) level {
	v.wholeTiles(i.Results, cond)
	for _, r := range i.Results {
		v.must(r == nil || r.Type.Tile != TileSlab, "an if passes no slabs on")
	}
	v.nested(i.Body, cond)
	if i.Else != nil {
		v.nested(i.Else, cond)
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
	return perThread
}

// nested checks a block of an instruction, whose condition or bounds are equal among the threads of a level.
func (v *verifier) nested(b *Block, among level) {
	outer := v.diverged
	v.diverged = max(outer, among)
	v.depth++
	for _, p := range b.Params {
		if p != nil && p.Type.Tile == TileSlab {
			v.begins(p)
		}
	}
	v.block(b)
	v.depth--
	v.diverged = outer
}
