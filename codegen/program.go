package codegen

import (
	"cmp"
	"encoding/hex"
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime"
)

// emitProgram writes the description of the program: the variable that the runtime reads,
// the embedded files and, in package main, the entry point.
func (g *generator) emitProgram() error {
	mf := NewManifest(g.m, g.o.Targets)
	g.planText = planText(g.m, mf)
	var err error
	if g.planJSON, err = mf.JSON(); err != nil {
		return err
	}
	f := g.program
	g.handshake(f)
	f.Anon("embed")
	g.embed(f, "planText", planFile)
	g.embed(f, "planJSON", planJSONFile)
	if g.o.Weights == Embed && WeightsBytes(g.m) > 0 {
		g.embed(f, "weights", weightsFile)
	}
	if g.o.Tokenizer != nil {
		g.embed(f, "tokenizer", tokenizerFile)
	}
	if g.o.Chat != nil {
		g.embed(f, "chatTemplates", chatFile)
	}
	if g.o.Grammar != nil {
		g.embed(f, "ownGrammar", grammarFile)
	}
	g.eachKernelFile(func(k *gpuKind, _ *kernelFile) {
		comment(f, k.embed+" are the kernels of GPUs: "+k.holds+", one after the other.")
		g.embed(f, k.embed, k.file)
	})
	fields, err := g.programFields()
	if err != nil {
		return err
	}
	comment(f, "program is what the runtime knows about the compiled model.")
	f.Var().Id("program").Op("=").Qual(g.runtimePath(), "Program").Values(fields)
	if g.o.Package == "main" {
		f.Func().Id("main").Params().Block(jen.Qual(g.runtimePath(), "Main").Call(jen.Op("&").Id("program")))
		return nil
	}
	return g.emitAPI()
}

// handshake emits the two constants that fail to compile against a runtime of another
// generation, as protobuf's generated code has them, and two for each backend of another module.
func (g *generator) handshake(f *jen.File) {
	enforce := func(x, y jen.Code) jen.Code {
		return jen.Const().Id("_").Op("=").Qual(g.runtimePath(), "EnforceVersion").Call(jen.Add(x).Op("-").Add(y))
	}
	gen := jen.Lit(Generation)
	comment(f, "If a line below does not compile, this code and the module "+ModulePath+
		" in go.mod are of different generations: run go generate again, or go get the version that made this code.")
	f.Add(enforce(gen, jen.Qual(g.runtimePath(), "MinVersion")))
	f.Add(enforce(jen.Qual(g.runtimePath(), "MaxVersion"), gen))
	for _, b := range g.layout.backends() {
		version := jen.Qual(b.Package, "Version")
		comment(f, "If a line below does not compile, this code and the module "+b.Module+
			" in go.mod are of different versions: run go generate again, or go get the version that made this code.")
		f.Add(enforce(jen.Lit(b.Version()), version))
		f.Add(enforce(version, jen.Lit(b.Version())))
	}
	f.Line()
}

func (g *generator) embed(f *jen.File, name, file string) {
	embedDirective(f, file)
	f.Var().Id(name).String()
	f.Line()
}

func (g *generator) programFields() (jen.Dict, error) {
	d := jen.Dict{
		jen.Id("Name"):            jen.Lit(g.o.Name),
		jen.Id("Compiler"):        jen.Lit(g.o.Compiler),
		jen.Id("PlanID"):          jen.Lit(g.o.PlanID),
		jen.Id("Weights"):         g.weightsInfo(),
		jen.Id("StateBytes"):      jen.Lit(int(arenaBytes(g.m, ir.ClassState))),
		jen.Id("ActivationBytes"): jen.Lit(int(arenaBytes(g.m, ir.ClassActivations))),
		jen.Id("IOBytes"):         jen.Lit(int(arenaBytes(g.m, ir.ClassIO))),
		jen.Id("ScratchBytes"):    jen.Lit(int(g.scratchBytes())),
		jen.Id("MaxThreads"):      jen.Lit(g.m.Plan.Workers()),
		jen.Id("Symbols"):         g.symbolTable(),
		jen.Id("PlanText"):        jen.Id("planText"),
		jen.Id("PlanJSON"):        jen.Id("planJSON"),
	}
	if len(g.o.CPU) > 0 {
		var names []jen.Code
		for _, name := range g.o.CPU {
			names = append(names, jen.Lit(name))
		}
		d[jen.Id("CPU")] = jen.Index().String().Values(names...)
	}
	if cores := orCPU(g.o.Targets).Last().Cores; len(cores) > 0 {
		d[jen.Id("Cores")] = coreNumbers(cores)
	}
	if tiles := g.tiles(); tiles != nil {
		d[jen.Id("Tiles")] = tiles
	}
	if g.o.Profile {
		var names []jen.Code
		for _, name := range g.marks {
			names = append(names, jen.Lit(name))
		}
		d[jen.Id("Profile")] = jen.Qual(g.runtimePath(), "NewProfile").Call(names...)
	}
	if g.o.Tokenizer != nil {
		d[jen.Id("Tokenizer")] = jen.Id("tokenizer")
	}
	if g.o.Chat != nil {
		d[jen.Id("ChatTemplates")] = jen.Id("chatTemplates")
	}
	if g.o.Grammar != nil {
		d[jen.Id("Grammar")] = jen.Id("ownGrammar")
	}
	if e := g.encoder(); e != nil {
		d[jen.Id("Encoder")] = e
	}
	funcs, err := g.funcTable()
	if err != nil {
		return nil, err
	}
	d[jen.Id("Funcs")] = funcs
	if states := g.stateTable(); states != nil {
		d[jen.Id("States")] = states
	}
	if devices := g.emitDevices(); devices != nil {
		d[jen.Id("Devices")] = devices
	}
	if lm := g.languageModel(); lm != nil {
		d[jen.Id("LM")] = lm
	}
	return d, nil
}

// tiles returns the tiles that targets ask for; nil where all are the default.
func (g *generator) tiles() jen.Code {
	var rows []jen.Code
	for _, t := range orCPU(g.o.Targets).All() {
		if t.Kind != kindCPU {
			continue
		}
		for _, c := range t.Tiles {
			rows = append(rows, jen.Values(jen.Dict{
				jen.Id("Feature"): jen.Lit(string(c.Feature)), jen.Id("Weight"): jen.Qual(g.dtypePath(), suffix(c.Weight)),
				jen.Id("N"): jen.Lit(c.N), jen.Id("V"): jen.Lit(c.V)}))
		}
	}
	if rows == nil {
		return nil
	}
	return jen.Index().Qual(g.tilePath(), "Choice").Values(rows...)
}

func (g *generator) weightsInfo() jen.Code {
	d := jen.Dict{jen.Id("Size"): jen.Lit(int(WeightsBytes(g.m)))}
	if WeightsBytes(g.m) > 0 {
		d[jen.Id("SHA256")] = jen.Lit(hex.EncodeToString(g.o.WeightsHash[:]))
		switch g.o.Weights {
		case Embed:
			d[jen.Id("Embedded")] = jen.Id("weights")
		case File:
			d[jen.Id("External")] = jen.Lit(g.o.WeightsFile)
		}
		if rows := g.floats(); rows != nil {
			d[jen.Id("Floats")] = jen.Index().Qual(g.runtimePath(), "Floats").Values(rows...)
		}
	}
	return jen.Qual(g.runtimePath(), "WeightsInfo").Values(d)
}

// floats returns the rows of the weights that are floats.
func (g *generator) floats() (rows []jen.Code) {
	for _, w := range g.m.Weights {
		if t := w.Type.DType; w.Place == nil || w.Type.MaxBytes() == 0 || t != dtype.F32 && t != dtype.F16 && t != dtype.BF16 {
			continue
		}
		at := blobOffset(g.m, w.Place.Arena, w.Place.Chunk) + w.Place.Offset
		rows = append(rows, jen.Values(jen.Dict{
			jen.Id("Name"): jen.Lit(w.Name), jen.Id("Type"): jen.Qual(g.dtypePath(), cmp.Or(dtypeNames[w.Type.DType], suffix(w.Type.DType))),
			jen.Id("At"): jen.Lit(int(at)), jen.Id("Size"): jen.Lit(int(w.Type.MaxBytes()))}))
	}
	return rows
}

func (g *generator) symbolTable() jen.Code {
	var rows []jen.Code
	for _, s := range g.m.Symbols {
		rows = append(rows, jen.Values(jen.Dict{
			jen.Id("Name"): jen.Lit(s.Name), jen.Id("Min"): jen.Lit(int(s.Min)), jen.Id("Max"): jen.Lit(int(s.Max))}))
	}
	return jen.Index().Qual(g.runtimePath(), "Symbol").Values(rows...)
}

func (g *generator) funcTable() (jen.Code, error) {
	var rows []jen.Code
	for _, f := range g.m.Funcs {
		if err := g.checkSizes(f); err != nil {
			return nil, err
		}
		inputs, err := g.inputs(f)
		if err != nil {
			return nil, err
		}
		outputs, err := g.outputs(f)
		if err != nil {
			return nil, err
		}
		fp := g.funcPlan(f)
		d := jen.Dict{
			jen.Id("Name"):     jen.Lit(f.Name),
			jen.Id("Inputs"):   inputs,
			jen.Id("Outputs"):  outputs,
			jen.Id("Run"):      jen.Id(g.names.steps[f]),
			jen.Id("Nodes"):    jen.Lit(int(fp.Nodes)),
			jen.Id("Barriers"): jen.Lit(int(fp.Barriers)),
			jen.Id("MaxParts"): jen.Lit(int(fp.MaxParts)),
		}
		if o := g.observedTable(f); o != nil {
			d[jen.Id("Observed")] = o
		}
		if a := g.attendTable(f); a != nil {
			d[jen.Id("Attends")] = a
		}
		if r := g.reachTable(f); r != nil {
			d[jen.Id("Reaches")] = r
		}
		rows = append(rows, jen.Values(d))
	}
	return jen.Index().Qual(g.runtimePath(), "Func").Values(rows...), nil
}

// attendTable emits which inputs the attentions of f read together; nil where there are none.
func (g *generator) attendTable(f *ir.Func) jen.Code {
	var rows []jen.Code
	for _, a := range attends(f) {
		rows = append(rows, jen.Values(jen.Id("Slot").Op(":").Lit(a.slot), jen.Id("Pos").Op(":").Lit(a.pos), jen.Id("Lengths").Op(":").Lit(a.lengths)))
	}
	if rows == nil {
		return nil
	}
	return jen.Index().Qual(g.runtimePath(), "Attend").Values(rows...)
}

// reachTable emits which sizes follow from positions; nil where there are none.
func (g *generator) reachTable(f *ir.Func) jen.Code {
	var rows []jen.Code
	for _, r := range reaches(f) {
		rows = append(rows, jen.Values(jen.Id("Sym").Op(":").Lit(g.symbolIndex(r.symbol)), jen.Id("Pos").Op(":").Lit(r.pos)))
	}
	if rows == nil {
		return nil
	}
	return jen.Index().Qual(g.runtimePath(), "Reach").Values(rows...)
}

// inputs emits the table of a function's inputs, with the bounds of inputs that select rows.
func (g *generator) inputs(f *ir.Func) (jen.Code, error) {
	var rows []jen.Code
	for i, name := range paramNames(f) {
		fields, err := g.tensor(f, f.Params[i], name)
		if err != nil {
			return nil, err
		}
		bounds, err := g.indexBounds(f.Params[i])
		if err != nil {
			return nil, err
		}
		if len(bounds) > 0 {
			fields[jen.Id("Below")] = g.dimList(bounds)
		}
		rows = append(rows, jen.Values(fields))
	}
	return jen.Index().Qual(g.runtimePath(), "Tensor").Values(rows...), nil
}

// outputs emits the table of a function's outputs.
func (g *generator) outputs(f *ir.Func) (jen.Code, error) {
	var rows []jen.Code
	for i, name := range outputNames(f) {
		fields, err := g.tensor(f, f.Results[i], name)
		if err != nil {
			return nil, err
		}
		rows = append(rows, jen.Values(fields))
	}
	return jen.Index().Qual(g.runtimePath(), "Tensor").Values(rows...), nil
}

// tensor returns the fields of an input or output.
func (g *generator) tensor(f *ir.Func, v *ir.Value, name string) (jen.Dict, error) {
	dims, bad := g.linearDims(v)
	if bad != nil {
		return nil, fmt.Errorf("@%s: %v: dimension %v of an input or output is not linear in one symbol: give it a symbol of its own", f.Name, v, bad)
	}
	e := newFuncEmitter(g, f)
	return jen.Dict{
		jen.Id("Name"):   jen.Lit(name),
		jen.Id("Type"):   jen.Qual(g.dtypePath(), dtypeNames[v.Type.DType]),
		jen.Id("Dims"):   g.dimList(dims),
		jen.Id("Offset"): jen.Lit(int(e.addrOf(v).offset)),
	}, nil
}

// linearDims returns the shape of v as the runtime has it, or the first dimension that is not linear in one symbol.
// Callers size arrays by it.
func (g *generator) linearDims(v *ir.Value) (dims []runtime.Dim, bad *ir.Dim) {
	dims = make([]runtime.Dim, 0, len(v.Type.Shape))
	for i, d := range v.Type.Shape {
		linear, ok := g.linear(d)
		if !ok {
			return nil, &v.Type.Shape[i]
		}
		dims = append(dims, linear)
	}
	return dims, nil
}

// linear returns d as the runtime has it; ok is false where it is not linear in one symbol.
func (g *generator) linear(d ir.Dim) (linear runtime.Dim, ok bool) {
	sym, scale, offset, ok := d.Linear()
	if sym == nil {
		return runtime.Dim{Const: int(offset)}, ok
	}
	return runtime.Dim{Sym: g.symbolIndex(sym), Scale: int(scale), Const: int(offset)}, ok
}

// dimList emits dimensions; fields that are 0 are left out, but for those of symbols.
func (g *generator) dimList(dims []runtime.Dim) jen.Code {
	var list []jen.Code
	for _, d := range dims {
		fields := jen.Dict{}
		if d.Scale != 0 {
			fields[jen.Id("Sym")] = jen.Lit(d.Sym)
			fields[jen.Id("Scale")] = jen.Lit(d.Scale)
		}
		if d.Const != 0 {
			fields[jen.Id("Const")] = jen.Lit(d.Const)
		}
		list = append(list, jen.Values(fields))
	}
	return jen.Index().Qual(g.runtimePath(), "Dim").Values(list...)
}

func (g *generator) symbolIndex(sym *ir.Symbol) int {
	for i, s := range g.m.Symbols {
		if s == sym {
			return i
		}
	}
	return -1
}

// dtypeNames are the Go names of the dtypes that inputs and outputs have.
var dtypeNames = map[dtype.DType]string{
	dtype.F32: "F32", dtype.F16: "F16", dtype.BF16: "BF16", dtype.F64: "F64",
	dtype.I8: "I8", dtype.I32: "I32", dtype.I64: "I64", dtype.U8: "U8", dtype.Bool: "Bool",
}
