package gguf

import (
	"hash/maphash"
	"math/bits"
)

// names is a hash table that finds entries of a file by name. It stores one word per entry: the entry's offset, and
// in the remaining high bits part of the name's hash. The names themselves stay in the file, where find compares
// them. A word is a third of the shortest entry, so the table is small beside the file.
//
// For example, offsets in a file of 1,000 bytes need 10 bits. The word of an entry at 300 is its hash with the low 10
// bits replaced by 300. find compares the name in the file only if the upper 54 bits of a word are those of the hash.
type names struct {
	seed  maphash.Seed
	shift uint     // bits of an offset
	words []uint64 // open addressing, linear probing; 0 is empty: no entry is at 0
	used  int
}

// newNames returns an empty table for the entries of a file of the given size.
func newNames(size int64) *names {
	return &names{seed: maphash.MakeSeed(), shift: uint(bits.Len64(uint64(size)))}
}

// find returns the offset of the entry with a name. It calls is, which reports whether the entry at an offset has the
// name, only for entries whose hashes agree.
func (n *names) find(name string, is func(off int64) bool) (off int64, ok bool) {
	if n.used == 0 {
		return 0, false
	}
	tag := n.tag(name)
	for i := n.home(tag); n.words[i] != 0; i = n.after(i) {
		if w := n.words[i]; w>>n.shift == tag>>n.shift {
			if off := int64(w & (1<<n.shift - 1)); is(off) {
				return off, true
			}
		}
	}
	return 0, false
}

// add adds an entry. No entry may have its name already.
func (n *names) add(name string, off int64) {
	if 4*(n.used+1) > 3*len(n.words) {
		n.grow()
	}
	n.put(n.tag(name) | uint64(off))
	n.used++
}

// grow makes the table half as large again. Doubling would need more memory while both tables exist.
func (n *names) grow() {
	old := n.words
	n.words = make([]uint64, 16+len(old)+len(old)/2)
	for _, w := range old {
		if w != 0 {
			n.put(w)
		}
	}
}

func (n *names) put(w uint64) {
	i := n.home(w)
	for n.words[i] != 0 {
		i = n.after(i)
	}
	n.words[i] = w
}

// tag returns the part of a word that comes from the hash.
func (n *names) tag(name string) uint64 {
	return maphash.String(n.seed, name) >> n.shift << n.shift
}

// home returns the index at which the search for a word begins. It depends only on the bits of the hash.
func (n *names) home(w uint64) int {
	hi, _ := bits.Mul64(w>>n.shift<<n.shift, uint64(len(n.words)))
	return int(hi)
}

func (n *names) after(i int) int {
	if i++; i == len(n.words) {
		return 0
	}
	return i
}
