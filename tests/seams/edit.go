package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// editor changes the text of a module.
type editor struct {
	draw
	lines   []string
	graph   bool // as in editLimits
	meaning bool // the edit may have changed what is computed
	without []string
}

// editLimits restricts the edits of a text.
type editLimits struct {
	graph   bool   // callers use the names of its functions and their operands
	without string // comma-separated kinds of lines to leave alone; "rename" leaves out renaming
}

// editText makes one to three changes. meaning reports whether one of them may affect what is computed.
func editText(d draw, text string, limits editLimits) (edited string, meaning bool) {
	e := &editor{draw: d, graph: limits.graph, without: strings.Split(limits.without, ","), lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
	for range pick(d, 1, 1, 1, 1, 2, 2, 3) {
		edits[d.IntN(len(edits))](e)
	}
	edited = strings.Join(e.lines, "\n") + "\n"
	if gigabytes.MatchString(edited) { // a simulated device fills its memory with NaN in every step
		return text, false
	}
	renamed := limits.graph && !slices.Equal(functions.FindAllString(text, -1), functions.FindAllString(edited, -1))
	return edited, e.meaning || renamed || tokenizer.MatchString(text) && !tokenizer.MatchString(edited)
}

// edits lists the kinds of changes, each as often as it is to be drawn.
var edits = []func(*editor){
	(*editor).number, (*editor).number, (*editor).number, (*editor).number,
	(*editor).value, (*editor).value, (*editor).value, (*editor).value, (*editor).swapWords, (*editor).dropAttr, (*editor).dropAttr, (*editor).takeAttr, (*editor).takeAttr, (*editor).swapAttr,
	(*editor).removeLine, (*editor).doubleLine, (*editor).swapLines, (*editor).moveLine,
	(*editor).rename, (*editor).rename, (*editor).renameOnce, (*editor).meta,
}

// kindOf returns the kind of a line: the first word of a declaration, or else "node".
func kindOf(line string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch {
	case strings.HasPrefix(word, "%"), word == "return":
		return "node"
	case word == "weight" || word == "state" || word == "func" || word == "}" || word == "":
		return word
	}
	return word
}

// line draws a line. It draws the kind first, so that lines of rare kinds are drawn too.
func (e *editor) line(want func(kind string) bool) int {
	byKind := make(map[string][]int)
	var kinds []string
	for i, l := range e.lines {
		k := kindOf(l)
		if k == "" || k == "}" || !want(k) || slices.Contains(e.without, k) {
			continue
		}
		if byKind[k] == nil {
			kinds = append(kinds, k)
		}
		byKind[k] = append(byKind[k], i)
	}
	if kinds == nil {
		return -1
	}
	kind := pick(e.draw, kinds...)
	if byKind["node"] != nil && e.oneIn(2) {
		kind = "node"
	}
	return pick(e.draw, byKind[kind]...)
}

func anyKind(string) bool { return true }

// decided returns the index in a line from which on it only records decisions of the compiler.
func decided(line string) int {
	switch kindOf(line) {
	case "node":
		if strings.HasPrefix(strings.TrimSpace(line), "return") {
			return len(line)
		}
		return afterType(line)
	case "weight", "state":
		if i := strings.Index(line, " @"); i >= 0 {
			if j := strings.Index(line[i:], " = "); j >= 0 { // the source of the bytes
				return len(line)
			}
			return i
		}
		if i := strings.LastIndex(line, " at "); i >= 0 {
			return i
		}
		return len(line)
	case "func":
		return len(line)
	}
	return 0
}

// afterType returns the index after the types of a node's results.
func afterType(line string) int {
	i := strings.Index(line, " : ")
	if i < 0 {
		return len(line)
	}
	i += 3
	for i < len(line) {
		j := strings.IndexByte(line[i:], ' ')
		if j < 0 {
			return len(line)
		}
		if i += j; line[i-1] != ',' { // another type follows a comma
			return i
		}
		i++
	}
	return len(line)
}

// change records that bytes of a line are changed from index at on.
func (e *editor) change(line string, at int) {
	if at < decided(line) && !placed(line, at) || e.graph && kindOf(line) == "func" {
		e.meaning = true
	}
}

// placed reports whether index at in a line of a weight, state or function belongs to its space or address.
func placed(line string, at int) bool {
	for _, m := range placement.FindAllStringIndex(line, -1) {
		if m[0] <= at && at < m[1] {
			return true
		}
	}
	return false
}

var (
	functions = regexp.MustCompile(`(?m)^func @[^(]*`)
	gigabytes = regexp.MustCompile(`chunks=\[[^\]]*\d{10}`)
	tokenizer = regexp.MustCompile(`(?m)^language .* tokenizer=`) // without it a program prints ids and no text
	placement = regexp.MustCompile(` @("[^"]*"|[\w:.]+)| at \d+:0x[0-9a-f]+\+\d+| epochs=\d+`)
	numbers   = regexp.MustCompile(`-?\b(0x[0-9a-f]+|\d+)\b`)
	words     = regexp.MustCompile(`%"[^"]*"|[%@]?[\w.]+|"[^"]*"`)
	attrs     = regexp.MustCompile(` (in|at) ("[^"]*"|[\w:.+]+)| @("[^"]*"|[\w:.]+)| [a-z]+=(\[[^]]*\]|split\([^)]*\)|"[^"]*"|[\w:.+]+)`)
)

// number replaces a number by one that is near, far, or from another place in the text.
func (e *editor) number() {
	i := e.line(anyKind)
	if i < 0 {
		return
	}
	line := e.lines[i]
	found := numbers.FindAllStringIndex(line, -1)
	if found == nil {
		return
	}
	m := pick(e.draw, found...)
	e.change(line, m[0])
	e.lines[i] = line[:m[0]] + e.otherNumber(line[m[0]:m[1]]) + line[m[1]:]
}

func (e *editor) otherNumber(text string) string {
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		return "0"
	}
	other := pick(e.draw, 0, 1, 2, -1, n-1, n+1, n+1, n-1, n*2, n/2, n+4, n-4, n+16, n+64, n-64, n+128, n+256, n-256, -n, 1<<31, 1<<31-1, 1<<62, 1<<63-1, -1<<63, int64(e.IntN(100)), int64(e.IntN(4096)), n)
	if other == n || e.oneIn(5) {
		if found := numbers.FindAllString(e.lines[max(0, e.line(anyKind))], -1); found != nil {
			return pick(e.draw, found...)
		}
	}
	if strings.Contains(text, "0x") && other >= 0 {
		return "0x" + strconv.FormatInt(other, 16)
	}
	return strconv.FormatInt(other, 10)
}

// swapWords exchanges two words of a line.
func (e *editor) swapWords() {
	i := e.line(anyKind)
	if i < 0 {
		return
	}
	line := e.lines[i]
	found := words.FindAllStringIndex(line, -1)
	if len(found) < 2 {
		return
	}
	p := e.Perm(len(found))[:2]
	slices.Sort(p)
	a, b := found[p[0]], found[p[1]]
	e.change(line, a[0])
	e.change(line, b[0])
	e.lines[i] = line[:a[0]] + line[b[0]:b[1]] + line[a[1]:b[0]] + line[a[0]:a[1]] + line[b[1]:]
}

// withAttrs draws a line that records decisions of the compiler, and the indexes of their words.
func (e *editor) withAttrs() (line int, at []int) {
	for range 20 {
		i := e.line(func(kind string) bool { return kind != "target" && kind != "option" })
		if i < 0 {
			continue
		}
		var found [][]int
		for _, m := range attrs.FindAllStringIndex(e.lines[i], -1) {
			if m[0] >= decided(e.lines[i]) || placed(e.lines[i], m[0]) {
				found = append(found, m)
			}
		}
		if found != nil {
			return i, pick(e.draw, found...)
		}
	}
	return -1, nil
}

// value changes a number in the value of a key such as part or wait. All keys have the same chance.
func (e *editor) value() {
	type place struct{ line, from, to int }
	byKey := make(map[string][]place)
	var keys []string
	for i, line := range e.lines {
		if slices.Contains(e.without, kindOf(line)) {
			continue
		}
		for _, m := range attrs.FindAllStringIndex(line, -1) {
			word := line[m[0]:m[1]]
			if !numbers.MatchString(word) || m[0] < decided(line) && !placed(line, m[0]) {
				continue
			}
			if byKey[attrKey(word)] == nil {
				keys = append(keys, attrKey(word))
			}
			byKey[attrKey(word)] = append(byKey[attrKey(word)], place{i, m[0], m[1]})
		}
	}
	if keys == nil {
		return
	}
	p := pick(e.draw, byKey[pick(e.draw, keys...)]...)
	line := e.lines[p.line]
	n := pick(e.draw, numbers.FindAllStringIndex(line[p.from:p.to], -1)...)
	e.lines[p.line] = line[:p.from+n[0]] + e.otherNumber(line[p.from+n[0]:p.from+n[1]]) + line[p.from+n[1]:]
}

// dropAttr removes a word such as wait=[1] or queue="d0".
func (e *editor) dropAttr() {
	if i, m := e.withAttrs(); i >= 0 {
		e.lines[i] = e.lines[i][:m[0]] + e.lines[i][m[1]:]
	}
}

// takeAttr copies such a word from another line, in place of the line's own word or in addition to it.
func (e *editor) takeAttr() {
	from, f := e.withAttrs()
	to, t := e.withAttrs()
	if from < 0 || to < 0 {
		return
	}
	word, line := e.lines[from][f[0]:f[1]], e.lines[to]
	for _, m := range attrs.FindAllStringIndex(line, -1) {
		if attrKey(line[m[0]:m[1]]) == attrKey(word) && (m[0] >= decided(line) || placed(line, m[0])) {
			e.lines[to] = line[:m[0]] + word + line[m[1]:]
			return
		}
	}
	e.lines[to] = line[:t[0]] + word + line[t[0]:]
}

// attrKey returns the key of a word: the part before its value.
func attrKey(word string) string {
	if strings.HasPrefix(word, " @") {
		return "@"
	}
	return word[:strings.IndexAny(word[1:], "= ")+1]
}

// swapAttr exchanges words with the same key between two lines.
func (e *editor) swapAttr() {
	for range 20 {
		i, a := e.withAttrs()
		j, b := e.withAttrs()
		if i < 0 || j < 0 || i == j || attrKey(e.lines[i][a[0]:a[1]]) != attrKey(e.lines[j][b[0]:b[1]]) {
			continue
		}
		x, y := e.lines[i], e.lines[j]
		e.lines[i], e.lines[j] = x[:a[0]]+y[b[0]:b[1]]+x[a[1]:], y[:b[0]]+x[a[0]:a[1]]+y[b[1]:]
		return
	}
}

func (e *editor) removeLine() {
	if i := e.line(anyKind); i >= 0 {
		e.lines = slices.Delete(e.lines, i, i+1)
	}
}

func (e *editor) doubleLine() {
	if i := e.line(anyKind); i >= 0 {
		e.lines = slices.Insert(e.lines, i, e.lines[i])
	}
}

func (e *editor) swapLines() {
	if i := e.line(anyKind); i > 0 {
		j := i - 1
		if e.oneIn(3) {
			j = e.line(anyKind)
		}
		e.lines[i], e.lines[j] = e.lines[j], e.lines[i]
	}
}

func (e *editor) moveLine() {
	i := e.line(anyKind)
	if i < 0 {
		return
	}
	line := e.lines[i]
	e.lines = slices.Delete(e.lines, i, i+1)
	to := e.IntN(len(e.lines) + 1)
	if e.oneIn(2) {
		to = min(len(e.lines), max(0, i+e.IntN(9)-4))
	}
	e.lines = slices.Insert(e.lines, to, line)
}

// names are new names: those of other things, and words with a meaning elsewhere.
var names = []string{"x", "tokens", "pos", "slot", "lengths", "logits", "prefill", "decode", "nil", "string", "error", "any", "context", "main", "init", "_", "0",
	"a b", "é", "host", "cpu", "blk.0.keys", "v1", "v5", "threads", "kv", "program", "runtime", "len", "float32", "a/b", "a\\\"b", "a\\nb", "*/", "model", "Session", "weights"}

var named = regexp.MustCompile(`%"[^"]*"|%[\w.]+|@[\w.]+|"[^"]+"`)

// rename renames a value, function, weight, state, symbol or space in all places.
func (e *editor) rename() {
	if slices.Contains(e.without, "rename") {
		return
	}
	old, _ := e.name()
	bare := strings.Trim(strings.TrimLeft(old, "%@"), `"`)
	if bare == "" {
		return
	}
	fresh := pick(e.draw, pick(e.draw, names...), bare+"x", bare[1:])
	everywhere := regexp.MustCompile(`(^|[^\w."])("?)` + regexp.QuoteMeta(bare) + `("?)($|[^\w."])`)
	quoted := regexp.MustCompile(`^[A-Za-z_][\w.]*$`).MatchString(fresh)
	for i, l := range e.lines {
		for everywhere.MatchString(l) {
			next := everywhere.ReplaceAllStringFunc(l, func(m string) string {
				p := everywhere.FindStringSubmatch(m)
				q := p[2]
				if !quoted {
					q = `"`
				}
				return p[1] + q + "\x00" + q + p[4]
			})
			if next == l {
				break
			}
			l = next
		}
		if l = strings.ReplaceAll(l, "\x00", fresh); l != e.lines[i] {
			e.meaning = e.meaning || e.graph && kindOf(l) == "func"
		}
		e.lines[i] = l
	}
	e.meaning = e.meaning || bare == "r16" || strings.HasPrefix(bare, "blk.") && strings.HasSuffix(bare, ".weight")
}

// renameOnce changes a name in one place.
func (e *editor) renameOnce() {
	old, i := e.name()
	if old == "" || slices.Contains(e.without, "rename") {
		return
	}
	e.change(e.lines[i], strings.Index(e.lines[i], old))
	sigil := ""
	if old[0] == '%' || old[0] == '@' {
		sigil = old[:1]
	}
	fresh := pick(e.draw, names...)
	if other, _ := e.name(); e.oneIn(2) && other != "" {
		fresh = strings.Trim(strings.TrimLeft(other, "%@"), `"`)
	}
	e.lines[i] = strings.Replace(e.lines[i], old, sigil+`"`+fresh+`"`, 1)
}

// name draws a name and a line in which it occurs.
func (e *editor) name() (string, int) {
	for range 20 {
		i := e.line(anyKind)
		if i < 0 {
			continue
		}
		if found := named.FindAllString(e.lines[i], -1); found != nil {
			return pick(e.draw, found...), i
		}
	}
	return "", -1
}

// meta changes a note of the frontend.
func (e *editor) meta() {
	i := e.line(func(kind string) bool { return kind == "meta" })
	if i < 0 {
		e.number()
		return
	}
	fields := strings.SplitN(e.lines[i], " ", 3)
	if len(fields) < 3 {
		return
	}
	value := pick(e.draw, "0", "1", "2", "3", "16", "64", "200", "4096", "100000", "-1", "x", "", "m", " 16", "1e3", "9223372036854775807", "0x10")
	e.lines[i] = fields[0] + " " + fields[1] + ` "` + value + `"`
}
