package codegen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCommentLineIsOneHarmlessLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "//",
		"f runs 1 nodes.":               "// f runs 1 nodes.",
		" f\tx ":                        `// f\tx`,
		"//go:embed x":                  "// //go:embed x",
		"/* x */ y":                     "// /* x */ y",
		"go:embed x":                    "// go:embed x",
		"+build ignore":                 `// \+build ignore`,
		"a\nfunc init() {}":             `// a\nfunc init() {}`,
		"a\r\u2028\x00\xff\u202e\ufeff": `// a\r\u2028\x00\xff\u202e\ufeff`,
	} {
		if got := commentLine(text); got != want {
			t.Errorf("commentLine(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestWrapBreaksBetweenWords(t *testing.T) {
	long := strings.Repeat("x", 2*commentWidth)
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", []string{""}},
		{" a\n b\u2028c ", []string{"a b c"}},
		{"a " + long + " b", []string{"a", long, "b"}},
		{strings.Repeat("a ", commentWidth), []string{strings.TrimSpace(strings.Repeat("a ", commentWidth/2)), strings.TrimSpace(strings.Repeat("a ", commentWidth/2))}},
	} {
		if got := wrap(c.text); !slices.Equal(got, c.want) {
			t.Errorf("wrap(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

// rawComments are the methods of jennifer that write a text as it is.
var rawComments = []string{"Comment", "Commentf", "HeaderComment", "PackageComment", "CgoPreamble"}

// TestOnlyCommentGoWritesComments looks for calls that go around comment.go.
func TestOnlyCommentGoWritesComments(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	here := 0
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range rawCalls(file) {
			if path == "comment.go" {
				here++
				continue
			}
			t.Errorf("%s calls %s: comments are written by the functions of comment.go", path, name)
		}
	}
	if here == 0 {
		t.Error("comment.go writes no comments: this test looks for the wrong calls")
	}
}

func rawCalls(file *ast.File) []string {
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(rawComments, sel.Sel.Name) {
			names = append(names, sel.Sel.Name)
		}
		return true
	})
	return names
}
