package codegen

import (
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/codegen/backend"
	"github.com/ggmlc/ggmlc/ir"
)

// Code for backends of other modules; see package backend.

// foreignCall returns the call that computes a node on a backend of another module. CheckTargets has asked for it
// before.
func (e *funcEmitter) foreignCall(b *backend.Backend, n *ir.Node) jen.Code {
	c, err := b.Call(n)
	if err != nil {
		panic(fmt.Sprintf("codegen: internal error: %v: %v", n, err))
	}
	args := make([]jen.Code, len(c.Args))
	for i, a := range c.Args {
		args[i] = e.foreignArg(a)
	}
	return nodeComment(jen.Id("e").Dot(c.Method).Call(args...), n)
}

func (e *funcEmitter) foreignArg(a backend.Arg) jen.Code {
	switch a.Kind {
	case backend.SizeArg:
		return e.dim(a.Dim)
	case backend.FloatArg:
		return float(a.Float)
	case backend.BoolArg:
		return jen.Lit(a.Bool)
	}
	return e.span(a.Value)
}

// span returns the expression for where the bytes of v begin, as devices number memory.
func (e *funcEmitter) span(v *ir.Value) jen.Code {
	memory, offset := jen.Code(jen.Lit(-1)), jen.Code(jen.Lit(0))
	if v != nil {
		a := e.addrOf(v)
		memory, offset = e.memoryOf(a), e.offset(a)
	}
	return jen.Qual(e.g.runtimePath(), "Span").Values(jen.Id("Memory").Op(":").Add(memory), jen.Id("Offset").Op(":").Add(offset))
}

// backendFolder returns the folder of a backend's module beside a program, with slashes.
func backendFolder(b *backend.Backend) string { return "backends/" + b.Name() }

// writeBackend writes the sources of a backend as a module.
func writeBackend(dir string, b *backend.Backend) error {
	mod := "module " + b.Module + "\n\ngo " + goVersion + "\n\nrequire " + ModulePath + " v0.0.0\n"
	if b.CallsDriver() {
		mod += DriverMod
	}
	if err := writeFiles(dir, []SourceFile{{"go.mod", []byte(mod)}}); err != nil {
		return err
	}
	err := b.EachFile(func(name string, data []byte) error { return writeFiles(dir, []SourceFile{{name, data}}) })
	if err != nil {
		return fmt.Errorf("unpacking the sources of %s: %w", filepath.Base(dir), err)
	}
	return nil
}

// majorVersion matches the end of the path of a module from version 2 on.
var majorVersion = regexp.MustCompile(`/(v[2-9][0-9]*|v1[0-9]+)$`)

// anyVersion returns a version that a module of that path may have. It is replaced by a folder, so any will do.
func anyVersion(module string) string {
	if m := majorVersion.FindStringSubmatch(module); m != nil {
		return m[1] + ".0.0"
	}
	return "v0.0.0"
}
