package mem

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ReadCSV reads a problem in the CSV form of github.com/google/minimalloc: a header that
// names the columns id, lower, upper and size in any order, then a buffer a row, live in
// [lower, upper). A column alignment is understood; others are refused, as they would
// change the problem. The error lists every row that is wrong.
func ReadCSV(r io.Reader) (Problem, error) {
	rows := csv.NewReader(r)
	head, err := rows.Read()
	if err != nil {
		return Problem{}, fmt.Errorf("no header id,lower,upper,size: %w", err)
	}
	columns, err := parseHead(head)
	if err != nil {
		return Problem{}, err
	}

	var p Problem
	var errs []error
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Problem{}, errors.Join(append(errs, err)...)
		}
		b, err := parseRow(columns, row)
		if err != nil {
			line, _ := rows.FieldPos(0)
			errs = append(errs, fmt.Errorf("line %d: %w", line, err))
		}
		p.Buffers = append(p.Buffers, b)
	}
	if err := errors.Join(errs...); err != nil {
		return Problem{}, err
	}
	return p, p.Check()
}

// column stores one field of a row.
type column struct {
	name     string
	required bool
	set      func(b *Buffer, text string) error
}

var columns = []column{
	{"id", true, func(b *Buffer, text string) error { b.ID = text; return nil }},
	{"lower", true, number(func(b *Buffer) *int64 { return &b.Lower })},
	{"upper", true, number(func(b *Buffer) *int64 { return &b.Upper })},
	{"size", true, number(func(b *Buffer) *int64 { return &b.Size })},
	{"alignment", false, number(func(b *Buffer) *int64 { return &b.Align })},
}

func number(field func(*Buffer) *int64) func(*Buffer, string) error {
	return func(b *Buffer, text string) (err error) {
		*field(b), err = strconv.ParseInt(text, 10, 64)
		return err
	}
}

// parseHead returns the meaning of each column of the file.
func parseHead(head []string) ([]column, error) {
	var out []column
	seen := make(map[string]bool)
	for _, name := range head {
		c := find(columns, name)
		if c == nil || seen[name] {
			return nil, fmt.Errorf("header: column %q is unknown or doubled; want id,lower,upper,size", name)
		}
		seen[name] = true
		out = append(out, *c)
	}
	for _, c := range columns {
		if c.required && !seen[c.name] {
			return nil, fmt.Errorf("header: column %q is missing; want id,lower,upper,size", c.name)
		}
	}
	return out, nil
}

func find(columns []column, name string) *column {
	for i := range columns {
		if columns[i].name == name {
			return &columns[i]
		}
	}
	return nil
}

func parseRow(columns []column, row []string) (b Buffer, err error) {
	for i, c := range columns {
		if err := c.set(&b, row[i]); err != nil {
			return b, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return b, nil
}

// WriteCSV writes the problem with its solution: the columns of ReadCSV and offset. The
// column alignment is left out where no buffer has one, as MiniMalloc's form does.
func WriteCSV(w io.Writer, p Problem, s Solution) error {
	if len(s.Offsets) != len(p.Buffers) {
		return fmt.Errorf("%d offsets for %d buffers", len(s.Offsets), len(p.Buffers))
	}
	aligned := false
	for _, b := range p.Buffers {
		aligned = aligned || b.Align > 1
	}

	out := csv.NewWriter(w)
	head := []string{"id", "lower", "upper", "size"}
	if aligned {
		head = append(head, "alignment")
	}
	out.Write(append(head, "offset")) // errors stay until Error
	for i, b := range p.Buffers {
		row := []string{b.ID, decimal(b.Lower), decimal(b.Upper), decimal(b.Size)}
		if aligned {
			row = append(row, decimal(b.align()))
		}
		out.Write(append(row, decimal(s.Offsets[i])))
	}
	out.Flush()
	return out.Error()
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
