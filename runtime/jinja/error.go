package jinja

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Error is a fault of a template, or of its rendering.
type Error struct {
	Line, Column int // counted from 1; columns are characters
	Text         string
	Raised       bool // by the template itself, with raise_exception; Text is its message
}

func (e *Error) Error() string {
	if e.Raised {
		return fmt.Sprintf("%s (raised at line %d, column %d)", e.Text, e.Line, e.Column)
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Text)
}

// stop is the panic with which parsing and rendering end at a fault. It does not leave Parse and Render.
type stop struct{ err *Error }

// fault is the error at a byte of a source.
func fault(src string, at int, text string) *Error {
	before := src[:min(at, len(src))]
	start := strings.LastIndexByte(before, '\n') + 1
	return &Error{
		Line:   1 + strings.Count(before, "\n"),
		Column: 1 + utf8.RuneCountInString(before[start:]),
		Text:   text,
	}
}

// caught sets err to the error of a stop. Other panics continue.
func caught(err *error) {
	switch v := recover().(type) {
	case nil:
	case stop:
		*err = v.err
	default:
		panic(v)
	}
}
