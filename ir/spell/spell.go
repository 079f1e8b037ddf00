// Package spell suggests the name that was probably meant by an unknown one.
package spell

import "strings"

// longest is the length in bytes of the longest name that is compared. The work grows with the product
// of two lengths, and names may come from a file.
const longest = 128

// Hint returns " did you mean NAME?" with the known name that is nearest to word; empty if none is
// near. It follows the colon of a message.
func Hint(word string, known []string) string {
	if name := Near(word, known); name != "" {
		return " did you mean " + name + "?"
	}
	return ""
}

// Near returns the known name that differs from word by the fewest edits, or the first of several;
// empty if all differ by more than one edit and by more than a third of word's letters. An edit
// inserts, deletes or changes a byte, or swaps two neighbours. Case is ignored.
func Near(word string, known []string) string {
	if word == "" || len(word) > longest {
		return ""
	}
	best, fewest := "", max(len(word)/3, 1)+1
	for _, name := range known {
		if len(name) > longest || abs(len(name)-len(word)) >= fewest {
			continue
		}
		// A name without a common letter is not a typing error.
		if d := distance(strings.ToLower(word), strings.ToLower(name)); d < fewest && d < max(len(word), len(name)) {
			best, fewest = name, d
		}
	}
	return best
}

// distance returns the number of edits between two words, none of which edits a byte twice (optimal
// string alignment). It keeps three rows of the table of the distances of all prefixes.
func distance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			change := above[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}

func abs(x int) int { return max(x, -x) }
