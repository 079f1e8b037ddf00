package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// value is a JSON value with the order of its members: nil, bool, json.Number, string, []value or *object.
type value any

// object is a JSON object.
type object struct {
	keys   []string
	values map[string]value
}

func (o *object) get(key string) (value, bool) {
	v, ok := o.values[key]
	return v, ok
}

// maxDepth bounds objects and arrays within each other.
const maxDepth = 200

// decode reads one JSON value.
func decode(text string) (value, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := decodeNext(d, 0)
	if err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("there is text after the schema")
	}
	return v, nil
}

func decodeNext(d *json.Decoder, depth int) (value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("more than %d objects and arrays are within each other", maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		return decodeObject(d, depth+1)
	case json.Delim('['):
		var list []value
		for d.More() {
			v, err := decodeNext(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	}
	return t, nil
}

func decodeObject(d *json.Decoder, depth int) (value, error) {
	o := &object{values: make(map[string]value)}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := key.(string) // the decoder allows nothing else
		if o.values[name], err = decodeNext(d, depth); err != nil {
			return nil, err
		}
		o.keys = append(o.keys, name)
	}
	_, err := d.Token()
	return o, err
}

// encode returns the compact JSON text of a value.
func encode(v value) string {
	switch v := v.(type) {
	case []value:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = encode(x)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case *object:
		parts := make([]string, len(v.keys))
		for i, k := range v.keys {
			parts[i] = encode(k) + ":" + encode(v.values[k])
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("jsonschema: internal error: %v", err)) // it was decoded from JSON
	}
	return string(b)
}
