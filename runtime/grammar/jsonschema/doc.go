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
// maxLength, minimum, maximum, exclusiveMinimum and exclusiveMaximum of integers, enum, const, anyOf, oneOf, $ref
// within the schema, and the formats date (with the days of each month, and leap years), time, date-time and uuid.
// Other formats are noted and not followed. Of oneOf, values that match several are not excluded. Other keywords that
// limit values are refused by name; annotations are ignored.
package jsonschema
