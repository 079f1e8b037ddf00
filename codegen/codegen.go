// Package codegen turns a checked module into Go source, and Go source into executables.
//
// What it emits is straight-line: each entry point becomes a function that every worker
// runs, a sequence of kernel calls with constant offsets and barriers between epochs;
// repeats become a function in a loop. No node list is walked at run time. The plan is
// read from the module (addresses, partitions, epochs); this package decides nothing.
package codegen

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"
	"golang.org/x/tools/imports"

	"github.com/ggmlc/ggmlc/codegen/backend"
	"github.com/ggmlc/ggmlc/codegen/readback"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/runtime"
)

// ModulePath is the module whose packages emitted code imports.
const ModulePath = "github.com/ggmlc/ggmlc"

// Generation is the version of the contract between emitted code and the runtime; see
// runtime.EnforceVersion.
const Generation = 5

// Where is the place where an emitted program finds its weights.
type Where uint8

const (
	Embed  Where = iota // in the program, with go:embed
	Append              // after the end of the executable
	File                // in a file of their own
)

// Options describe what is emitted around the step functions.
type Options struct {
	Package  string // name of the Go package; main makes a program
	Compiler string // for `version` and the head of files: ggmlc and its version
	Name     string // of the model
	From     string // the model's files, for the head of files; empty to leave them out

	Tokenizer []byte // serialized tables of runtime/token; nil when there is none
	Chat      []byte // the chat templates, as runtime.Program.ChatTemplates has them; nil when there are none
	Grammar   []byte // that generated text follows, as runtime.Program.Grammar has it; nil when there is none

	Weights     Where
	WeightsFile string // File: the default path
	WeightsHash [32]byte

	PlanID string   // see PlanID
	CPU    []string // implementations that the program is limited to; empty means all

	Profile bool // emit a mark before each call, for the program's --profile

	// Targets are the targets that the module was planned for; nil is the CPU alone.
	Targets *target.List
}

// Package is emitted source: files by name, in order, all of one folder.
type Package struct {
	Files []SourceFile

	drives   bool               // it imports a loader that calls a driver through purego
	backends []*backend.Backend // of other modules, whose packages it imports
}

// SourceFile is one file of a package.
type SourceFile struct {
	Name string
	Data []byte
}

// Emit returns the Go package for a module that has been placed and checked. Its weights
// are made by PackWeights; Emit adds their hash, not their bytes. What was written is read
// back and compared with the plan: a *readback.Error is a bug of this package.
func Emit(m *ir.Module, o Options) (*Package, error) {
	p, err := write(m, o)
	if err != nil {
		return nil, err
	}
	if err := readback.Check(m, orCPU(o.Targets), p.sources(), o.facts(m)); err != nil {
		return nil, err
	}
	return p, nil
}

// sources returns the files of a package for readback.
func (p *Package) sources() []readback.File {
	files := make([]readback.File, len(p.Files))
	for i, f := range p.Files {
		files[i] = readback.File(f)
	}
	return files
}

// facts returns what the program has to state according to the options.
func (o *Options) facts(m *ir.Module) readback.Facts {
	f := readback.Facts{
		Package: o.Package, Compiler: o.Compiler, Name: o.Name, PlanID: o.PlanID, CPU: o.CPU, Profile: o.Profile, Tokenizer: o.Tokenizer, Chat: o.Chat, Grammar: o.Grammar,
		WeightsSize: WeightsBytes(m), WeightsHash: hex.EncodeToString(o.WeightsHash[:]), Embedded: o.Weights == Embed,
	}
	if o.Weights == File {
		f.External = o.WeightsFile
	}
	return f
}

// write returns the package before it is read back.
func write(m *ir.Module, o Options) (*Package, error) {
	if m.Props&(ir.PropPlaced|ir.PropChecked) != ir.PropPlaced|ir.PropChecked {
		return nil, errors.New("codegen: the module has no checked plan: run all passes first")
	}
	if err := CheckPackageName(o.Package); err != nil {
		return nil, fmt.Errorf("codegen: package %w", err)
	}
	g := newGenerator(m, o)
	var err error
	if g.layout, err = newLayout(m, o.Targets); err != nil {
		return nil, err
	}
	if err := CheckInputs(m); err != nil {
		return nil, err
	}
	for _, f := range m.Funcs {
		g.emitEntry(f)
	}
	g.declareShapes()
	p := &Package{backends: g.layout.backends(), drives: slices.ContainsFunc(g.layout.devices, func(d device) bool {
		k, b := gpuKinds[d.Kind], backend.Get(d.Kind)
		return k != nil && k.purego || b != nil && b.CallsDriver()
	})}
	if err := g.emitProgram(); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name string
		file *jen.File
	}{{"program.go", g.program}, {"steps.go", g.steps}} {
		data, err := render(f.file)
		if err != nil {
			return nil, fmt.Errorf("codegen: internal error: %s: %w", f.name, err)
		}
		p.Files = append(p.Files, SourceFile{f.name, data})
	}
	if g.api != nil {
		p.Files = append(p.Files, SourceFile{"model.go", g.api})
	}
	if o.Tokenizer != nil {
		p.Files = append(p.Files, SourceFile{tokenizerFile, o.Tokenizer})
	}
	if o.Chat != nil {
		p.Files = append(p.Files, SourceFile{chatFile, o.Chat})
	}
	if o.Grammar != nil {
		p.Files = append(p.Files, SourceFile{grammarFile, o.Grammar})
	}
	g.eachKernelFile(func(k *gpuKind, f *kernelFile) { p.Files = append(p.Files, SourceFile{k.file, f.code}) })
	p.Files = append(p.Files, SourceFile{planFile, []byte(g.planText)}, SourceFile{planJSONFile, g.planJSON})
	return p, nil
}

// Names of the files that a package embeds.
const (
	weightsFile   = "weights.bin"
	tokenizerFile = "tokenizer.bin"
	chatFile      = "chat.json"
	grammarFile   = "grammar.bin"
	planFile      = "plan.txt"
	planJSONFile  = "plan.json"
)

// PlanID returns the identity of a finished plan: the hash of its text and of the sources'
// hashes, without their paths. Weights packed for one plan are refused by another.
func PlanID(m *ir.Module) (string, error) {
	anonymous := m.Clone()
	for _, s := range anonymous.Sources {
		s.Path = ""
	}
	text := anonymous.String()
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:]), nil
}

// generator holds the files that are being written.
type generator struct {
	m *ir.Module
	o Options

	steps, program *jen.File
	api            []byte // model.go; nil for programs

	layout *layout

	bodies  map[*ir.Func]string // Go names of repeat bodies
	pending []*ir.Func          // bodies that have names and are not emitted yet
	tables  []table             // offsets of iterations that no stride fits

	buffers map[*ir.Value]*ir.Value // what offsets are named after, by values that own their bytes
	locals  namer                   // constants of functions

	shapes    map[string]string // variables of shapes, by what they hold
	shapeVars []jen.Code        // their declarations
	shapeDecl *jen.Statement    // where these belong

	kernels map[string]*kernelFile // kernels of GPUs, by kind of target

	observes map[*ir.Node]int // numbers of the nodes that hand values out, in their functions; see observeNumber

	names

	marks    []string // names of the marks in the program's profile; the first is waiting
	planText string
	planJSON []byte
}

// table is a variable that holds offsets.
type table struct {
	name    string
	offsets []int64
}

func newGenerator(m *ir.Module, o Options) *generator {
	g := &generator{m: m, o: o, marks: []string{"barrier"}, bodies: make(map[*ir.Func]string), shapes: make(map[string]string), kernels: make(map[string]*kernelFile),
		buffers: make(map[*ir.Value]*ir.Value), locals: make(namer), names: newNames(m)}
	g.steps = g.newFile("Step functions: run by every worker, each doing its part; see the plan in " + planFile + ".")
	g.shapeDecl = g.steps.Add()
	g.program = g.newFile("")
	return g
}

// generated returns the first line of each file, which tools that look for generated code know.
func (o *Options) generated() string {
	from := ""
	if o.From != "" {
		from = " from " + o.From
	}
	return "Code generated by " + o.Compiler + from + ". DO NOT EDIT."
}

func (g *generator) newFile(about string) *jen.File {
	f := jen.NewFile(g.o.Package)
	headerComment(f, g.o.generated())
	if about != "" {
		headerComment(f, "")
		headerComment(f, about)
	}
	f.ImportName(g.runtimePath(), "runtime")
	f.ImportName(g.cpuPath(), "cpu")
	f.ImportName(g.tilePath(), "tile")
	f.ImportName(g.fakePath(), "fake")
	f.ImportName(g.gpuPath(), "gpu")
	for _, k := range gpuKinds {
		f.ImportName(k.path(), k.pkg)
	}
	for _, b := range backend.All() {
		f.ImportName(b.Package, b.PackageName())
	}
	f.ImportName(g.dtypePath(), "dtype")
	return f
}

func (g *generator) runtimePath() string { return ModulePath + "/runtime" }
func (g *generator) fakePath() string    { return ModulePath + "/runtime/fake" }
func (g *generator) gpuPath() string     { return ModulePath + "/runtime/gpu" }
func (g *generator) cpuPath() string     { return ModulePath + "/kernels/cpu" }
func (g *generator) tilePath() string    { return ModulePath + "/kernels/cpu/tile" }
func (g *generator) dtypePath() string   { return ModulePath + "/ir/dtype" }

// emitEntry emits an entry point and the bodies that it refers to.
func (g *generator) emitEntry(f *ir.Func) {
	g.emitFunc(f, g.names.steps[f])
	for len(g.pending) > 0 {
		body := g.pending[0]
		g.pending = g.pending[1:]
		g.emitFunc(body, g.bodies[body])
	}
}

// bodyName returns the Go name of a repeat's body and puts it on the list to emit.
func (g *generator) bodyName(f *ir.Func) string {
	if name, ok := g.bodies[f]; ok {
		return name
	}
	name := g.top.pick(stepName(f.Owner.Func.Name) + "Body")
	g.bodies[f] = name
	g.pending = append(g.pending, f)
	return name
}

// tableName returns the variable that holds these offsets.
func (g *generator) tableName(offsets []int64) string {
	for _, t := range g.tables {
		if slices.Equal(t.offsets, offsets) {
			return t.name
		}
	}
	name := g.top.pick("offsets")
	g.tables = append(g.tables, table{name, offsets})
	var vals []jen.Code
	for _, o := range offsets {
		vals = append(vals, jen.Id(inHex(o)))
	}
	comment(g.program, name+" holds where the entries of a table are, by iteration.")
	g.program.Var().Id(name).Op("=").Index(jen.Op("...")).Int().Values(vals...)
	return name
}

// scratchBytes returns the bytes from one worker's scratch to the next. The runtime requires
// whole cache lines, and the alignment of a target may be less.
func (g *generator) scratchBytes() int64 {
	return alignUp(arenaBytes(g.m, ir.ClassScratch), runtime.Align)
}

// alignUp returns the first multiple of to that is at least n.
func alignUp(n, to int64) int64 { return (n + to - 1) / to * to }

// arenaBytes returns the bytes of the host's arenas of a class.
func arenaBytes(m *ir.Module, class ir.Class) int64 {
	var sum int64
	for i := range m.Plan.Arenas {
		if a := &m.Plan.Arenas[i]; a.Class == class && a.Space == target.Host {
			sum += a.Bytes()
		}
	}
	return sum
}

// stepDoc is the comment above an emitted step function.
func (g *generator) stepDoc(f *ir.Func, name string, part int) string {
	switch {
	case part > 0:
		return fmt.Sprintf("%s continues where the function before it ends.", name)
	case f.Owner != nil:
		return fmt.Sprintf("%s is one of %d iterations of @%s: %d epochs.", name, f.Owner.Attr.(*ir.RepeatAttr).Count, f.Name, f.Epochs)
	}
	fp := g.funcPlan(f)
	return fmt.Sprintf("%s runs %d nodes with %d barriers.", name, fp.Nodes, fp.Barriers)
}

func (g *generator) funcPlan(f *ir.Func) *ir.FuncPlan {
	for i := range g.m.Plan.Funcs {
		if g.m.Plan.Funcs[i].Func == f.Name {
			return &g.m.Plan.Funcs[i]
		}
	}
	panic("codegen: internal error: no plan for @" + f.Name)
}

// render returns the formatted source of a file.
func render(f *jen.File) ([]byte, error) {
	var b bytes.Buffer
	if err := f.Render(&b); err != nil {
		return nil, err
	}
	return imports.Process("", b.Bytes(), &imports.Options{FormatOnly: true, Comments: true, TabIndent: true, TabWidth: 8})
}
