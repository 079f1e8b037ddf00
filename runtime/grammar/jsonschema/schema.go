package jsonschema

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Error is a fault of a schema.
type Error struct {
	Path string // of the part: #/properties/name
	Text string
}

func (e *Error) Error() string { return "schema: " + e.Path + ": " + e.Text }

// Grammar returns the grammar of a schema, and notes about parts of the schema that it does not follow. The error is an
// *Error.
func Grammar(schema string) (text string, notes []string, err error) {
	top, err := decode(schema)
	if err != nil {
		return "", nil, &Error{"#", err.Error()}
	}
	w := &writer{top: top, rules: make(map[string]string), taken: make(map[string]int), refs: make(map[string]string),
		merged: make(map[*object]string), heads: make(map[string][]string), head: "#",
		patterns: make(map[string]string), sets: make(map[string]string), places: make(map[*span]string), left: maxCompared}
	root := w.value(top, "root", "#")
	w.checkHeads()
	if w.err != nil {
		return "", nil, w.err
	}
	if root != "root" {
		w.define("root", root)
	}
	var b strings.Builder
	for _, name := range w.names {
		fmt.Fprintf(&b, "%s ::= %s\n", name, w.rules[name])
	}
	return b.String(), w.notes, nil
}

// writer writes the rules of a schema's parts.
type writer struct {
	top    value
	names  []string // of rules, in order
	rules  map[string]string
	taken  map[string]int     // how many rules have been named like this
	refs   map[string]string  // the rule of each $ref
	merged map[*object]string // the rule of each schema with an allOf of several
	size   int                // bytes of the texts of rules
	notes  []string
	err    *Error

	patterns map[string]string // the rule of each pattern with its lengths
	sets     map[string]string // the rule of each set of characters, by its class
	places   map[*span]string  // the expression of each set, by its first range
	left     int               // how many steps of automatons may be compared with the values of enums

	head  string              // the $ref that begins with the part that is written; "" within an object or an array
	heads map[string][]string // the $refs that each $ref may begin with
}

func (w *writer) fail(path, format string, args ...any) {
	if w.err == nil {
		w.err = &Error{path, fmt.Sprintf(format, args...)}
	}
}

// note adds a note about a part.
func (p *part) note(format string, args ...any) {
	text := "schema: " + p.path + ": " + fmt.Sprintf(format, args...)
	if !slices.Contains(p.notes, text) {
		p.notes = append(p.notes, text)
	}
}

// maxSize bounds the rules of patterns, as package grammar bounds texts. Lengths beside a short pattern make long ones.
const maxSize = 1 << 20

// define adds a rule and returns its name.
func (w *writer) define(name, text string) string {
	old, ok := w.rules[name]
	if !ok {
		w.names = append(w.names, name)
	}
	w.size += len(text) - len(old)
	w.rules[name] = text
	return name
}

// fresh returns a name that no rule has, and reserves it.
func (w *writer) fresh(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '-'
	}, name)
	for {
		unique := clean
		if w.taken[clean]++; w.taken[clean] > 1 {
			unique += "-" + strconv.Itoa(w.taken[clean])
		}
		if _, ok := w.rules[unique]; !ok && basics[unique] == "" {
			return w.define(unique, "")
		}
	}
}

// basics are rules that schemas use.
var basics = map[string]string{
	"ws":      `"" | " " | "\n" [ \t]{0,20}`,
	"char":    `[^"\\\x00-\x1f\x7f] | "\\" (["\\/bfnrt] | "u" unit)`,
	"hex":     `[0-9a-fA-F]`,
	"unit":    `[0-9a-cA-Ce-fE-F] hex{3} | [dD] ([0-7] hex{2} | [89abAB] hex{2} "\\u" [dD] [c-fC-F] hex{2})`, // the last is a pair
	"string":  `"\"" char* "\""`,
	"integer": `"-"? ("0" | [1-9] [0-9]{0,15})`,
	"number":  `integer ("." [0-9]{1,16})? ([eE] [\-+]? [0-9]{1,2})?`,
	"boolean": `"true" | "false"`,
	"null":    `"null"`,
	"any":     `object | array | string | number | boolean | null`,
	"object":  `"{" ws (member ("," ws member)*)? "}"`,
	"member":  `string ws ":" ws any ws`,
	"array":   `"[" ws (any ws ("," ws any ws)*)? "]"`,
	"uuid":    `[0-9a-fA-F]{8} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{12}`,
	"date":    `[0-9]{4} "-" (("0" [13578] | "1" [02]) "-" (day | "3" [01]) | ("0" [469] | "11") "-" (day | "30") | "02-" ("0" [1-9] | "1" [0-9] | "2" [0-8])) | leap "-02-29"`,
	"day":     `"0" [1-9] | [12] [0-9]`,
	"leap":    `[0-9]{2} ("0" [48] | [2468] [048] | [13579] [26]) | ([02468] [048] | [13579] [26]) "00"`, // a year of 366 days
	"clock":   `([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9]`,
	"zone":    `[\-+] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]`,
}

// needs are the rules that a basic rule uses.
var needs = map[string][]string{
	"string": {"char"}, "char": {"unit"}, "unit": {"hex"}, "number": {"integer"}, "any": {"object", "array", "string", "number", "boolean", "null"},
	"object": {"ws", "member"}, "member": {"ws", "string", "any"}, "array": {"ws", "any"}, "date": {"day", "leap"},
}

// basic adds a basic rule, with the rules that it needs, and returns its name.
func (w *writer) basic(name string) string {
	if _, ok := w.rules[name]; !ok {
		w.define(name, basics[name])
		for _, n := range needs[name] {
			w.basic(n)
		}
	}
	return name
}

// quote returns a text as a literal of a grammar.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// ignored lists keywords that do not limit values, or that only other keywords refer to.
var ignored = []string{
	"$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default", "examples", "deprecated", "readOnly",
	"writeOnly", "format", "$anchor", "$vocabulary", "contentEncoding", "contentMediaType", "contentSchema",
	"discriminator", "example", "externalDocs", "xml", // OpenAPI
	"strict", "propertyOrdering", // OpenAI, Gemini
}

// isIgnored reports whether a keyword has no effect; keywords that begin with x- are extensions of OpenAPI.
func isIgnored(key string) bool { return slices.Contains(ignored, key) || strings.HasPrefix(key, "x-") }

// value returns the rule or expression for a schema. A new rule gets a name like name.
func (w *writer) value(v value, name, path string) string {
	switch v := v.(type) {
	case bool:
		if !v {
			w.fail(path, "false: no value follows it")
		}
		return w.basic("any")
	case *object:
		return w.schema(&part{writer: w, object: v, name: name, path: path})
	}
	w.fail(path, "a schema is an object, true or false")
	return ""
}

// part is a schema that is an object. used are the keywords that have been read.
type part struct {
	*writer
	*object
	name, path string
	used       []string
}

// take returns the value of a keyword.
func (p *part) take(key string) (value, bool) {
	p.used = append(p.used, key)
	return p.get(key)
}

// schema returns the rule or expression of a part, and reports keywords that it does not know.
func (w *writer) schema(p *part) string {
	text := p.kind()
	for _, key := range p.keys {
		if !slices.Contains(p.used, key) && !isIgnored(key) {
			w.fail(p.path, "the keyword %q is not supported", key)
		}
	}
	return text
}

// kind returns the rule or expression of the part, by the keyword that decides most.
func (p *part) kind() string {
	if ref, ok := p.take("$ref"); ok {
		return p.reference(ref)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := p.take(key); ok {
			return p.alternatives(list, key)
		}
	}
	if list, ok := p.take("allOf"); ok {
		return p.allOf(list)
	}
	if c, ok := p.take("const"); ok {
		return p.enum([]value{c})
	}
	if list, ok := p.take("enum"); ok {
		return p.enum(list)
	}
	t, ok := p.take("type")
	if !ok {
		t = p.impliedType()
	}
	switch t := t.(type) {
	case nil:
		return p.basic("any")
	case string:
		return p.typed(t)
	case []value:
		return p.types(t)
	}
	p.fail(p.path, "type is a name or a list of names")
	return ""
}

// impliedType returns the type that the keywords of a schema without type are for; nil for none.
func (p *part) impliedType() value {
	for _, k := range []struct {
		kind string
		keys []string
	}{{"object", []string{"properties", "required", "additionalProperties"}}, {"array", []string{"items", "prefixItems", "minItems", "maxItems"}}, {"string", []string{"pattern"}}} {
		if slices.ContainsFunc(k.keys, func(key string) bool { _, ok := p.get(key); return ok }) {
			return k.kind
		}
	}
	return nil
}

func (p *part) types(list []value) string {
	var all []string
	for i, t := range list {
		name, ok := t.(string)
		if !ok || slices.Contains(list[:i], t) { // written twice, nested objects would grow exponentially
			p.fail(p.path, "type is a name or a list of different names")
			return ""
		}
		all = append(all, p.typed(name))
	}
	return p.choice(all)
}

// choice returns the expression of one of several.
func (p *part) choice(all []string) string {
	if len(all) == 0 {
		p.fail(p.path, "the list of possible values is empty")
	}
	return "(" + strings.Join(all, " | ") + ")"
}

func (p *part) typed(kind string) string {
	if _, ok := p.get("format"); ok && kind != "string" {
		p.note(`the format of values of type %s is not followed`, kind)
	}
	switch kind {
	case "object":
		return p.within(p.members)
	case "array":
		return p.within(p.array)
	case "string":
		return p.text()
	case "integer":
		return p.integer()
	case "number":
		for _, key := range bounds {
			if _, ok := p.get(key); ok {
				p.fail(p.path, "the keyword %q is not supported for numbers that may have a fraction", key)
			}
		}
		return p.basic(kind)
	case "boolean", "null":
		return p.basic(kind)
	}
	p.fail(p.path, "there is no type %q", kind)
	return ""
}

// bounds are the keywords of numbers that limit them.
var bounds = []string{"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}

func (p *part) enum(list value) string {
	values, ok := list.([]value)
	if !ok {
		p.fail(p.path, "enum is a list")
	}
	fits := p.filters()
	var all []string
	for _, v := range values {
		if !slices.ContainsFunc(fits, func(f filter) bool { return !f(v) }) {
			all = append(all, quote(encode(v)))
		}
	}
	if len(values) > 0 && len(all) == 0 {
		p.fail(p.path, "no value of enum or const follows the keywords beside it")
	}
	return p.choice(all)
}

// isOf reports whether a value is of a type, or of one of a list.
func isOf(v, types value) bool {
	if list, ok := types.([]value); ok {
		return slices.ContainsFunc(list, func(t value) bool { return isOf(v, t) })
	}
	switch v := v.(type) {
	case nil:
		return types == "null"
	case bool:
		return types == "boolean"
	case string:
		return types == "string"
	case []value:
		return types == "array"
	case *object:
		return types == "object"
	case number:
		x, err := strconv.ParseFloat(string(v), 64)
		return types == "number" || types == "integer" && err == nil && x == math.Trunc(x)
	}
	return false
}

func (p *part) alternatives(list value, key string) string {
	parts, ok := list.([]value)
	if !ok {
		p.fail(p.path, "%s is a list", key)
	}
	var all []string
	for i, v := range parts {
		all = append(all, p.value(p.inherit(v), fmt.Sprintf("%s-%d", p.name, i), fmt.Sprintf("%s/%s/%d", p.path, key, i)))
	}
	return p.choice(all)
}

// maxCount bounds numbers of characters and items.
const maxCount = 10000

// count returns a keyword that is a number from 0 on; fallback if it is absent.
func (p *part) count(key string, fallback int) int {
	v, ok := p.take(key)
	if !ok {
		return fallback
	}
	text, ok := v.(number)
	n, err := strconv.Atoi(string(text))
	if !ok || err != nil || n < 0 || n > maxCount {
		p.fail(p.path, "%s is a whole number between 0 and %d", key, maxCount)
	}
	return n
}

// times returns the repetition {lo,hi}; hi below 0 is no limit.
func (p *part) times(lo, hi int) string {
	switch {
	case hi < 0:
		return fmt.Sprintf("{%d,}", lo)
	case hi < lo:
		p.fail(p.path, "the smallest number, %d, is above the largest, %d", lo, hi)
	}
	return fmt.Sprintf("{%d,%d}", lo, hi)
}

// array returns the expression of an array: first those items that have schemas of their own, then the others.
func (p *part) array() string {
	lo, hi := p.count("minItems", 0), p.count("maxItems", -1)
	items, given := p.take("items")
	own := p.ownParts("prefixItems")
	if _, ok := items.([]value); ok { // as prefixItems, in schemas before 2020
		own, given, items = p.ownParts("items"), false, nil
		p.take("additionalItems")
	}
	ws := p.basic("ws")
	rest := ""
	if no, ok := items.(bool); (!ok || no) && (given || own == nil) {
		if !given {
			items = true
		}
		rest = p.fresh(p.name + "-item")
		p.define(rest, p.value(items, p.name+"-item", p.path+"/items"))
	}
	return `"[" ` + ws + " " + p.items(own, rest, lo, hi) + ` "]"`
}

// ownParts returns the expressions of the schemas that a keyword has for the first items.
func (p *part) ownParts(key string) (own []string) {
	list, _ := p.take(key)
	parts, _ := list.([]value)
	for i, v := range parts {
		own = append(own, p.value(v, fmt.Sprintf("%s-%d", p.name, i), fmt.Sprintf("%s/%s/%d", p.path, key, i)))
	}
	return own
}

// items returns the expression of own, in order, and then as many of rest as make it lo to hi items. rest is "" if
// there are no others.
func (p *part) items(own []string, rest string, lo, hi int) string {
	if hi >= 0 && hi < lo {
		p.fail(p.path, "the smallest number of items, %d, is above the largest, %d", lo, hi)
	}
	if rest == "" {
		if lo > len(own) {
			p.fail(p.path, "minItems is %d, but there are %d items", lo, len(own))
		}
		if hi < 0 || hi > len(own) {
			hi = len(own)
		}
	}
	if hi >= 0 && hi < len(own) {
		own = own[:hi]
	}
	more := ""
	if rest != "" && hi != len(own) {
		left := -1
		if hi >= 0 {
			left = hi - len(own)
		}
		need := max(0, lo-len(own))
		if len(own) > 0 {
			more = `("," ws ` + rest + " ws)" + p.times(need, left)
		} else {
			more = rest + ` ws ("," ws ` + rest + " ws)" + p.times(max(0, need-1), left-min(1, max(left, 0)))
			if need == 0 {
				more = "(" + more + ")?"
			}
		}
	}
	return p.ownItems(own, more, lo)
}

// maxNested is how many expressions within each other a rule has at most: characters of a key, or items.
const maxNested = 32

// ownItems returns the expression of items with schemas of their own, followed by more. Items from lo on may be absent,
// together with all later ones.
func (p *part) ownItems(own []string, more string, lo int) string {
	text := more
	for i, item := range slices.Backward(own) {
		comma := ""
		if i > 0 {
			comma = `"," ws `
		}
		text = strings.TrimSpace(comma + item + " ws " + text)
		if i >= lo {
			text = "(" + text + ")?"
		}
		if i%maxNested == maxNested-1 {
			text = p.define(p.fresh(p.name+"-items"), text)
		}
	}
	return text
}
