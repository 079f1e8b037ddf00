package jsonschema

import (
	"fmt"
	"strings"
	"testing"
)

// TestSchemasOfSchemas: allOf, lists of items, and a type beside a list of schemas.
func TestSchemasOfSchemas(t *testing.T) {
	const definitions = `"$defs": {"named": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
		"aged": {"properties": {"age": {"type": "integer"}}},
		"node": {"allOf": [{"$ref": "#/$defs/named"}, {"properties": {"next": {"allOf": [{"$ref": "#/$defs/node"}, {"properties": {"last": {"type": "boolean"}}}]}}}]}}`
	for _, c := range []struct{ schema, yes, no string }{
		{`{"allOf": [{"$ref": "#/$defs/named"}], "description": "x", ` + definitions + `}`, `{"name":"a"}`, `{}`},
		{`{"allOf": [{"$ref": "#/$defs/named"}, {"$ref": "#/$defs/aged"}], ` + definitions + `}`, `{"name":"a","age":1}`, `{"age":1}`},
		{`{"allOf": [{"$ref": "#/$defs/aged"}], "properties": {"b": {"type": "null"}}, "required": ["b", "age"], ` + definitions + `}`, `{"b":null,"age":1}`, `{"b":null}`},
		{`{"allOf": [{"allOf": [{"$ref": "#/$defs/named"}, {"$ref": "#/$defs/named"}]}, {"type": "object"}], ` + definitions + `}`, `{"name":"a"}`, `{"name":1}`},
		{`{"$ref": "#/$defs/node", ` + definitions + `}`, `{"name":"a","next":{"name":"b","next":{"name":"c","last":true},"last":false}}`, `{"name":"a","last":true}`},
		{`{"type": "string", "anyOf": [{"minLength": 3}, {"maxLength": 1}]}`, `"abc"`, `"ab"`},
		{`{"type": "object", "anyOf": [{"$ref": "#/$defs/named"}, {"$ref": "#/$defs/aged"}], ` + definitions + `}`, `{"age":1}`, `{"x":1}`},
		{`{"type": "integer", "allOf": [{"minimum": 3}]}`, `3`, `2`},
		{`{"items": [{"type": "integer"}, {"type": "null"}], "additionalItems": false, "minItems": 2}`, `[1,null]`, `[1,2]`},
		{`{"type": "array", "items": [{"type": "integer"}]}`, `[1]`, `[1,1]`},
	} {
		g := compile(t, c.schema)
		if !follows(t, g, c.yes) {
			t.Errorf("%s: %s is not allowed", c.schema, c.yes)
		}
		if follows(t, g, c.no) {
			t.Errorf("%s: %s is allowed", c.schema, c.no)
		}
	}
}

// TestReferencesOfAllOfAreReadOnce: each of 14 schemas refers eight times to the next one.
func TestReferencesOfAllOfAreReadOnce(t *testing.T) {
	list := func(i int) string {
		return `{"allOf": [` + strings.Repeat(fmt.Sprintf(`{"$ref": "#/$defs/%d"}, `, i), 7) + fmt.Sprintf(`{"$ref": "#/$defs/%d"}]}`, i)
	}
	var definitions strings.Builder
	for i := range 14 {
		fmt.Fprintf(&definitions, `"%d": %s, `, i, list(i+1))
	}
	g := compile(t, `{"properties": {"a": `+list(0)+`}, "$defs": {`+definitions.String()+`"14": {"properties": {"b": {"type": "null"}}}}}`)
	if !follows(t, g, `{"a":{"b":null}}`) || follows(t, g, `{"a":{"b":1}}`) {
		t.Error("other members")
	}
}

func TestTypesBesideListsAreNoted(t *testing.T) {
	for schema, noted := range map[string]bool{
		`{"type": "object", "anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"properties": {}}}}`: false,
		`{"type": "object", "oneOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"type": "string"}}}`: true,
		`{"type": "integer", "anyOf": [{"enum": [1]}]}`:                                            true,
		`{"type": ["string", "null"], "anyOf": [{"maxLength": 3}, {"type": ["string", "null"]}]}`:  false,
	} {
		if _, notes, err := Grammar(schema); err != nil || (len(notes) > 0) != noted {
			t.Errorf("%s: notes %v, error %v", schema, notes, err)
		}
	}
}

func TestFaultsOfAllOfAreNamed(t *testing.T) {
	for schema, want := range map[string]string{
		`{"allOf": []}`:                       "schema: #: allOf is a list of schemas",
		`{"allOf": {}}`:                       "schema: #: allOf is a list of schemas",
		`{"allOf": [{"$ref": "#/x"}, {}]}`:    "there is no such part",
		`{"allOf": [{"$ref": "#"}, {}]}`:      "at most 32 within each other",
		`{"allOf": [{"$ref": "#"}]}`:          "$ref leads back to itself",
		`{"allOf": [true, {}]}`:               "schema: #/allOf/0: of several schemas, allOf joins those of objects",
		`{"allOf": [{"anyOf": []}, {}]}`:      `schema: #/allOf/0: allOf joins several schemas by the keywords of objects type, properties, required, allOf; "anyOf" is another`,
		`{"allOf": [{"type": "string"}, {}]}`: `"type" is another`,
		`{"allOf": [{}, {}], "minItems": 1}`:  `"minItems" is another`,
		`{"allOf": [{"properties": {"a": true}}, {"properties": {"a": {"type": "null"}}}]}`: `two parts of allOf describe the member "a" in different ways`,
		`{"allOf": [{"properties": 1}, {}]}`:                                                "properties is an object",
		`{"allOf": [{}], "required": ["a"]}`:                                                `required names "a"`,
	} {
		if _, _, err := Grammar(schema); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", schema, err, want)
		}
	}
}
