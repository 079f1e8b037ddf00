package token

import (
	"errors"
	"fmt"
	"strings"
)

// maxProbes is the most slots that a search may visit.
const maxProbes = 64

var errLongRun = errors.New("the tokens' texts collide in every hash: the vocabulary is not a natural one")

// hashTable builds a hash table of n entries with twice as many slots. If a seed leads to long runs of full slots, it
// tries the next one. That hardly ever happens by chance, but can be provoked. fill enters all entries with a seed.
func hashTable(n int, fill func(seed uint32, slots []int32) error) (seed uint32, slots []int32, err error) {
	size := 4
	for size < 2*n {
		size *= 2
	}
	for seed := range uint32(16) {
		slots := make([]int32, size)
		if err := fill(seed, slots); err != errLongRun {
			return seed, slots, err
		}
	}
	return 0, nil, errLongRun
}

// enter stores an entry in the first empty slot from h. equal reports an entry that must not be equal to it.
func enter(slots []int32, h uint32, entry int32, equal func(other int32) error) error {
	mask := uint32(len(slots) - 1)
	i := h & mask
	for probes := 0; slots[i] != 0; i = (i + 1) & mask {
		if err := equal(slots[i] - 1); err != nil {
			return err
		}
		if probes++; probes > maxProbes {
			return errLongRun
		}
	}
	slots[i] = entry + 1
	return nil
}

// hashTexts enters all texts except empty ones.
func hashTexts(texts []string) (seed uint32, slots []int32, err error) {
	return hashTable(len(texts), func(seed uint32, slots []int32) error {
		for id, s := range texts {
			if s == "" {
				continue
			}
			if err := enter(slots, hash(seed, s), int32(id), func(other int32) error {
				if texts[other] == s {
					return fmt.Errorf("tokens %d and %d have the same text %q", other, id, s)
				}
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// find returns the index of the text left+right in a table of hashTexts, or None. It does not build that text.
func find(texts []string, seed uint32, slots []int32, left, right string) int32 {
	mask := uint32(len(slots) - 1)
	for i := mix(fnv(fnv(basis(seed), left), right)) & mask; ; i = (i + 1) & mask {
		id := slots[i] - 1
		if id == None {
			return None
		}
		if rest, ok := strings.CutPrefix(texts[id], left); ok && rest == right {
			return id
		}
	}
}

// errTwice is returned for a merge that was entered before.
var errTwice = errors.New("a merge is listed twice")

// hashMerges enters all merges, which are triples. The first of equal ones counts. No merges have no slots.
func hashMerges(merges []int32) (seed uint32, slots []int32, err error) {
	if len(merges) == 0 {
		return 0, nil, nil
	}
	return hashTable(len(merges)/3, func(seed uint32, slots []int32) error {
		for i := 0; i < len(merges); i += 3 {
			left, right := merges[i], merges[i+1]
			err := enter(slots, hashPair(seed, left, right), int32(i/3), func(other int32) error {
				if merges[3*other] == left && merges[3*other+1] == right {
					return errTwice
				}
				return nil
			})
			if err != nil && err != errTwice {
				return err
			}
		}
		return nil
	})
}

// hash is FNV-1a of 32 bits with a seed, followed by a mixing step because only the low bits are used.
func hash(seed uint32, s string) uint32 { return mix(fnv(basis(seed), s)) }

func basis(seed uint32) uint32 { return 2166136261 ^ seed*0x9e3779b9 }

func fnv(h uint32, s string) uint32 {
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

func mix(h uint32) uint32 { return h ^ h>>15 }
