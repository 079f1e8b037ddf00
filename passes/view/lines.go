package view

import (
	"strconv"
	"strings"
)

// textLine is a line of a module's text. The key is what the line is about, such as "@decode %v37 =": two texts have
// the same key on lines of the same thing.
type textLine struct{ text, key string }

// textOf returns the lines of a text with their keys, each of which occurs once.
func textOf(text string) []textLine {
	var list []textLine
	var funcs []string // around the line, outer ones first
	times := make(map[string]int)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		trimmed := strings.TrimLeft(line, " ")
		if strings.HasPrefix(trimmed, "func @") || strings.HasPrefix(trimmed, "body @") {
			funcs = append(funcs, subject(trimmed))
		}
		key := subject(trimmed)
		if len(funcs) > 0 {
			key = funcs[len(funcs)-1] + " " + key
		}
		if trimmed == "}" && len(funcs) > 0 {
			funcs = funcs[:len(funcs)-1]
		}
		times[key]++
		if n := times[key]; n > 1 {
			key += " #" + strconv.Itoa(n)
		}
		list = append(list, textLine{line, key})
	}
	return list
}

// subject returns the beginning of a line that states what it is about: of a node its results, otherwise the keyword
// and the word after it. Words in quotes may contain blanks.
func subject(line string) string {
	if strings.HasPrefix(line, "%") {
		if i := indexOutside(line, " = "); i >= 0 {
			return line[:i+2]
		}
	}
	i := indexOutside(line, " ")
	if i < 0 {
		return line
	}
	if j := indexOutside(line[i+1:], " "); j >= 0 {
		line = line[:i+1+j]
	}
	if j := indexOutside(line, "("); j >= 0 {
		line = line[:j]
	}
	return line
}

// indexOutside returns the index of a separator outside of quotes, or -1.
func indexOutside(line, sep string) int {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '"':
			quoted = !quoted
		case quoted && line[i] == '\\':
			i++
		case !quoted && strings.HasPrefix(line[i:], sep):
			return i
		}
	}
	return -1
}

// edits returns the edits that make the text new of the text old.
func (r *Recorder) edits(old, new []textLine) [][]int {
	at := make(map[string]int, len(old))
	for i, l := range old {
		at[l.key] = i
	}
	var list [][]int
	for _, l := range new {
		i, known := at[l.key]
		switch {
		case !known:
			list = append(list, []int{r.lines.index(l.text)})
		case old[i].text != l.text:
			list = append(list, r.replace(i, old[i].text, l.text))
		case len(list) > 0 && continues(list[len(list)-1], i):
			list[len(list)-1][1]++
		default:
			list = append(list, []int{i, 1})
		}
	}
	return list
}

// continues reports whether the line i of the text before follows the lines of an edit.
func continues(edit []int, i int) bool { return len(edit) == 2 && edit[0]+edit[1] == i }

// replace returns the edit that makes a line of line i of the text before. Characters are counted in bytes, which is
// what the page counts as long as both lines are ASCII.
func (r *Recorder) replace(i int, old, new string) []int {
	if !isASCII(old) || !isASCII(new) {
		return []int{i, 0, 0, r.lines.index(new)}
	}
	most := min(len(old), len(new))
	prefix := 0
	for prefix < most && old[prefix] == new[prefix] {
		prefix++
	}
	suffix := 0
	for suffix < most-prefix && old[len(old)-1-suffix] == new[len(new)-1-suffix] {
		suffix++
	}
	return []int{i, prefix, suffix, r.lines.index(new[prefix : len(new)-suffix])}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
