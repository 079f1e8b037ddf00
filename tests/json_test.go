package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

const jsonPage = "docs/reference/json.md"

var (
	jsonTag     = regexp.MustCompile("`json:\"([a-z0-9_]+)[,\"]|[.]begin[(]\"([a-z]+)\"[)]")
	errorKind   = regexp.MustCompile(`(?m)^\t\{"([a-z-]+)", exit`)
	noteCode    = regexp.MustCompile(`notice\([^"\n]*, "([a-z-]+)", "|Code: "([a-z-]+)"`)
	programNote = regexp.MustCompile(`c\.note\("([a-z-]+)"`)
	cellWord    = regexp.MustCompile("`([a-z0-9_-]+)`")
	fieldRow    = regexp.MustCompile(`(?m)^\| [^|]+ \| ([^|]+) \|$`)
	codeRow     = regexp.MustCompile(`(?m)^\| ([^|]+) \| [1-4-] \| [^|]+ \|$`)
)

// TestJSONPageIsComplete compares the names of fields and codes on the page with those in the source.
func TestJSONPageIsComplete(t *testing.T) {
	root := needtest.Root(t)
	page := pagesOf(t, root)[jsonPage]
	source := sourceOf(t, root, "cmd", "codegen", "passes")
	fields, codes := wordsOf(jsonTag, source), wordsOf(errorKind, source)
	for code := range wordsOf(noteCode, source) {
		codes[code] = true
	}
	codes["failed"] = true // cmd.unknown
	programs := sourceOf(t, root, "runtime")
	for _, pattern := range []*regexp.Regexp{errorKind, programNote} {
		for code := range wordsOf(pattern, programs) {
			codes[code] = true
		}
	}
	shownFields, shownCodes := shown(fieldRow, page), shown(codeRow, page)
	compareNames(t, "field", fields, shownFields)
	compareNames(t, "code", codes, shownCodes)
	if len(fields) < 100 || len(codes) < 12 {
		t.Errorf("only %d fields and %d codes were found in the source", len(fields), len(codes))
	}
}

func compareNames(t *testing.T, what string, want, got map[string]bool) {
	t.Helper()
	for name := range want {
		if !got[name] {
			t.Errorf("%s does not list the %s %s", jsonPage, what, name)
		}
	}
	for name := range got {
		if !want[name] && name != "note" {
			t.Errorf("%s lists the %s %s, which the source lacks", jsonPage, what, name)
		}
	}
}

// shown returns the names in those cells of tables that a pattern captures.
func shown(row *regexp.Regexp, page string) map[string]bool {
	names := make(map[string]bool)
	for _, m := range row.FindAllStringSubmatch(page, -1) {
		for name := range wordsOf(cellWord, m[1]) {
			names[name] = true
		}
	}
	return names
}

// wordsOf returns what the groups of a pattern capture in a text.
func wordsOf(pattern *regexp.Regexp, text string) map[string]bool {
	words := make(map[string]bool)
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		words[strings.Join(m[1:], "")] = true
	}
	return words
}

// sourceOf returns the Go files of some folders that are no tests, joined.
func sourceOf(t *testing.T, root string, dirs ...string) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
