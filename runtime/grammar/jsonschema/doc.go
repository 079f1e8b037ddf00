// Package jsonschema turns a JSON schema into a grammar in GBNF: the texts that follow the grammar are JSON values that
// the schema describes.
//
// For example, {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]} becomes
//
//	root ::= "{" ws (root-0)
//	root-0 ::= "\"n\"" ws ":" ws integer ws "}"
//	...
//
// Members of an object come in the order of its properties, and each is there at most once. Without
// additionalProperties, an object with properties has no others: a model would continue for ever. White space is limited
// for the same reason.
//
// Keywords: type, properties, required, additionalProperties, items, prefixItems, minItems, maxItems, minLength,
// maxLength, minimum, maximum, exclusiveMinimum and exclusiveMaximum of integers, enum, const, anyOf, oneOf, allOf,
// $ref within the schema, pattern, and the formats date (with the days of each month, and leap years), time, date-time
// and uuid. Other formats are noted and not followed, as are formats beside a pattern. Of oneOf, values that match
// several are not excluded. An allOf of several schemas joins the members of objects. Of an enum or
// const, the values are left out that a type, a pattern, lengths or bounds of numbers beside it do not allow. Other
// keywords that limit values are refused by name; annotations are ignored, also those of OpenAPI and x-….
//
// A pattern is a regular expression of ECMA-262, read as with its flag u: characters are those of Unicode. It matches a
// part of the string, so any text may come before and after it where it has no ^ and $. Look-around, references to
// groups, word boundaries, properties of Unicode, and anchors within it, are refused. Printable characters of ASCII are
// written as themselves there; quotation marks, backslashes and control characters are escapes; others may be either.
// With minLength or maxLength, the pattern becomes an automaton, multiplied by a counter of characters (lengths.go).
package jsonschema
