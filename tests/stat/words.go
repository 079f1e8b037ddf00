package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// replaced lists words of comments for which the field has others, with their inflections.
// The first form names the row in which all of them are counted.
var replaced = [][]string{
	{"behind"},
	{"lies", "lie", "lying"},
	{"stands", "stand", "standing", "stood"},
	{"apart"},
	{"nobody"},
	{"whoever"},
	{"all that"},
	{"those that"},
	{"reckons", "reckon", "reckoned", "reckoning"},
	{"takes for", "taken for"},
	{"says", "say", "saying"},
	{"is said", "are said", "said of", "said to"},
	{"goes on", "go on", "going on"},
	{"round", "rounds"},
	{"tail", "tails"},
	{"dear", "dearer", "dearest"},
	{"abreast"},
	{"side by side"},
	{"crew", "crews"},
	{"sheet", "sheets"},
	{"rehearse", "rehearses", "rehearsed", "rehearsal"},
	{"tenant", "tenants"},
	{"hastily", "hasty"},
}

// wordCount holds how often each row of replaced occurs in the comments of a tree.
type wordCount struct {
	rows  []int // parallel to replaced
	words int   // of all comments
}

// printWords writes the counts of a tree, and those of another one in further columns unless its name is empty.
func printWords(out io.Writer, tree, beside string) error {
	trees := []string{tree}
	if beside != "" {
		trees = append(trees, beside)
	}
	counts := make([]wordCount, len(trees))
	for i, tree := range trees {
		var err error
		if counts[i], err = countTree(tree); err != nil {
			return err
		}
	}
	return writeWords(out, trees, counts)
}

// countTree counts the words in the comments of all Go files below a folder.
func countTree(root string) (wordCount, error) {
	count := wordCount{rows: make([]int, len(replaced))}
	err := walk(root, func(_ string, _ []byte, _ *token.FileSet, file *ast.File) {
		for _, group := range file.Comments {
			count.add(group.Text())
		}
	})
	return count, err
}

// add counts the words of one comment. A form of several words may be interrupted by line ends and punctuation.
func (c *wordCount) add(comment string) {
	words := strings.FieldsFunc(strings.ToLower(comment), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '\''
	})
	c.words += len(words)
	text := " " + strings.Join(words, "  ") + " " // each word has a space of its own on either side
	for row, forms := range replaced {
		for _, form := range forms {
			c.rows[row] += strings.Count(text, " "+strings.ReplaceAll(form, " ", "  ")+" ")
		}
	}
}

func writeWords(out io.Writer, trees []string, counts []wordCount) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "word\t")
	for _, tree := range trees {
		fmt.Fprintf(w, "%s\tper 100,000\t", tree)
	}
	fmt.Fprintln(w)
	for row, forms := range replaced {
		fmt.Fprintf(w, "%s\t", forms[0])
		for _, c := range counts {
			fmt.Fprintf(w, "%d\t%.1f\t", c.rows[row], c.frequency(c.rows[row]))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "all of these\t")
	for _, c := range counts {
		fmt.Fprintf(w, "%d\t%.1f\t", c.sum(), c.frequency(c.sum()))
	}
	fmt.Fprint(w, "\ncomment words\t")
	for _, c := range counts {
		fmt.Fprintf(w, "%d\t\t", c.words)
	}
	fmt.Fprintln(w)
	return w.Flush()
}

func (c *wordCount) sum() int {
	sum := 0
	for _, n := range c.rows {
		sum += n
	}
	return sum
}

// frequency returns the number of occurrences per 100,000 words of comments.
func (c *wordCount) frequency(n int) float64 { return 1e5 * ratio(n, c.words) }
