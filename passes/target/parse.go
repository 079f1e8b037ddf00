package target

import (
	"errors"
	"fmt"
	"strings"
)

// Parse reads targets from text, one on each line, with the highest priority first:
//
//	target NAME FIELD=VALUE ...
//
// A "#" begins a comment. Fields returns the fields. A target without the field like needs the field space. name is the
// name of the text in errors. An error reports all wrong lines, each with its line and column.
func Parse(name, text string) (*List, error) {
	var ds []*Descriptor
	var errs []error
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		d, err := parseLine(line)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d:%w", name, i+1, err))
			continue
		}
		ds = append(ds, d)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	l, err := NewList(ds...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return l, nil
}

// ParseDescriptor reads one target without the word target, as in the header of a dump: NAME FIELD=VALUE ...
func ParseDescriptor(text string) (*Descriptor, error) {
	d, err := parseLine("target " + text)
	if err != nil {
		return nil, fmt.Errorf("target %s: column %w", text, err)
	}
	return d, nil
}

// word is a part of a line between blanks, and its column, counted from 1.
type word struct {
	text string
	col  int
}

// errorf returns an error that begins with the column of the word.
func (w word) errorf(format string, args ...any) error {
	return fmt.Errorf("%d: %w", w.col, fmt.Errorf(format, args...))
}

// words splits a line at blanks.
func words(line string) []word {
	var ws []word
	for i := 0; i < len(line); {
		if line[i] == ' ' || line[i] == '\t' || line[i] == '\r' {
			i++
			continue
		}
		j := i
		for j < len(line) && line[j] != ' ' && line[j] != '\t' && line[j] != '\r' {
			j++
		}
		ws = append(ws, word{line[i:j], i + 1})
		i = j
	}
	return ws
}

// parseLine reads one target. Its errors begin with a column.
func parseLine(line string) (*Descriptor, error) {
	ws := words(line)
	if ws[0].text != "target" {
		return nil, ws[0].errorf("a line begins with the word target, not %q", ws[0].text)
	}
	if len(ws) < 2 || strings.Contains(ws[1].text, "=") {
		return nil, ws[len(ws)-1].errorf("the name of the target is missing")
	}
	d, err := base(ws[2:])
	if err != nil {
		return nil, err
	}
	d.Name = ws[1].text
	if err := checkName("target", d.Name); err != nil {
		return nil, ws[1].errorf("%w", err)
	}
	seen := make(map[string]bool)
	for _, w := range ws[2:] {
		key, value, _ := strings.Cut(w.text, "=")
		if seen[key] {
			return nil, w.errorf("%s is given twice", key)
		}
		seen[key] = true
		if err := setField(d, key, value); err != nil {
			return nil, w.errorf("%w", err)
		}
	}
	if len(d.Spaces) == 0 {
		return nil, ws[1].errorf("target %s has no memory: write space=NAME", d.Name)
	}
	if field, err := d.contradiction(); err != nil {
		return nil, wordOf(ws, field).errorf("%s: %w", field, err)
	}
	return d, nil
}

// wordOf returns the word of a line that sets a field, or the name of the target if the field comes from like=.
func wordOf(ws []word, field string) word {
	for _, w := range ws[2:] {
		if strings.HasPrefix(w.text, field+"=") {
			return w
		}
	}
	return ws[1]
}

// base returns the descriptor whose fields are the defaults of a line.
func base(ws []word) (*Descriptor, error) {
	for _, w := range ws {
		name, ok := strings.CutPrefix(w.text, "like=")
		if !ok {
			continue
		}
		d := Builtin(name)
		if d == nil {
			return nil, w.errorf("like=%s: no such built-in target: there are %s", name, builtinNames())
		}
		return d, nil
	}
	return blank(), nil
}

// blank returns the descriptor of a target without like=, before its fields are set.
func blank() *Descriptor {
	return &Descriptor{Kind: "fake", Threads: 1, Hint: 1, Align: defaultAlign}
}

// String returns the target in the form that ParseDescriptor reads: its name, and the fields that differ from the
// defaults.
func (d *Descriptor) String() string {
	from := blank()
	if d.Like != "" {
		from = Builtin(d.Like)
	}
	var b strings.Builder
	b.WriteString(d.Name)
	for _, f := range fields {
		if v := f.get(d); v != f.get(from) || f.Name == "like" && v != "" {
			fmt.Fprintf(&b, " %s=%s", f.Name, v)
		}
	}
	return b.String()
}
