package shard

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// example is a product whose summed dimension is split, with devices 2 to 1 and one without a share. The sum waits for
// a factor.
const example = `{
	"name": "example", "rules": "ggml-meta-2026-08", "shares": [2, 0, 1],
	"tensors": [
		{"op": "NONE", "type": "f32", "ne": [12, 8, 1, 1], "nb": [4, 48, 384, 384], "bytes": 384, "kept": "weight", "given": [0, [1, 8, 0, 4]], "cut": {"granularity": [4], "rotation": 0}},
		{"op": "NONE", "type": "f32", "ne": [12, 3, 1, 1], "nb": [4, 48, 144, 144], "bytes": 144, "kept": "state", "given": [0, [1, 8, 0, 4]], "cut": {"granularity": [4], "rotation": 0}},
		{"op": "NONE", "type": "f32", "ne": [8, 1, 1, 1], "nb": [4, 32, 32, 32], "bytes": 32, "input": true},
		{"op": "MUL_MAT", "type": "f32", "ne": [8, 3, 1, 1], "nb": [4, 32, 96, 96], "bytes": 96, "src": [0, 1]},
		{"op": "MUL", "type": "f32", "ne": [8, 3, 1, 1], "nb": [4, 32, 96, 96], "bytes": 96, "src": [3, 2]},
		{"op": "SCALE", "type": "f32", "ne": [8, 3, 1, 1], "nb": [4, 32, 96, 96], "bytes": 96, "src": [4], "output": true}
	],
	"leafs": [0, 1, 2], "nodes": [3, 4, 5],
	"expect": {
		"states": [[0, [1, 8, 0, 4]], [0, [1, 8, 0, 4]], "mirrored", "mirrored", "mirrored", "mirrored"],
		"partial": [3],
		"local": [
			[[[8, 8, 1, 1], [4, 32, 256, 256], 0], [[0, 8, 1, 1], [4, 0, 0, 0], 0], [[4, 8, 1, 1], [4, 16, 128, 128], 0]],
			[[[8, 3, 1, 1], [4, 32, 96, 96], 0], [[0, 3, 1, 1], [4, 0, 0, 0], 0], [[4, 3, 1, 1], [4, 16, 48, 48], 0]],
			null, null, null, null
		],
		"off": [[0, 1], [1, 1]],
		"subgraphs": [[0, 2], [2, 3]], "reduce": [4], "reduce_bytes": 96,
		"exchange": {"messages": 4, "bytes": 384, "scratch": [192, 192, 192]},
		"kept_bytes": [384, 0, 256], "compute_bytes": [256, 256, 256]
	}
}`

// refusedExample has a product of states that have none.
const refusedExample = `{
	"name": "refused", "rules": "ggml-meta-2026-08", "shares": [1, 1],
	"tensors": [
		{"op": "NONE", "type": "f32", "ne": [4, 4, 1, 1], "nb": [4, 16, 64, 64], "bytes": 64, "kept": "weight", "given": [0, [1, 2, 2]], "cut": {"granularity": [1], "rotation": 0}},
		{"op": "NONE", "type": "f32", "ne": [4, 3, 1, 1], "nb": [4, 16, 48, 48], "bytes": 48, "input": true},
		{"op": "MUL_MAT", "type": "f32", "ne": [4, 3, 1, 1], "nb": [4, 16, 48, 48], "bytes": 48, "src": [0, 1]}
	],
	"leafs": [0, 1], "nodes": [2],
	"refused": {"stage": "graph", "tensor": 2, "reason": "matmul", "message": ""}
}`

func parse(t *testing.T, text string) *Case {
	c := &Case{}
	if err := json.Unmarshal([]byte(text), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// agrees reports whether a case is valid and what is derived from its inputs is what it expects.
func agrees(t *testing.T, c *Case) bool {
	if c.check() != nil {
		return false
	}
	got, err := Derive(c)
	if err != nil {
		t.Fatal(err)
	}
	return len(Differences(c, got)) == 0 && len(c.wrongCuts()) == 0
}

// TestEveryFalsifiedValueIsSeen changes every expected value of a case in turn: each number, text, list and state.
func TestEveryFalsifiedValueIsSeen(t *testing.T) {
	for _, text := range []string{example, refusedExample} {
		c := parse(t, text)
		if !agrees(t, c) {
			got, _ := Derive(c)
			t.Fatalf("%s: %v", c.Name, Differences(c, got))
		}
		n := 0
		for path, falsify := range falsifications(expectation(c)) {
			changed := parse(t, text)
			falsify(expectation(changed))
			if n++; agrees(t, changed) {
				t.Errorf("%s: nothing differs after a change of %s", c.Name, path)
			}
		}
		if n < 3 {
			t.Errorf("%s: only %d values were changed", c.Name, n)
		}
	}
}

// TestFalsifiedOutcomeIsSeen makes an accepted case refused, and vice versa.
func TestFalsifiedOutcomeIsSeen(t *testing.T) {
	accepted, refused := parse(t, example), parse(t, refusedExample)
	accepted.Expect, refused.Expect = nil, accepted.Expect
	accepted.Refused, refused.Refused = refused.Refused, nil
	refused.Expect.States, refused.Expect.Local = refused.Expect.States[:3], refused.Expect.Local[:3]
	for _, c := range []*Case{accepted, refused} {
		if agrees(t, c) {
			t.Errorf("%s: nothing differs", c.Name)
		}
	}
}

// TestFalsifiedCutIsSeen changes shares and granularity. They are inputs, from which the given states follow.
func TestFalsifiedCutIsSeen(t *testing.T) {
	for _, change := range []func(*Case){
		func(c *Case) { c.Shares[0] = 1 },
		func(c *Case) { c.Tensors[0].Cut.Granularity[0] = 12 },
		func(c *Case) { c.Tensors[0].Cut.Granularity = nil },
	} {
		c := parse(t, example)
		if change(c); agrees(t, c) {
			t.Error("nothing differs after a change of the cut")
		}
	}
}

// expectation returns the expected values of a case.
func expectation(c *Case) reflect.Value {
	if c.Refused != nil {
		return reflect.ValueOf(c.Refused).Elem()
	}
	return reflect.ValueOf(c.Expect).Elem()
}

// falsifications returns a change of each value in v, by path.
func falsifications(v reflect.Value) map[string]func(reflect.Value) {
	changes := make(map[string]func(reflect.Value))
	var visit func(path string, v reflect.Value, at func(reflect.Value) reflect.Value)
	visit = func(path string, v reflect.Value, at func(reflect.Value) reflect.Value) {
		switch v.Kind() {
		case reflect.Int, reflect.Int64:
			changes[path] = func(r reflect.Value) { at(r).SetInt(at(r).Int() + 1) }
		case reflect.String:
			changes[path] = func(r reflect.Value) { at(r).SetString(falsified(at(r).String())) }
		case reflect.Pointer:
			visit(path, v.Elem(), func(r reflect.Value) reflect.Value { return at(r).Elem() })
		case reflect.Struct:
			for i := range v.NumField() {
				name := v.Type().Field(i).Name
				if s, ok := v.Interface().(State); ok && (name == "Word") != (s.Word != "") {
					continue // a state is a word, or axis and segments
				}
				visit(path+"."+name, v.Field(i), func(r reflect.Value) reflect.Value { return at(r).Field(i) })
			}
		case reflect.Slice:
			if v.Len() > 0 {
				changes[path+" cut"] = func(r reflect.Value) { at(r).SetLen(at(r).Len() - 1) }
			}
			fallthrough
		case reflect.Array:
			for i := range v.Len() {
				visit(fmt.Sprintf("%s[%d]", path, i), v.Index(i), func(r reflect.Value) reflect.Value { return at(r).Index(i) })
			}
		}
	}
	visit("", v, func(r reflect.Value) reflect.Value { return r })
	return changes
}

// falsified returns another word of the same kind.
func falsified(word string) string {
	words := []string{"mirrored", "partial", "none"}
	if i := slices.Index(words, word); i >= 0 {
		return words[(i+1)%len(words)]
	}
	return "other"
}
