package codegen

import (
	"go/token"
	"slices"
	"strings"
	"unicode"
)

// reserved are the identifiers that step functions use themselves.
var reserved = []string{"w", "a", "l", "m", "s", "io", "x", "t", "cpu", "tile", "runtime", "unsafe", "math", "min", "max", "int"}

// goSymbol returns the variable that holds a symbol's size in step functions.
func goSymbol(name string) string {
	id := identifier(name)
	if slices.Contains(reserved, id) || token.IsKeyword(id) || rangeLike(id) {
		return id + "Size"
	}
	return id
}

// rangeLike reports whether id could be one of the range variables a0, a1, b0, …
func rangeLike(id string) bool {
	return len(id) >= 2 && id[0] >= 'a' && id[0] <= 'k' && (id[1] == '0' || id[1] == '1')
}

// stepName returns the unexported Go name of an entry point's step function.
func stepName(name string) string {
	id := identifier(name)
	if r := id[0]; r >= 'A' && r <= 'Z' {
		id = strings.ToLower(id[:1]) + id[1:]
	}
	if slices.Contains(reserved, id) || token.IsKeyword(id) || id == "program" || id == "main" || id == "init" {
		return id + "Step"
	}
	return id
}

// exportedName returns the exported Go name for a name of the module: "attn_out" becomes
// AttnOut.
func exportedName(name string) string {
	var b strings.Builder
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return !isIdent(r) || r == '_' }) {
		rs := []rune(part)
		b.WriteRune(unicode.ToUpper(rs[0]))
		b.WriteString(string(rs[1:]))
	}
	s := b.String()
	if s == "" || !unicode.IsUpper([]rune(s)[0]) {
		return "X" + s
	}
	return s
}

// identifier replaces what Go does not allow in an identifier.
func identifier(name string) string {
	id := strings.Map(func(r rune) rune {
		if isIdent(r) {
			return r
		}
		return '_'
	}, name)
	if id == "" || unicode.IsDigit([]rune(id)[0]) || id == "_" {
		id = "v" + id
	}
	return id
}

func isIdent(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
