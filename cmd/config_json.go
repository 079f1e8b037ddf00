package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
)

// located is a JSON value with the place where it begins. Package json reports neither places nor keys that occur
// twice.
type located struct {
	at      int64 // byte in the file
	value   any   // nil, bool, string, json.Number; for arrays and objects nil
	kind    string
	items   []*located // of an array
	members []member   // of an object
}

// member is a key of an object with its value.
type member struct {
	key   string
	at    int64
	value *located
}

// Limits of configuration files. Hundreds of models fit; a model that is named by mistake does not.
const (
	maxConfig = 1 << 20 // bytes
	maxDepth  = 8       // of arrays and objects within each other
)

// jsonReader reads a text into located values.
type jsonReader struct {
	path string
	data []byte
	dec  *json.Decoder
}

// readJSON reads a file that holds one JSON value.
func readJSON(path string) (*jsonReader, *located, error) {
	data, err := readConfig(path)
	if err != nil {
		return nil, nil, err
	}
	r := &jsonReader{path: path, data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	if !utf8.Valid(data) {
		return nil, nil, r.errorf(0, "this is no JSON: it is not UTF-8")
	}
	v, err := r.value(0)
	if err != nil {
		return nil, nil, err
	}
	if at := r.next(); at < int64(len(data)) {
		return nil, nil, r.errorf(at, "text after the end of the object: remove it")
	}
	return r, v, nil
}

// readConfig returns what a configuration file holds. It reads no device or pipe, which may have no end.
func readConfig(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &codegen.FileError{File: path, Err: errors.Unwrap(err)}
	}
	if !info.Mode().IsRegular() {
		return nil, usagef("%s: not a regular file: it has to be a text in JSON", path)
	}
	if info.Size() > maxConfig {
		return nil, usagef("%s: %s: a list of models has at most %s", path, ir.BytesText(info.Size()), ir.BytesText(maxConfig))
	}
	return os.ReadFile(path)
}

// errorf returns an error at a byte of the file.
func (r *jsonReader) errorf(at int64, format string, args ...any) error {
	before := r.data[:min(at, int64(len(r.data)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return usagef("%s:%d:%d: %w", r.path, line, column, fmt.Errorf(format, args...))
}

// next returns where the next token begins.
func (r *jsonReader) next() int64 {
	at := r.dec.InputOffset()
	for at < int64(len(r.data)) && bytes.IndexByte([]byte(" \t\r\n,:"), r.data[at]) >= 0 {
		at++
	}
	return at
}

// token returns the next token.
func (r *jsonReader) token() (json.Token, error) {
	at := r.next()
	t, err := r.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, r.errorf(at, "this is no JSON: %v", syntax)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, r.errorf(at, "this is no JSON: the text ends too early")
	case err != nil:
		return nil, r.errorf(at, "this is no JSON: %v", err)
	}
	return t, nil
}

// value reads a value that is inside of depth others.
func (r *jsonReader) value(depth int) (*located, error) {
	v := &located{at: r.next()}
	t, err := r.token()
	if err != nil {
		return nil, err
	}
	if depth == maxDepth {
		return nil, r.errorf(v.at, "values within values, %d deep: there is no key for that", maxDepth)
	}
	switch t {
	case json.Delim('{'):
		v.kind = "an object"
		return v, r.object(v, depth+1)
	case json.Delim('['):
		v.kind = "a list"
		return v, r.list(v, depth+1)
	}
	v.value = t
	switch t.(type) {
	case string:
		v.kind = "a text"
	case json.Number:
		v.kind = "a number"
	case bool:
		v.kind = "true or false"
	default:
		v.kind = "null"
	}
	return v, nil
}

// object reads the members of an object and its end.
func (r *jsonReader) object(v *located, depth int) error {
	seen := make(map[string]bool)
	for r.dec.More() {
		at := r.next()
		t, err := r.token()
		if err != nil {
			return err
		}
		key := t.(string) // the decoder accepts nothing else
		if seen[key] {
			return r.errorf(at, "the key %q is given twice: leave one out", key)
		}
		seen[key] = true
		value, err := r.value(depth)
		if err != nil {
			return err
		}
		v.members = append(v.members, member{key, at, value})
	}
	_, err := r.token()
	return err
}

// list reads the values of a list and its end.
func (r *jsonReader) list(v *located, depth int) error {
	for r.dec.More() {
		item, err := r.value(depth)
		if err != nil {
			return err
		}
		v.items = append(v.items, item)
	}
	_, err := r.token()
	return err
}
