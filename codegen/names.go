package codegen

import (
	"fmt"
	"go/doc"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ggmlc/ggmlc/codegen/backend"
	"github.com/ggmlc/ggmlc/ir"
)

// locals are the identifiers that step functions declare themselves.
var locals = []string{"w", "a", "l", "m", "s", "io", "x", "t", "e", "i", "q", shareVar, "slot"}

// isReserved reports whether an identifier has a meaning in emitted code already: as a keyword
// or predeclared by Go, as a package, or in step functions.
func isReserved(id string) bool {
	return token.IsKeyword(id) || doc.IsPredeclared(id) || slices.Contains(locals, id) || isPackage(id) || rangeLike(id)
}

// isPackage reports whether id is the name of a package that emitted files import.
func isPackage(id string) bool {
	return slices.Contains(backend.EmittedNames, id) ||
		slices.ContainsFunc(backend.All(), func(b *backend.Backend) bool { return b.PackageName() == id })
}

// apiNames are the names of functions and types in codegen/model that are not exported.
var apiNames = []string{"metrics", "messagesOf", "summaryOf", "tokensOf"}

// CheckPackageName returns an error for what cannot be the name of a Go package.
func CheckPackageName(name string) error {
	switch {
	case !token.IsIdentifier(name), name == "_":
		return fmt.Errorf("%q: not a Go package name: choose one of letters and digits, such as story", name)
	case name == "documentation":
		return fmt.Errorf("%q: the Go command leaves out the files of packages of this name: choose another one", name)
	}
	return nil
}

// namer gives names that differ: a name that is taken gets a number.
type namer map[string]bool

func (n namer) pick(id string) string {
	name := id
	for i := 2; n[name]; i++ {
		name = id + strconv.Itoa(i)
	}
	n[name] = true
	return name
}

// take marks names that must not be given.
func (n namer) take(names ...string) {
	for _, name := range names {
		n[name] = true
	}
}

// names are the Go names of a module's functions and symbols: stable, legal and different,
// also where the module's differ only in what Go does not allow.
type names struct {
	steps, methods map[*ir.Func]string
	starts         map[*ir.Func]string       // of the methods that start them
	symbols        map[*ir.Symbol]*ir.Symbol // renamed

	top namer // functions and variables of the package
}

func newNames(m *ir.Module) names {
	ns := names{
		steps: make(map[*ir.Func]string), methods: make(map[*ir.Func]string), starts: make(map[*ir.Func]string),
		symbols: make(map[*ir.Symbol]*ir.Symbol), top: make(namer),
	}
	ns.top.take("main", "init", "program", "simulated", "planText", "planJSON", "weights", "tokenizer", "chatTemplates", "ownGrammar", "FallbackProgram")
	ns.top.take(apiNames...)
	for _, k := range gpuKinds {
		ns.top.take(k.loader, k.embed)
	}
	for _, b := range backend.All() {
		ns.top.take(b.LoaderName())
	}
	methods, sizes := make(namer), make(namer)
	methods.take("Reset", "Runtime")
	if len(m.States) > 0 {
		methods.take(sessionMethods...)
	}
	for _, f := range m.Funcs {
		ns.steps[f] = ns.top.pick(stepName(f.Name))
		ns.methods[f] = methods.pick(exportedName(f.Name))
	}
	for _, f := range m.Funcs {
		ns.starts[f] = methods.pick("Start" + ns.methods[f])
	}
	for name := range ns.top { // a symbol's variable must not hide what its function calls
		sizes.take(name)
	}
	for _, s := range m.Symbols {
		name := sizes.pick(goSymbol(s.Name))
		ns.symbols[s] = &ir.Symbol{Name: name, Min: s.Min, Max: s.Max}
		ns.top.take(name) // nor what is named later
	}
	return ns
}

// goSymbol returns the variable that holds a symbol's size in step functions.
func goSymbol(name string) string {
	id := identifier(name)
	if isReserved(id) || isMemory(id) {
		return id + "Size"
	}
	return id
}

// isMemory reports whether id could be one of the variables mem0, mem1, …
func isMemory(id string) bool { return strings.HasPrefix(id, "mem") }

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
	if isReserved(id) {
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

// outputNames returns the names under which callers see f's results. They differ, as files
// are named after them; a text need not name any.
func outputNames(f *ir.Func) []string {
	names := slices.Clone(f.ResultNames)
	for i := range names {
		if names[i] == "" {
			names[i] = fmt.Sprintf("out%d", i)
		}
	}
	return distinct(names)
}

func paramNames(f *ir.Func) []string {
	names := make([]string, len(f.Params))
	for i, p := range f.Params {
		names[i] = p.Name()
	}
	return names
}

// fieldNames returns the fields of a struct for inputs or outputs of these names.
func fieldNames(names []string) []string {
	fields := make([]string, len(names))
	for i, name := range names {
		fields[i] = exportedName(name)
	}
	return distinct(fields)
}

// distinct appends underscores to names, in place, that are equal to an earlier one.
func distinct(names []string) []string {
	taken := make(map[string]bool)
	for i := range names {
		for taken[names[i]] {
			names[i] += "_"
		}
		taken[names[i]] = true
	}
	return names
}
