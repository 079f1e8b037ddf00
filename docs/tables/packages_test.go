package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

var packageRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (\\d+) \\| (.*) \\|$")

// TestPackagesAreDescribed compares the table in ARCHITECTURE.md with the packages: each has its sentence, and lines
// that are about right.
func TestPackagesAreDescribed(t *testing.T) {
	root := filepath.Join("..", "..")
	list, err := listPackages(root)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]pkg)
	for _, m := range packageRow.FindAllStringSubmatch(string(page), -1) {
		lines, _ := strconv.Atoi(m[2])
		listed[m[1]] = pkg{m[1], lines, m[3]}
	}
	for _, p := range list {
		row, ok := listed[p.folder]
		delete(listed, p.folder)
		switch off := row.lines - p.lines; {
		case p.sentence == "":
			t.Errorf("%s has no package comment", p.folder)
		case !ok || row.sentence != p.sentence:
			t.Errorf("ARCHITECTURE.md does not say of %s: %s: go generate ./docs/tables", p.folder, p.sentence)
		case off*off > (100+p.lines/4)*(100+p.lines/4):
			t.Errorf("ARCHITECTURE.md counts %d lines of %s, which has %d: go generate ./docs/tables", row.lines, p.folder, p.lines)
		}
	}
	for folder := range listed {
		t.Errorf("ARCHITECTURE.md lists %s, which is no package", folder)
	}
}
