package readback

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"go/ast"
	"maps"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Names of a package's files and of the variables that hold them.
var embedded = map[string]string{
	"planText": "plan.txt", "planJSON": "plan.json", "weights": "weights.bin", "tokenizer": "tokenizer.bin", "chatTemplates": "chat.json", "ownGrammar": "grammar.bin",
}

// holds returns the file that a variable holds, or "".
func holds(variable string) string {
	for _, k := range gpuKinds {
		if k.variable == variable {
			return k.file
		}
	}
	return embedded[variable]
}

// tables compares what the program states about itself with the module.
func (c *checker) tables(p *program) {
	x := &runner{c: c, p: p}
	c.recovering("the program's table", func() {
		p.used["program"] = true
		got := x.variable("program")
		if got.text != "runtime.Program" {
			fail("the variable program is %v", got)
		}
		for _, wrong := range c.wantProgram().compare("program", got) {
			c.report("%s", wrong)
		}
		c.layout(got.fields["Devices"])
		c.language(got.fields["LM"])
		c.encoder(got.fields["Encoder"])
	})
	if c.facts.Package == "main" {
		c.main(p)
	} else {
		c.face(p)
	}
}

// main demands that the program is run.
func (c *checker) main(p *program) {
	p.used["main"] = true
	d := p.funcs["main"]
	if d == nil || len(d.Body.List) != 1 || d.Type.Params.NumFields() != 0 || text1(d.Body.List[0]) != "runtime.Main(&program)" {
		c.report("main does not run the program")
	}
	for id, d := range p.methods {
		c.report("%s: the method %s, and a program has none", p.at(d.Pos()), id)
	}
	for id, s := range p.types {
		c.report("%s: the type %s, and a program has none", p.at(s.Pos()), id)
	}
}

// text1 returns a statement as source, of the few forms that are short.
func text1(s ast.Stmt) string {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return ""
	}
	return source(e.X)
}

func (c *checker) wantProgram() record {
	var funcs, symbols, names list
	for _, f := range c.m.Funcs {
		funcs = append(funcs, c.wantFunc(f))
	}
	for _, s := range c.m.Symbols {
		symbols = append(symbols, record{"Name": s.Name, "Min": s.Min, "Max": s.Max})
	}
	for _, n := range c.facts.CPU {
		names = append(names, n)
	}
	want := record{
		"Name": c.facts.Name, "Compiler": c.facts.Compiler, "PlanID": c.facts.PlanID, "Weights": c.wantWeights(),
		"StateBytes":      c.hostBytes(ir.ClassState),
		"ActivationBytes": c.hostBytes(ir.ClassActivations),
		"IOBytes":         c.hostBytes(ir.ClassIO),
		"ScratchBytes":    c.scratchBytes(),
		"CPU":             names, "Tiles": c.wantTiles(), "MaxThreads": int64(c.m.Plan.Workers()), "Cores": coreList(c.targets.Last().Cores),
		"Symbols": symbols, "Funcs": funcs, "States": c.wantStates(), "LM": anything{}, "Encoder": anything{}, "Tokenizer": declared(""), "ChatTemplates": declared(""), "Grammar": declared(""), "Devices": anything{}, // compared by themselves
		"PlanText": declared("planText"), "PlanJSON": declared("planJSON"), "Profile": anything{},
	}
	if c.facts.Tokenizer != nil {
		want["Tokenizer"] = declared("tokenizer")
	}
	if c.facts.Chat != nil {
		want["ChatTemplates"] = declared("chatTemplates")
	}
	if c.facts.Grammar != nil {
		want["Grammar"] = declared("ownGrammar")
	}
	return want
}

// blobAlign is the alignment in bytes of the parts of the weights.
const blobAlign = 64

// blob returns where the chunks of weights begin in the bytes that the program has of them,
// and how many these are: the host's first, as its code counts from the beginning.
func (c *checker) blob() (starts map[chunk]int64, size int64) {
	starts = make(map[chunk]int64)
	for _, host := range []bool{true, false} {
		for _, k := range c.chunks {
			a := &c.m.Plan.Arenas[k.arena]
			if a.Class == ir.ClassWeights && (a.Space == target.Host) == host {
				size = (size + blobAlign - 1) / blobAlign * blobAlign
				starts[k] = size
				size += a.Chunks[k.index]
			}
		}
	}
	return starts, size
}

func (c *checker) wantWeights() record {
	_, size := c.blob()
	if size != c.facts.WeightsSize {
		c.report("the weights have %d bytes, the plan's arenas %d", c.facts.WeightsSize, size)
	}
	want := record{"Size": size, "SHA256": "", "Embedded": declared(""), "External": "", "Floats": list(nil)}
	if size > 0 {
		want["SHA256"] = c.facts.WeightsHash
		want["External"] = c.facts.External
		if c.facts.Embedded {
			want["Embedded"] = declared("weights")
		}
		want["Floats"] = c.wantFloats()
	}
	return want
}

// wantFloats are the weights that are floats, in the order of the module.
func (c *checker) wantFloats() (want list) {
	starts, _ := c.blob()
	begin := make(map[[2]int]int64, len(starts)) // by arena and chunk
	for k, at := range starts {
		begin[[2]int{k.arena, k.index}] = at
	}
	for _, w := range c.m.Weights {
		switch w.Type.DType {
		case dtype.F32, dtype.F16, dtype.BF16:
			if n := w.Type.MaxBytes(); n > 0 && w.Place != nil {
				at := begin[[2]int{w.Place.Arena, w.Place.Chunk}] + w.Place.Offset
				want = append(want, record{"Name": w.Name, "Type": declared("dtype." + cmp.Or(goNames[w.Type.DType], formats[w.Type.DType])), "At": at, "Size": n})
			}
		}
	}
	return want
}

// coreList is a list of cores.
func coreList(cores []int) list {
	var want list
	for _, core := range cores {
		want = append(want, int64(core))
	}
	return want
}

// wantTiles are the choices of kernels that targets ask for.
func (c *checker) wantTiles() list {
	var want list
	for _, t := range c.targets.All() {
		if t.Kind != "cpu" {
			continue
		}
		for _, choice := range t.Tiles {
			want = append(want, record{"Feature": string(choice.Feature), "Weight": declared("dtype." + formats[choice.Weight]), "N": int64(choice.N), "V": int64(choice.V)})
		}
	}
	return want
}

func (c *checker) funcPlan(f *ir.Func) *ir.FuncPlan {
	for i := range c.m.Plan.Funcs {
		if c.m.Plan.Funcs[i].Func == f.Name {
			return &c.m.Plan.Funcs[i]
		}
	}
	fail("the plan has no function @%s", f.Name)
	return nil
}

func (c *checker) wantFunc(f *ir.Func) record {
	plan := c.funcPlan(f)
	var inputs, outputs list
	bounds := c.wantBelow(f)
	for _, v := range f.Params {
		t := c.wantTensor(v)
		t["Name"], t["Below"] = v.Name(), bounds[v]
		inputs = append(inputs, t)
	}
	names := resultNames(f)
	for i, v := range f.Results {
		t := c.wantTensor(v)
		t["Name"] = names[i]
		outputs = append(outputs, t)
	}
	return record{
		"Name": f.Name, "Inputs": inputs, "Outputs": outputs, "Observed": c.wantObserved(f), "Run": anything{}, // steps looks at it
		"Nodes": plan.Nodes, "Barriers": plan.Barriers, "MaxParts": plan.MaxParts,
		"Attends": c.wantAttends(f), "Reaches": c.wantReaches(f),
	}
}

// resultNames returns what callers call the results of a function: by their names, or by
// their numbers, each another one.
func resultNames(f *ir.Func) []string {
	var names []string
	for i, id := range f.ResultNames {
		if id == "" {
			id = fmt.Sprintf("out%d", i)
		}
		for slices.Contains(names, id) {
			id += "_"
		}
		names = append(names, id)
	}
	return names
}

// wantDims is the shape of v.
func (c *checker) wantDims(v *ir.Value) list {
	var dims list
	for _, d := range v.Type.Shape {
		sym, scale, offset, ok := d.Linear()
		if !ok {
			fail("%v: the size %s follows from no symbol", v, readable(d))
		}
		want := record{"Sym": int64(0), "Scale": int64(0), "Const": offset}
		if sym != nil {
			want["Sym"], want["Scale"] = c.symbolIndex(sym), scale
		}
		dims = append(dims, want)
	}
	return dims
}

// wantTensor is where a caller finds an input or result, and how large it is.
func (c *checker) wantTensor(v *ir.Value) record {
	dims := c.wantDims(v)
	skip := ir.Const(0)
	for s := v.Source(); s != nil; v, s = s, s.Source() {
		if a, ok := v.Def.Attr.(*ir.SliceAttr); ok {
			skip = skip.Add(skipped(v.Def, a))
		}
	}
	at := v.Place
	if at == nil || !skip.Is(0) || !c.callersSee(at) {
		fail("%v is not where callers look", v)
	}
	return record{"Type": declared("dtype." + goNames[v.Type.DType]), "Dims": dims, "Offset": at.Offset, "Below": list(nil)}
}

// callersSee reports whether a place is in the host's memory for inputs and results.
func (c *checker) callersSee(at *ir.Place) bool {
	a := &c.m.Plan.Arenas[at.Arena]
	return a.Class == ir.ClassIO && a.Space == target.Host && at.Chunk == 0
}

// goNames are the Go names of the dtypes that callers have arrays of.
var goNames = map[dtype.DType]string{
	dtype.F32: "F32", dtype.F16: "F16", dtype.BF16: "BF16", dtype.F64: "F64",
	dtype.I8: "I8", dtype.I32: "I32", dtype.I64: "I64", dtype.U8: "U8", dtype.Bool: "Bool",
}

func (c *checker) symbolIndex(s *ir.Symbol) int64 {
	for i, t := range c.m.Symbols {
		if s == t {
			return int64(i)
		}
	}
	fail("the symbol %s is not the module's", s.Name)
	return 0
}

// stepFunction returns the Go function that the program's table names for an entry point.
func (c *checker) stepFunction(p *program, f *ir.Func) string {
	x := &runner{c: c, p: p}
	funcs := x.variable("program").fields["Funcs"].list
	for i, g := range c.m.Funcs {
		if g == f && i < len(funcs) {
			if run := funcs[i].fields["Run"]; run.kind == name && !run.addr {
				return run.text
			}
		}
	}
	fail("the program's table names no function that runs it")
	return ""
}

// marks returns what the marks of the program's profile are called.
func (c *checker) marks(p *program) []string {
	x := &runner{c: c, p: p}
	profile := x.variable("program").fields["Profile"]
	if !c.facts.Profile {
		if profile.kind != invalid {
			fail("the program has a profile, and none is wanted")
		}
		return nil
	}
	if profile.kind != call || profile.text != "runtime.NewProfile" {
		fail("the program has no profile")
	}
	var names []string
	for _, v := range profile.list {
		if v.kind != text {
			fail("a mark of the profile is called %v", v)
		}
		names = append(names, v.text)
	}
	return names
}

// noted demands that each name of the profile is that of a mark. The first is that of
// barriers, of which there may be none.
func (c *checker) noted(p *program) {
	for i, id := range c.marks(p) {
		if i == 0 && id != "barrier" || i > 0 && !c.marked[i] {
			c.report("the profile names %q, and nothing marks that", id)
		}
	}
}

// layout compares the tables of devices, queues and memory.
func (c *checker) layout(got value) {
	if len(c.devices) == 0 {
		if got.kind != invalid {
			c.report("program.Devices is %v, and the plan has none", got)
		}
		return
	}
	if got.kind != call || got.text != "runtime.NewDevices" || len(got.list) != 1 {
		c.report("program.Devices is %v", got)
		return
	}
	starts, _ := c.blob()
	var devices, queues, memory list
	for i := range c.devices {
		d := &c.devices[i]
		var names, numbers list
		for _, q := range d.queues {
			names = append(names, c.queues[q].name)
		}
		for k := range c.chunks {
			if c.sees(d, k) {
				numbers = append(numbers, int64(k))
			}
		}
		row := record{"Name": d.Name, "Loader": declared("&" + loader(d.Kind)), "Queues": names, "Memory": numbers, "Cores": list(nil)}
		if d.IsGroup() {
			row["Cores"] = coreList(d.Cores)
		}
		devices = append(devices, row)
	}
	for _, q := range c.queues {
		queues = append(queues, record{"Device": int64(q.device), "Local": int64(q.local)})
	}
	for _, k := range c.chunks {
		a := &c.m.Plan.Arenas[k.arena]
		memory = append(memory, record{
			"Space": a.Space, "Class": declared("runtime." + classes[a.Class]), "Device": int64(k.device),
			"Bytes": a.Chunks[k.index], "Offset": starts[k],
		})
	}
	want := record{"Pipeline": int64(max(c.m.Plan.Pipeline, 1)), "Devices": devices, "Queues": queues, "Memory": memory, "Events": c.numEvents(), "Kernels": c.kernelFiles()}
	for _, wrong := range want.compare("program.Devices", got.list[0]) {
		c.report("%s", wrong)
	}
}

// kernelFiles are the files of kernels that the program embeds, in the order of the kinds, with the hashes of what they
// have.
func (c *checker) kernelFiles() list {
	var want list
	for _, kind := range slices.Sorted(maps.Keys(gpuKinds)) {
		k := gpuKinds[kind]
		for _, f := range c.files {
			if f.Name == k.file {
				want = append(want, record{"Name": f.Name, "Text": declared(k.variable), "SHA256": fmt.Sprintf("%x", sha256.Sum256(f.Data))})
			}
		}
	}
	return want
}

// classes are the runtime's names of lifetime classes.
var classes = map[ir.Class]string{
	ir.ClassWeights: "Weights", ir.ClassState: "State", ir.ClassIO: "IO",
	ir.ClassActivations: "Activations", ir.ClassScratch: "Scratch",
}

// numEvents is one more than the largest number of an event.
func (c *checker) numEvents() int64 {
	last := 0
	for _, f := range c.m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Submit != nil {
				last = max(last, n.Submit.Event)
				for _, w := range n.Submit.Waits {
					last = max(last, w.Event)
				}
			}
		}
	}
	return int64(last) + 1
}

// source returns an expression as text, of the forms that main and the exported face have.
func source(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.BasicLit:
		return e.Value
	case *ast.SelectorExpr:
		return source(e.X) + "." + e.Sel.Name
	case *ast.UnaryExpr:
		return e.Op.String() + source(e.X)
	case *ast.BinaryExpr:
		return source(e.X) + " " + e.Op.String() + " " + source(e.Y)
	case *ast.CompositeLit:
		return typeText(e.Type) + "{" + sources(e.Elts) + "}"
	case *ast.CallExpr:
		return source(e.Fun) + "(" + sources(e.Args) + ")"
	}
	return fmt.Sprintf("%T", e)
}

func sources(list []ast.Expr) string {
	text := ""
	for i, e := range list {
		if i > 0 {
			text += ", "
		}
		text += source(e)
	}
	return text
}
