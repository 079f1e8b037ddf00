package mem

import (
	"fmt"
	"strings"
)

// Techniques is a set of what makes the searches fast. None of them decides what is a packing: without one a search
// needs more steps, or never ends.
type Techniques uint32

// The techniques. The comments on the types rise and search explain them.
const (
	Rise      Techniques = 1 << iota // offsets from the bottom upwards
	Canonical                        // … in one order only
	Dominance                        // … without gaps that something fits into
	Floor                            // … as long as the rest fits above
	Fit                              // … each block from its own lowest offset, in every second run
	Decompose                        // … sides separately where nothing spans them
	Preorder                         // … tightest and longest first, not as they come
	Sequence                         // sections decided from the bottom upwards
	Stack                            // … as long as each section can be stacked
	Weights                          // … first the sections that made it fail
	Model                            // … every third run like the deepest one so far
	Settle                           // … blocks that live all the time at the bottom
	Shake                            // runs that differ
	Restart                          // runs that end, and turns of both searches

	allTechniques Techniques = 1<<iota - 1
)

// techniqueTable has the name and the meaning of each technique, in the order of the bits.
var techniqueTable = []struct{ name, doc string }{
	{"rise", "place blocks from the bottom upwards (MiniMalloc's and TelaMalloc's search)"},
	{"canonical", "rise: offsets never decrease, equal ones follow one order"},
	{"dominance", "rise: leave no gap that another block fits into"},
	{"floor", "rise: go back where what is left of a section does not fit above its floor"},
	{"fit", "rise, every second run: count each block from its own lowest offset"},
	{"decompose", "rise: solve both sides of an instant separately once nothing left spans it"},
	{"preorder", "rise: prefer tight times, long lives, large areas; off: the order of the file"},
	{"sequence", "decide section by section which block comes next, fewest choices first"},
	{"stack", "sequence: go back where a section's bounds on offsets leave too little room"},
	{"weights", "sequence: first the sections that made it fail"},
	{"model", "sequence, every third run: follow the deepest point so far"},
	{"settle", "sequence: blocks that live all the time are at the bottom"},
	{"shake", "change preferences at random from run to run"},
	{"restart", "cut runs by Luby's sequence, and let both searches take turns"},
}

// TechniqueNames returns the names of all techniques with their meanings.
func TechniqueNames() (names, docs []string) {
	for _, t := range techniqueTable {
		names, docs = append(names, t.name), append(docs, t.doc)
	}
	return names, docs
}

// ParseTechnique returns the technique of a name.
func ParseTechnique(name string) (Techniques, error) {
	for i, t := range techniqueTable {
		if t.name == name {
			return 1 << i, nil
		}
	}
	names, _ := TechniqueNames()
	return 0, fmt.Errorf("there is no technique %q: choose from %s", name, strings.Join(names, ", "))
}

// has reports whether all of u are in t.
func (t Techniques) has(u Techniques) bool { return t&u == u }
