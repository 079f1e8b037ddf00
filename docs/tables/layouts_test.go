package main

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Columns of the table of layouts.
const (
	columnAlone = iota + 1
	columnCPU
	columnFirst
	column2024
	column2026
	columnCost
	columnBound
)

// TestLayoutsAreCurrent plans every layout. No other way to assign is predicted to be
// better, and the page has the time of cost as computed now, except changes that other passes make
// in a plan's memory.
func TestLayoutsAreCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("ten layouts take seconds")
	}
	page, err := os.ReadFile("../reference/layouts.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := make(map[string][]string)
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, " | "); len(cells) > columnBound {
			shown[strings.TrimPrefix(cells[0], "| ")] = cells
		}
	}
	for _, l := range layouts {
		row, err := l.row()
		if err != nil {
			t.Errorf("%s: %v", l.name, err)
			continue
		}
		cells := strings.Split(row, " | ")
		cost := figure(cells[columnCost])
		for _, column := range []int{columnAlone, columnCPU, columnFirst, column2024, column2026} {
			for other := range strings.SplitSeq(cells[column], ", ") {
				if figure(other) < cost*0.995 {
					t.Errorf("%s: column %d is better than cost: %s", l.name, column, row)
				}
			}
		}
		if bound := figure(cells[columnBound]); bound > cost*1.005 {
			t.Errorf("%s: the bound is above cost: %s", l.name, row)
		}
		const drift = 0.1
		if old := shown[l.name]; old == nil || math.Abs(figure(old[columnCost])-cost) > drift*cost {
			t.Errorf("%s: docs/reference/layouts.md differs: go generate ./docs/tables\n%s", l.name, row)
		}
	}
}

// figure reads a cell; infinite where it is a dash.
func figure(cell string) float64 {
	x, err := strconv.ParseFloat(strings.Trim(cell, "*"), 64)
	if err != nil {
		return math.Inf(1)
	}
	return x
}
