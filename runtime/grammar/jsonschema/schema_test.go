package jsonschema

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ggmlc/ggmlc/runtime/grammar"
)

// schemas have values that follow them and values that do not.
var schemas = []struct {
	name, schema string
	good, bad    []string
}{
	{"anything", `true`, []string{`1`, `[1, "x", {"a": null}]`, `{}`}, []string{``, `{`, `[1,]`, `tru`}},
	{"string", `{"type": "string"}`, []string{`""`, `"aé\n"`, `"\u00e9"`}, []string{`1`, `"a`, "\"\n\""}},
	{"lengths", `{"type": "string", "minLength": 2, "maxLength": 3}`, []string{`"ab"`, `"a\nc"`}, []string{`"a"`, `"abcd"`}},
	{"lengths of pairs", `{"type": "string", "minLength": 2, "maxLength": 2}`, []string{`"\ud83d\ude00a"`, `"😀\ud83D\uDE00"`, `"\u00e9\uE000"`, `"\ud7ff\n"`},
		[]string{`"\ud83d\ude00"`, `"\ud83d"`, `"a\ud83d"`, `"\ude00\ud83d"`, `"\ud83da"`, `"\ud83d\n"`, `"abc"`}},
	{"number", `{"type": "number"}`, []string{`0`, `-1.5e+3`, `12`}, []string{`01`, `.5`, `+1`, `1.`}},
	{"integer", `{"type": "integer"}`, []string{`0`, `-12`}, []string{`1.5`, `-`, `00`}},
	{"bounds", `{"type": "integer", "minimum": 7, "exclusiveMaximum": 124}`, []string{`7`, `9`, `10`, `99`, `100`, `119`, `123`}, []string{`6`, `124`, `0`, `-7`, `1000`, `07`}},
	{"negative", `{"type": "integer", "minimum": -15, "maximum": 3}`, []string{`-15`, `-9`, `-1`, `0`, `3`}, []string{`-16`, `4`, `-0`, `15`}},
	{"below", `{"type": "integer", "maximum": -5}`, []string{`-5`, `-123456`}, []string{`-4`, `0`, `5`}},
	{"enum", `{"enum": ["a", 1, null, {"x": [true]}]}`, []string{`"a"`, `1`, `null`, `{"x":[true]}`}, []string{`"b"`, `true`}},
	{"enum with a pattern", `{"enum": ["a1", "b2", "zz", 3], "pattern": "[0-9]$"}`, []string{`"a1"`, `"b2"`, `3`}, []string{`"zz"`}},
	{"enum with a range", `{"type": "integer", "enum": [1, 2, 3, 4.0, 5.5], "minimum": 2, "exclusiveMaximum": 4}`, []string{`2`, `3`}, []string{`1`, `4.0`, `5.5`}},
	{"enum above a number", `{"enum": [1, 2, 3, "a"], "maximum": 2.5, "exclusiveMinimum": 1}`, []string{`2`, `"a"`}, []string{`1`, `3`}},
	{"enum with lengths", `{"enum": ["", "é", "bc"], "minLength": 1, "maxLength": 1}`, []string{`"é"`}, []string{`""`, `"bc"`}},
	{"const with a pattern", `{"const": "abab", "pattern": "^(ab|c){2}$"}`, []string{`"abab"`}, []string{`"cc"`}},
	{"annotations", `{"type": "null", "strict": true, "discriminator": {}, "x-order": 1, "propertyOrdering": [], "contentEncoding": "base64", "example": 1}`, []string{`null`}, []string{`1`}},
	{"enum with a type", `{"enum": ["a", 1, 2.0, 2.5, null], "type": ["integer", "null"]}`, []string{`1`, `2.0`, `null`}, []string{`"a"`, `2.5`}},
	{"no members", `{"type": "object", "additionalProperties": false}`, []string{`{}`, `{ }`}, []string{`{"a":1}`, `[]`}},
	{"large bound", `{"type": "integer", "minimum": 9999999999999998, "maximum": 9999999999999999}`, []string{`9999999999999998`, `9999999999999999`}, []string{`10000000000000000`, `9999999999999997`}},
	{"const", `{"const": "say \"hi\"\n"}`, []string{`"say \"hi\"\n"`}, []string{`"say"`}},
	{"types", `{"type": ["string", "null"], "maxLength": 1}`, []string{`"a"`, `null`}, []string{`"ab"`, `1`}},
	{"object", `{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}, "c": {"type": "null"}}, "required": ["b"]}`,
		[]string{`{"b":true}`, `{"a": 1, "b": false}`, `{"b":true,"c":null}`, "{\n \"a\":1,\"b\":true,\"c\":null}"},
		[]string{`{}`, `{"a":1}`, `{"b":true,"a":1}`, `{"b":1}`, `{"b":true,}`, `{"b":true,"d":1}`}},
	{"more members", `{"properties": {"ab": {"type": "integer"}, "a": {"type": "integer"}}, "additionalProperties": {"type": "string"}}`,
		[]string{`{}`, `{"ab":1}`, `{"x":"y"}`, `{"a":1,"abc":"y","b":""}`, `{"":"e"}`}, []string{`{"ab":"x"}`, `{"a":"x"}`, `{"x":1}`}},
	{"only others", `{"type": "object", "additionalProperties": {"type": "integer"}}`, []string{`{}`, `{"a":1,"b":2}`}, []string{`{"a":"b"}`}},
	{"array", `{"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3}`, []string{`[1,2]`, `[1, 2, 3]`}, []string{`[]`, `[1]`, `[1,2,3,4]`, `[1,"x"]`}},
	{"one item", `{"items": {"type": "integer"}, "maxItems": 1}`, []string{`[]`, `[1]`}, []string{`[1,2]`}},
	{"no item", `{"type": "array", "maxItems": 0}`, []string{`[]`}, []string{`[1]`}},
	{"tuple", `{"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": false, "minItems": 1}`, []string{`[1]`, `[1,"a"]`}, []string{`[]`, `["a"]`, `[1,"a",2]`}},
	{"part of a tuple", `{"prefixItems": [{"type": "integer"}, {"type": "string"}], "maxItems": 1}`, []string{`[]`, `[1]`}, []string{`[1,"a"]`}},
	{"part of a short tuple", `{"prefixItems": [true, true, true], "items": false, "minItems": 1, "maxItems": 2}`, []string{`[1]`, `[1,2]`}, []string{`[]`, `[1,2,3]`}},
	{"tuple and more", `{"prefixItems": [{"type": "integer"}], "items": {"type": "null"}, "minItems": 3}`, []string{`[1,null,null]`, `[1,null,null,null]`}, []string{`[1]`, `[1,null]`, `[1,1,1]`}},
	{"any of", `{"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"]}]}`, []string{`1`, `{"k":"v"}`}, []string{`{}`, `"x"`}},
	{"recursive", `{"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "properties": {"next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/tree"}]}}, "required": ["next"]}}}`,
		[]string{`{"next":null}`, `{"next":{"next":null}}`}, []string{`{}`, `{"next":{}}`}},
	{"itself", `{"type": "array", "items": {"$ref": "#"}}`, []string{`[]`, `[[],[[]]]`}, []string{`[1]`}},
	{"formats", `{"type": "array", "items": {"type": "string", "format": "date-time"}}`, []string{`["2026-11-23T10:00:00Z"]`, `["2026-01-31T23:59:59.123+01:00"]`}, []string{`["2026-13-01T10:00:00Z"]`, `["x"]`}},
	{"date", `{"type": "string", "format": "date", "minLength": 3}`, []string{`"2024-02-29"`, `"2000-02-29"`, `"2026-12-31"`}, []string{`"2026-02-29"`, `"1900-02-29"`, `"2026-02-31"`, `"2026-04-31"`}},
	{"short times", `{"type": "string", "format": "date-time", "maxLength": 24}`, []string{`"2026-11-23T10:00:00Z"`, `"2026-11-23T10:00:00.123Z"`}, []string{`"2026-11-23T10:00:00+01:00"`}},
	{"times with an offset", `{"type": "string", "format": "time", "minLength": 14}`, []string{`"10:00:00+01:00"`, `"10:00:00.123-01:00"`}, []string{`"10:00:00Z"`, `"10:00:00.123Z"`}},
	{"uuid", `{"type": "string", "format": "uuid"}`, []string{`"123e4567-e89b-12d3-a456-426614174000"`}, []string{`"123e4567e89b12d3a456426614174000"`}},
	{"pattern", `{"properties": {"id": {"type": "string", "pattern": "^[A-Z]{2,3}-\\d+$"}}, "required": ["id"]}`, []string{`{"id":"AB-1"}`, `{"id":"ABC-123"}`},
		[]string{`{"id":"A-1"}`, `{"id":"AB-"}`, `{"id":"xAB-1"}`, `{"id":"AB-1x"}`, `{"id":"AB-1`}},
	{"patterns with lengths", `{"pattern": "^(a+b?)+$", "minLength": 2, "maxLength": 4}`, []string{`"aa"`, `"ab"`, `"abab"`}, []string{`"a"`, `"abaab"`, `"abb"`, `1`}},
	{"part of a text", `{"type": ["string", "null"], "pattern": "\"\\w|\n$", "maxLength": 9}`, []string{`null`, `"x\"y"`, `"\u0022_!\\"`, `"é\n"`, `"\ud83d\ude00\u000a"`},
		[]string{`""`, `"\n "`, `"x\""`, `"12345678\"a"`}},
	{"references", `{"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "null"}]}, "b": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}`, []string{`null`, `[null,[]]`}, []string{`1`}},
	{"odd names", `{"properties": {"a b\"": {"type": "null"}, "é": {"type": "null"}, "a-b_": {"type": "null"}}, "title": "t"}`, []string{`{"a b\"":null,"é":null,"a-b_":null}`}, []string{`{"a b":null}`}},
}

// bytes is a vocabulary of the 256 bytes, and an end.
type bytes struct{}

func (bytes) Size() int { return 257 }
func (bytes) AppendPiece(dst []byte, id int32) []byte {
	if id == 256 {
		return dst
	}
	return append(dst, byte(id))
}
func (bytes) IsEOG(id int32) bool         { return id == 256 }
func (bytes) HasText(int32) bool          { return true }
func (bytes) Single(string) (int32, bool) { return 0, false }

var vocab = grammar.NewVocab(bytes{})

func compile(t testing.TB, schema string) *grammar.Grammar {
	t.Helper()
	text, _, err := Grammar(schema)
	if err != nil {
		t.Fatal(err)
	}
	g, err := grammar.Compile(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return g
}

// allowed returns the bytes that can follow.
func allowed(m *grammar.Matcher) (list []int32) {
	logits := make([]float32, 257)
	if m.Limit(logits) != nil {
		return nil
	}
	for id, l := range logits {
		if l == 0 {
			list = append(list, int32(id))
		}
	}
	return list
}

func follows(t *testing.T, g *grammar.Grammar, text string) bool {
	t.Helper()
	m, err := g.Match(vocab)
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(text) {
		if m.Accept(int32(text[i])) != nil {
			return false
		}
	}
	return slices.Contains(allowed(m), 256)
}

func TestGrammarsOfSchemasKnowGoodFromBad(t *testing.T) {
	for _, tt := range schemas {
		t.Run(tt.name, func(t *testing.T) {
			g := compile(t, tt.schema)
			for _, text := range tt.good {
				if !follows(t, g, text) || !valid(t, tt.schema, text) {
					t.Errorf("%s is refused", text)
				}
			}
			for _, text := range tt.bad {
				if follows(t, g, text) {
					t.Errorf("%s follows", text)
				}
			}
		})
	}
}

// TestTextsOfGrammarsFollowTheirSchemas draws texts from grammars and checks them with a validator that knows nothing
// of grammars.
func TestTextsOfGrammarsFollowTheirSchemas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, tt := range schemas {
		t.Run(tt.name, func(t *testing.T) {
			g := compile(t, tt.schema)
			done := 0
			for range 60 {
				m, err := g.Match(vocab)
				if err != nil {
					t.Fatal(err)
				}
				text := draw(m, r)
				if text == "" {
					continue
				}
				done++
				if !valid(t, tt.schema, text) {
					t.Fatalf("%s does not follow the schema", text)
				}
			}
			if done < 10 {
				t.Errorf("only %d texts ended", done)
			}
		})
	}
}

// draw returns a random text of a grammar; "" if it does not end soon. It prefers closing characters.
func draw(m *grammar.Matcher, r *rand.Rand) string {
	var text []byte
	for len(text) < 400 {
		list := allowed(m)
		closing := slices.DeleteFunc(slices.Clone(list), func(id int32) bool { return id != 256 && !strings.ContainsRune(`"]}`, rune(id)) })
		if len(closing) > 0 && r.IntN(4) > 0 {
			list = closing
		}
		id := list[r.IntN(len(list))]
		if id == 256 {
			return string(text)
		}
		if m.Accept(id) != nil {
			return string(text) + "?"
		}
		text = append(text, byte(id))
	}
	return ""
}

// valid reports whether a JSON text follows a schema.
func valid(t *testing.T, schema, text string) bool {
	t.Helper()
	var s, v any
	d := json.NewDecoder(strings.NewReader(schema))
	if err := d.Decode(&s); err != nil {
		t.Fatal(err)
	}
	if !utf8.ValidString(text) || json.Unmarshal([]byte(text), &v) != nil {
		return false
	}
	return (&validator{s}).check(s, v)
}

// validator checks values with the JSON Schema specification (draft 2020-12), for the keywords of this package.
type validator struct{ top any }

func (w *validator) check(s, v any) bool {
	if b, ok := s.(bool); ok {
		return b
	}
	o := s.(map[string]any)
	if ref, ok := o["$ref"].(string); ok {
		at := w.top
		for _, key := range strings.Split(ref, "/")[1:] {
			at = at.(map[string]any)[key]
		}
		if !w.check(at, v) {
			return false
		}
	}
	if c, ok := o["const"]; ok && fmt.Sprint(c) != fmt.Sprint(v) {
		return false
	}
	if list, ok := o["enum"].([]any); ok && !slices.ContainsFunc(list, func(x any) bool { return fmt.Sprint(x) == fmt.Sprint(v) }) {
		return false
	}
	if list, ok := o["anyOf"].([]any); ok && !slices.ContainsFunc(list, func(x any) bool { return w.check(x, v) }) {
		return false
	}
	return w.checkType(o["type"], v) && w.checkParts(o, v)
}

func (w *validator) checkType(kind, v any) bool {
	switch kind := kind.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(kind, func(k any) bool { return w.checkType(k, v) })
	}
	switch x := v.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case float64:
		return kind == "number" || kind == "integer" && x == math.Trunc(x)
	case []any:
		return kind == "array"
	}
	return kind == "object"
}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// hasFormat asks package time.
func hasFormat(text string, format any) bool {
	layout, ok := map[any]string{"date": time.DateOnly, "time": time.RFC3339[11:], "date-time": time.RFC3339}[format]
	if ok {
		_, err := time.Parse(layout, text)
		return err == nil
	}
	return format != "uuid" || uuid.MatchString(text)
}

func (w *validator) checkParts(o map[string]any, v any) bool {
	limit := func(key string, fallback float64) float64 {
		if x, ok := o[key].(float64); ok {
			return x
		}
		return fallback
	}
	within := func(n float64, lo, hi string) bool {
		return n >= limit(lo, math.Inf(-1)) && n <= limit(hi, math.Inf(1))
	}
	switch x := v.(type) {
	case string:
		pattern, ok := o["pattern"].(string)
		return within(float64(utf8.RuneCountInString(x)), "minLength", "maxLength") && hasFormat(x, o["format"]) &&
			(!ok || regexp.MustCompile(pattern).MatchString(x))
	case float64:
		return within(x, "minimum", "maximum") && x < limit("exclusiveMaximum", math.Inf(1)) && x > limit("exclusiveMinimum", math.Inf(-1))
	case []any:
		own, _ := o["prefixItems"].([]any)
		for i, item := range x {
			if s, ok := o["items"]; i < len(own) && !w.check(own[i], item) || i >= len(own) && ok && !w.check(s, item) {
				return false
			}
		}
		return within(float64(len(x)), "minItems", "maxItems")
	case map[string]any:
		properties, _ := o["properties"].(map[string]any)
		for key, member := range x {
			s, ok := properties[key]
			if !ok {
				s, ok = o["additionalProperties"]
			}
			if ok && !w.check(s, member) {
				return false
			}
		}
		required, _ := o["required"].([]any)
		return !slices.ContainsFunc(required, func(key any) bool { _, ok := x[key.(string)]; return !ok })
	}
	return true
}

func TestRangesOfIntegersAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 60 {
		lo := r.Int64N(2200) - 1100
		hi := lo + r.Int64N(300)
		g := compile(t, fmt.Sprintf(`{"type": "integer", "minimum": %d, "maximum": %d}`, lo, hi))
		for n := lo - 30; n <= hi+30; n++ {
			if got, want := follows(t, g, fmt.Sprint(n)), n >= lo && n <= hi; got != want {
				t.Fatalf("%d in %d to %d: %v", n, lo, hi, got)
			}
		}
	}
}

func TestFaultsOfSchemasAreNamed(t *testing.T) {
	for schema, want := range map[string]string{
		`{`:                                     "schema: #: ",
		`{} 1`:                                  "text after the schema",
		`1`:                                     "a schema is an object",
		`false`:                                 "no value follows it",
		`{"type": "strin"}`:                     `there is no type "strin"`,
		`{"properties": {"a": {"not": true}}}`:  `schema: #/properties/a: the keyword "not" is not supported`,
		`{"required": ["a"]}`:                   `required names "a"`,
		`{"properties": {}, "required": ["a"]}`: `required names "a"`,
		`{"$ref": "http://x"}`:                  "only parts of the same schema",
		`{"$ref": "#"}`:                         "schema: #: $ref leads back to itself: # to #: ",
		`{"type": "array", "items": {"$ref": "#/$defs/b"}, "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "null"}]}, "b": {"anyOf": [{"items": {"$ref": "#/$defs/a"}}, {"$ref": "#/$defs/a"}]}}}`: "#/$defs/a to #/$defs/b to #/$defs/a",
		`{"const": "\ud800"}`: `schema: #: line 1: \ud800 is half of a character`,
		`{"type": "string", "format": "date", "maxLength": 9}`: "no text of the format date has a length within",
		`{"$ref": "#/x"}`:                                        "there is no such part",
		`{"enum": []}`:                                           "the list of possible values is empty",
		`{"type": "integer", "minimum": 1.5}`:                    "minimum of an integer is a whole number",
		`{"type": "integer", "minimum": 2, "maximum": 1}`:        "no whole number is between 2 and 1",
		`{"type": "string", "minLength": 3, "maxLength": 1}`:     "the smallest number, 3, is above the largest, 1",
		`{"type": "array", "minItems": 3, "maxItems": 1}`:        "the smallest number of items, 3, is above the largest, 1",
		`{"prefixItems": [true], "items": false, "minItems": 2}`: "minItems is 2, but there are 1 items",
		`{"type": "number", "minimum": 0}`:                       `the keyword "minimum" is not supported`,
		`{"type": ["integer", "number"], "minimum": 0}`:          `the keyword "minimum" is not supported for numbers that may have a fraction`,
		`{"type": ["object", "null", "object"]}`:                 "type is a name or a list of different names",
		strings.Repeat(`{"items":`, 300):                         "more than 200 objects",
	} {
		if _, _, err := Grammar(schema); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", schema, err, want)
		}
	}
}

// TestEveryDayOfSomeYears compares dates with the calendar of package time.
func TestEveryDayOfSomeYears(t *testing.T) {
	g := compile(t, `{"type": "string", "format": "date"}`)
	for _, year := range []int{0, 1900, 1904, 1999, 2000, 2023, 2024, 2026, 2100} {
		for month := range 14 {
			for day := range 33 {
				text := fmt.Sprintf("%04d-%02d-%02d", year, month, day)
				_, err := time.Parse(time.DateOnly, text)
				if got := follows(t, g, `"`+text+`"`); got != (err == nil) {
					t.Fatalf("%s: %v, package time has %v", text, got, err)
				}
			}
		}
	}
}

func TestNotes(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type": "object", "properties": {"a": {"type": "string", "format": "email"}}}`: `schema: #/properties/a: the format "email" is not followed: any string is allowed`,
		`{"type": "integer", "format": "int32"}`:                                         `schema: #: the format of values of type integer is not followed`,
		`{"type": "string", "format": "date"}`:                                           "",
		`{"type": "string", "format": "date", "pattern": "^2"}`:                          `schema: #: the format "date" is not followed beside a pattern`,
	} {
		if _, notes, err := Grammar(schema); err != nil || strings.Join(notes, "\n") != want {
			t.Errorf("%s: %q, %v, want %q", schema, notes, err, want)
		}
	}
}

// TestLargeSchemas: thousands of values, and of members that may be absent, are few readings of a text.
func TestLargeSchemas(t *testing.T) {
	var values, members []string
	for i := range 5000 {
		values = append(values, fmt.Sprintf(`"value %d"`, i*7919))
	}
	for i := range 2000 {
		members = append(members, fmt.Sprintf(`"member %d": {"type": "null"}`, i))
	}
	g := compile(t, `{"enum": [`+strings.Join(values, ", ")+`]}`)
	if !follows(t, g, values[4999]) || follows(t, g, `"value 1"`) {
		t.Error("the enum")
	}
	g = compile(t, `{"prefixItems": [{"type": "null"}`+strings.Repeat(`, {"type": "null"}`, 599)+`], "minItems": 3}`)
	if !follows(t, g, `[null`+strings.Repeat(`,null`, 599)+`]`) || follows(t, g, `[null`+strings.Repeat(`,null`, 600)+`]`) || follows(t, g, `[null,null]`) {
		t.Error("the items")
	}
	g = compile(t, `{"properties": {`+strings.Join(members, ", ")+`}}`)
	if !follows(t, g, `{"member 3":null,"member 1999":null}`) || !follows(t, g, `{}`) || follows(t, g, `{"member 3":null,"member 2":null}`) {
		t.Error("the members")
	}
}

// TestManyNamesThatAreAlike: names of rules have no Chinese characters, so those of these members differ in a number.
func TestManyNamesThatAreAlike(t *testing.T) {
	var members strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&members, `"%c": {"type": "array", "items": {"type": "null"}}, `, 0x4e00+i)
	}
	start := time.Now()
	if _, _, err := Grammar(`{"properties": {` + members.String() + `"a": true}}`); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > soon {
		t.Errorf("%v for a schema of 1 MB", d)
	}
}

// TestLongKeys: other members beside one with a long name.
func TestLongKeys(t *testing.T) {
	long := strings.Repeat("key", 5000)
	g := compile(t, `{"properties": {"`+long+`": {"type": "null"}}, "additionalProperties": {"type": "integer"}}`)
	for text, want := range map[string]bool{
		`{"` + long + `":null,"` + long[1:] + `":1,"` + long + `x":2,"` + long[:7000] + `":3}`: true,
		`{"` + long + `":1}`: false,
	} {
		if follows(t, g, text) != want {
			t.Errorf("%.30s… %.30s: want %v", text, text[len(text)-30:], want)
		}
	}
}

// TestEscapesOfReferences: as in every URI, a $ref may have any character as %XX.
func TestEscapesOfReferences(t *testing.T) {
	g := compile(t, `{"prefixItems": [{"$ref": "#/$defs/Record%3Ca%2C%20%C3%A9%3E"}, {"$ref": "#/$defs/100%"}, {"$ref": "#/%24defs/100%25"}],
		"$defs": {"Record<a, é>": {"type": "null"}, "100%": {"type": "boolean"}}}`)
	if !follows(t, g, `[null,true,false]`) || follows(t, g, `[true]`) {
		t.Error("other parts are meant")
	}
}

// FuzzGrammar looks for schemas whose grammars do not compile.
func FuzzGrammar(f *testing.F) {
	for _, tt := range schemas {
		f.Add(tt.schema)
	}
	for i, tt := range patterns {
		f.Add(patternSchema(tt.pattern, i%3, i%7-1))
	}
	for _, pattern := range hostilePatterns() {
		if len(pattern) < 2000 {
			f.Add(patternSchema(pattern, 0, -1))
		}
	}
	f.Fuzz(func(t *testing.T, schema string) {
		text, _, err := Grammar(schema)
		if err != nil || len(text) > grammar.MaxText {
			return
		}
		if _, err := grammar.Compile(text); err != nil && !strings.Contains(err.Error(), "instructions") {
			t.Errorf("%v\n%s", err, text)
		}
	})
}
