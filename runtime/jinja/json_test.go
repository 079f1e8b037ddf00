package jinja

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// toGo returns a value as package encoding/json has it.
func toGo(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case bigInt:
		x, _ := strconv.ParseFloat(string(v), 64)
		return x
	case []any:
		list := []any{}
		for _, e := range v {
			list = append(list, toGo(e))
		}
		return list
	case *Dict:
		m := map[string]any{}
		for i, k := range v.keys {
			m[k.(string)] = toGo(v.vals[i])
		}
		return m
	}
	return v
}

// FuzzFromJSON compares values with those of package encoding/json.
func FuzzFromJSON(f *testing.F) {
	for _, s := range []string{`{"a": [1, -2.5e3, null, true, "x\n\u00e9\ud83d\ude00\ud83d"], "b": {}}`, `[]`, `01`, `{"a":1,}`, `"\x"`, `1 2`, `-`, "\"\t\"", `1.`, `1.e5`, `[1,,2]`, `{"a" 1}`, `tru`, `1e999`, `12345678901234567890`, `[-9223372036854775809]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := FromJSON([]byte(s))
		var want any
		wantErr := json.Unmarshal([]byte(s), &want)
		if err != nil {
			if wantErr == nil && utf8.ValidString(s) && strings.Count(s, "[")+strings.Count(s, "{") < maxNesting {
				t.Fatalf("%q: %v, want %v", s, err, want)
			}
			return
		}
		if wantErr != nil {
			t.Fatalf("%q is read as %v, want %v", s, v, wantErr)
		}
		if got := toGo(v); !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %v, want %v", s, got, want)
		}
	})
}
