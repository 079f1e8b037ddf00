package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var packageRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (\\d+) \\| (.*) \\| ([^|]*) \\|$")

// TestPackagesAreDescribed compares the table in ARCHITECTURE.md with the packages: each has its sentence, lines that
// are about right, and most of its largest types.
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
		listed[m[1]] = pkg{m[1], lines, m[3], strings.Split(m[4], ", ")}
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
		case !aboutSame(row.types, p.types):
			t.Errorf("ARCHITECTURE.md names the types %q of %s, whose largest are %q: go generate ./docs/tables", row.types, p.folder, p.types)
		}
	}
	for folder := range listed {
		t.Errorf("ARCHITECTURE.md lists %s, which is no package", folder)
	}
}

// aboutSame reports whether two lists differ in two names at most, as small changes of code change the order.
func aboutSame(a, b []string) bool {
	missing := slices.DeleteFunc(slices.Clone(b), func(name string) bool { return slices.Contains(a, name) })
	return len(missing) <= 2
}
