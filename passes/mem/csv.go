package mem

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ReadCSV reads a problem in the CSV form of github.com/google/minimalloc: a header that names the columns id, lower,
// upper and size in any order, then a buffer a row, live in [lower, upper):
//
//	id,lower,upper,size
//	b1,0,3,4
//	b2,3,9,4
//
// The names that minimalloc's converter (src/converter.cc) reads are read as well: buffer and buffer_id for id, begin
// and start for lower, and end for an upper that still belongs to the life. Further columns are
//   - alignment
//   - gaps: intervals without bytes, such as "3-5 8-9", in the same sense of upper
//   - offset: where a row has one, the buffer has to be there
//
// Other columns are errors, as they would change the problem. So are gaps with a window (3-5@0:64), in which a part of
// the bytes stays. The error names the line of every row that is wrong.
func ReadCSV(r io.Reader) (Problem, error) {
	rows := csv.NewReader(r)
	rows.TrimLeadingSpace = true
	names, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return Problem{}, fmt.Errorf("line 1: the file is empty; %s", wantHead)
	}
	if err != nil {
		return Problem{}, lineError(err)
	}
	head, err := parseHead(names)
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
		case err != nil: // it is not known where the next row begins
			return Problem{}, errors.Join(append(errs, lineError(err))...)
		}
		b, err := head.parse(row)
		if err != nil {
			line, _ := rows.FieldPos(0)
			errs = append(errs, fmt.Errorf("line %d: %w", line, err))
		}
		p.Buffers = append(p.Buffers, b)
	}
}

// wantHead is what messages about headers ask for.
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
	name     string
	aliases  []string
	required bool
	set      func(b *Buffer, text string) error
}

// columns are the columns that a file may have.
var columns = []column{
	{"id", []string{"buffer", "buffer_id"}, true, func(b *Buffer, text string) error { b.ID = text; return nil }},
	{"lower", []string{"begin", "start"}, true, number(func(b *Buffer) *int64 { return &b.Lower })},
	{"upper", []string{lastInstant}, true, number(func(b *Buffer) *int64 { return &b.Upper })},
	{"size", nil, true, number(func(b *Buffer) *int64 { return &b.Size })},
	{"alignment", nil, false, number(func(b *Buffer) *int64 { return &b.Align })},
	{"gaps", nil, false, parseGaps},
	{"offset", nil, false, func(b *Buffer, text string) error {
		if b.Fixed = strings.TrimSpace(text) != ""; !b.Fixed {
			return nil
		}
		return number(func(b *Buffer) *int64 { return &b.Offset })(b, text)
	}},
}

// number returns a setter of an integer field.
func number(field func(*Buffer) *int64) func(*Buffer, string) error {
	return func(b *Buffer, text string) (err error) {
		*field(b), err = strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		return nil
	}
}

// parseGaps reads the intervals of the column gaps.
func parseGaps(b *Buffer, text string) error {
	for _, field := range strings.Fields(text) {
		if strings.Contains(field, "@") {
			return fmt.Errorf("%q has a window, which is not understood: write the gap without it, or leave it out", field)
		}
		// The first - may be a sign.
		i := strings.Index(field[min(len(field), 1):], "-") + 1
		lower, err1 := strconv.ParseInt(field[:i], 10, 64)
		upper, err2 := strconv.ParseInt(field[min(len(field), i+1):], 10, 64)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("%q is no interval, such as 3-5", field)
		}
		b.Gaps = append(b.Gaps, Interval{lower, upper})
	}
	return nil
}

// lastInstant is the name of the column upper where that instant belongs to the life.
const lastInstant = "end"

// includeLast turns intervals that include their last instant into half-open ones.
func includeLast(b *Buffer) {
	b.Upper++
	for i := range b.Gaps {
		b.Gaps[i].Upper++
	}
}

// head is the meaning of the columns of a file.
type head struct {
	columns []column
	closed  bool // lives include their last instant
}

// parseHead returns the meaning of the columns with the given names.
func parseHead(names []string) (h head, err error) {
	seen := make(map[string]bool)
	for _, name := range names {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		c := find(name)
		if c == nil {
			return head{}, fmt.Errorf("column %q is unknown; %s, and alignment where it matters", name, wantHead)
		}
		if seen[c.name] {
			return head{}, fmt.Errorf("column %q is there twice", c.name)
		}
		seen[c.name] = true
		h.columns = append(h.columns, *c)
		h.closed = h.closed || name == lastInstant
	}
	for _, c := range columns {
		if c.required && !seen[c.name] {
			return head{}, fmt.Errorf("column %q is missing; %s", c.name, wantHead)
		}
	}
	return h, nil
}

// find returns the column of a name, or nil.
func find(name string) *column {
	for i, c := range columns {
		if name == c.name || slices.Contains(c.aliases, name) {
			return &columns[i]
		}
	}
	return nil
}

// parse returns the buffer of a row.
func (h head) parse(row []string) (b Buffer, err error) {
	for i, c := range h.columns {
		if err := c.set(&b, row[i]); err != nil {
			return b, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	if h.closed {
		includeLast(&b)
	}
	return b, b.check()
}

// WriteCSV writes a problem with its solution: the columns of ReadCSV and offset. The columns alignment and gaps are
// left out where no buffer has any, as in MiniMalloc's form.
func WriteCSV(w io.Writer, p Problem, s Solution) error {
	if len(s.Offsets) != len(p.Buffers) {
		return fmt.Errorf("%d offsets for %d buffers", len(s.Offsets), len(p.Buffers))
	}
	aligned := slices.ContainsFunc(p.Buffers, func(b Buffer) bool { return b.Align > 1 })
	gaps := slices.ContainsFunc(p.Buffers, func(b Buffer) bool { return len(b.Gaps) > 0 })

	out := csv.NewWriter(w)
	names := []string{"id", "lower", "upper", "size"}
	if aligned {
		names = append(names, "alignment")
	}
	if gaps {
		names = append(names, "gaps")
	}
	out.Write(append(names, "offset")) // Error returns the first error of all writes
	for i, b := range p.Buffers {
		row := []string{b.ID, decimal(b.Lower), decimal(b.Upper), decimal(b.Size)}
		if aligned {
			row = append(row, decimal(b.align()))
		}
		if gaps {
			row = append(row, b.gaps())
		}
		out.Write(append(row, decimal(s.Offsets[i])))
	}
	out.Flush()
	return out.Error()
}

// gaps returns the text of the column gaps.
func (b Buffer) gaps() string {
	var list []string
	for _, g := range b.Gaps {
		list = append(list, fmt.Sprintf("%d-%d", g.Lower, g.Upper))
	}
	return strings.Join(list, " ")
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
