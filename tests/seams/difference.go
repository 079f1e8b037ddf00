package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// token is a line of a program's output, or an array that it has written.
type token struct {
	ID     int
	Logits []float64
}

// tokens parses the output of a program. It returns nil if the output has another form.
func tokens(text string) []token {
	if !strings.HasPrefix(text, "{") {
		return arraysOf(text)
	}
	var ts []token
	for line := range strings.Lines(text) {
		var t token
		if json.Unmarshal([]byte(line), &t) != nil || t.Logits == nil {
			return nil
		}
		ts = append(ts, t)
	}
	return ts
}

// arraysOf returns the results of a graph by name.
func arraysOf(text string) []token {
	arrays, err := readArrays(text)
	if err != nil {
		return nil
	}
	var ts []token
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		ts = append(ts, token{Logits: arrays[name].Flat()})
	}
	return ts
}

// near reports whether logits are within the bound, up to the first token that differs. From there on they belong to
// different texts.
func near(want, got string, bound float64) bool {
	a, b := tokens(want), tokens(got)
	if bound == 0 || a == nil || len(a) != len(b) {
		return false
	}
	for i := range a {
		if !(distance(a[i].Logits, b[i].Logits) <= bound) {
			return false
		}
		if a[i].ID != b[i].ID {
			break
		}
	}
	return true
}

// difference describes how results differ: the first place, and the difference as a share of the largest number
// there.
func difference(want, got string) string {
	a, b := tokens(want), tokens(got)
	if a == nil || len(a) != len(b) {
		return fmt.Sprintf("%d tokens or arrays, not %d", len(b), len(a))
	}
	for i := range a {
		if x := distance(a[i].Logits, b[i].Logits); a[i].ID != b[i].ID || x != 0 {
			return fmt.Sprintf("number %d of %d by %.2g of the largest", i, len(a), x)
		}
	}
	return "in text alone"
}

// distance returns the largest difference as a share of the largest number, or NaN if there is a NaN.
func distance(x, y []float64) float64 {
	if len(x) != len(y) {
		return math.NaN()
	}
	most, size := 0.0, 0.0
	for i := range x {
		most, size = max(most, math.Abs(x[i]-y[i])), max(size, math.Abs(x[i]))
	}
	if most == 0 {
		return 0
	}
	return most / size
}
