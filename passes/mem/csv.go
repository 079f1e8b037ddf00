package mem

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ReadCSV reads a problem in the CSV form of github.com/google/minimalloc: a header that
// names the columns id, lower, upper and size in any order, then a buffer a row, live in
// [lower, upper). A column alignment is understood. So are the names that its converter
// (src/converter.cc) takes as well: buffer and buffer_id for id, begin and start for
// lower, and end for an upper that still belongs to the life. Other columns are refused,
// as they would change the problem. The error names the line of every row that is wrong.
func ReadCSV(r io.Reader) (Problem, error) {
	rows := csv.NewReader(r)
	rows.TrimLeadingSpace = true
	head, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return Problem{}, fmt.Errorf("line 1: the file is empty; %s", wantHead)
	}
	if err != nil {
		return Problem{}, lineError(err)
	}
	columns, err := parseHead(head)
	if err != nil {
		return Problem{}, fmt.Errorf("line 1: %w", err)
	}

	var p Problem
	var errs []error
	for {
		row, err := rows.Read()
		switch {
		case errors.Is(err, io.EOF):
			if err := errors.Join(errs...); err != nil {
				return Problem{}, err
			}
			return p, p.Check()
		case errors.Is(err, csv.ErrFieldCount):
			errs = append(errs, lineError(err))
			continue
		case err != nil: // where the next row begins is not known
			return Problem{}, errors.Join(append(errs, lineError(err))...)
		}
		b, err := parseRow(columns, row)
		if err != nil {
			line, _ := rows.FieldPos(0)
			errs = append(errs, fmt.Errorf("line %d: %w", line, err))
		}
		p.Buffers = append(p.Buffers, b)
	}
}

// wantHead says what a header has to be.
const wantHead = "write a header with the columns id,lower,upper,size"

// lineError puts the line first, as in all errors of a file.
func lineError(err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	if errors.Is(err, csv.ErrFieldCount) {
		return fmt.Errorf("line %d: another number of fields than in the header", parse.Line)
	}
	return fmt.Errorf("line %d: %w", parse.Line, parse.Err)
}

// column stores one field of a row.
type column struct {
	name     string // the first of the names
	aliases  []string
	required bool
	set      func(b *Buffer, text string) error
}

var columns = []column{
	{"id", []string{"buffer", "buffer_id"}, true, func(b *Buffer, text string) error { b.ID = text; return nil }},
	{"lower", []string{"begin", "start"}, true, number(func(b *Buffer) *int64 { return &b.Lower })},
	{"upper", nil, true, number(func(b *Buffer) *int64 { return &b.Upper })},
	{"size", nil, true, number(func(b *Buffer) *int64 { return &b.Size })},
	{"alignment", nil, false, number(func(b *Buffer) *int64 { return &b.Align })},
}

func number(field func(*Buffer) *int64) func(*Buffer, string) error {
	return func(b *Buffer, text string) (err error) {
		*field(b), err = strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		return nil
	}
}

// lastColumn is upper by another name, whose instant belongs to the life.
var lastColumn = column{"upper", nil, true, func(b *Buffer, text string) error {
	if err := number(func(b *Buffer) *int64 { return &b.Upper })(b, text); err != nil {
		return err
	}
	b.Upper++
	return nil
}}

// parseHead returns the meaning of each column of the file.
func parseHead(head []string) ([]column, error) {
	var out []column
	seen := make(map[string]bool)
	for _, name := range head {
		c := find(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
		if c == nil {
			return nil, fmt.Errorf("column %q is unknown; %s, and alignment where it matters", name, wantHead)
		}
		if seen[c.name] {
			return nil, fmt.Errorf("column %q is there twice", c.name)
		}
		seen[c.name] = true
		out = append(out, *c)
	}
	for _, c := range columns {
		if c.required && !seen[c.name] {
			return nil, fmt.Errorf("column %q is missing; %s", c.name, wantHead)
		}
	}
	return out, nil
}

func find(name string) *column {
	if name == "end" {
		return &lastColumn
	}
	for i, c := range columns {
		for _, n := range append([]string{c.name}, c.aliases...) {
			if n == name {
				return &columns[i]
			}
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
	return b, b.check()
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
