package jsonschema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// texts are JSON, and what is nearly JSON.
var texts = []string{
	`{}`, `[]`, ` [ 1 , 2 ] `, `{"a":1,"b":[true,false,null],"a":2}`, `"\u00e9\ud83d\ude00 x\n\/\""`, `-0.5e+10`, `0`, `1E5`, `"é\u0000"`,
	``, `{`, `[1,]`, `{"a"}`, `{"a":}`, `{a:1}`, `01`, `-`, `1.`, `1e`, `.5`, `+1`, `"a`, "\"\n\"", `"\x"`, `"\u12"`, `"\u12g4"`, `tru`, `nul`, `[1 2]`, `{"a":1 "b":2}`, `1 2`, `"\u+123"`, "\"\xff\"", `"\ud83d\u0041"`, `[[],{}]`,
}

// TestDecodeAgreesWithThePackageOfGo compares values and refusals with those of encoding/json.
func TestDecodeAgreesWithThePackageOfGo(t *testing.T) {
	for _, text := range texts {
		compareDecoded(t, text)
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, "[")+strings.Count(text, "{") <= maxDepth {
			compareDecoded(t, text)
		}
	})
}

func compareDecoded(t *testing.T, text string) {
	t.Helper()
	var want any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	wantErr := d.Decode(&want)
	if wantErr == nil && !json.Valid([]byte(text)) {
		return // something follows the value
	}
	got, err := decode(text)
	if err != nil && wantErr == nil && strings.Contains(err.Error(), "half of a character") {
		return // U+FFFD in encoding/json
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: error %v, encoding/json has %v", text, err, wantErr)
	}
	if err != nil {
		return
	}
	if !reflect.DeepEqual(plain(got), want) {
		t.Fatalf("%q: %v, encoding/json has %v", text, plain(got), want)
	}
	again, err := decode(encode(got))
	if err != nil || !reflect.DeepEqual(plain(again), want) {
		t.Fatalf("%q: encoded as %s: %v", text, encode(got), err)
	}
}

// plain returns a value as encoding/json has it.
func plain(v value) any {
	switch v := v.(type) {
	case number:
		return json.Number(v)
	case []value:
		list := []any{}
		for _, x := range v {
			list = append(list, plain(x))
		}
		return list
	case *object:
		m := make(map[string]any)
		for k, x := range v.values {
			m[k] = plain(x)
		}
		return m
	}
	return v
}
