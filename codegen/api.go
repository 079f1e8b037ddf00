package codegen

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// openDoc is the comment of a generated package's Open.
const openDoc = `Open checks the weights and starts the workers. Close ends them. Weights of at most
64 MiB are hashed; larger ones are hashed if Options.Verify is set, and without it a changed byte in
them gives wrong results and no error.`

// emitAPI writes the exported face of a generated package: Open, sessions, and a method
// for each function. A module that generates tokens gets the methods of the runtime's
// sessions instead of raw functions.
func (g *generator) emitAPI() error {
	f := g.newFile("")
	packageComment(f, g.packageDoc()...)
	g.api = f

	comment(f, "Options configure how the model is opened. The zero Options are valid.")
	f.Type().Id("Options").Op("=").Qual(g.runtimePath(), "Options")
	comment(f, "Model is the model with its weights and its workers. It may be used from several",
		"goroutines: the steps of its sessions queue for the workers.")
	f.Type().Id("Model").Struct(jen.Id("m").Op("*").Qual(g.runtimePath(), "Model"))
	comment(f, openDoc)
	f.Func().Id("Open").Params(jen.Id("o").Id("Options")).Params(jen.Op("*").Id("Model"), jen.Error()).Block(
		ifErr(jen.List(jen.Id("m"), jen.Err()).Op(":=").Qual(g.runtimePath(), "Open").Call(jen.Op("&").Id("program"), jen.Id("o"))),
		jen.Return(jen.Op("&").Id("Model").Values(jen.Id("m")), jen.Nil()),
	)
	comment(f, "Close waits for the step in progress and gives back the workers and the weights.")
	f.Func().Params(jen.Id("m").Op("*").Id("Model")).Id("Close").Params().Error().Block(
		jen.Return(jen.Id("m").Dot("m").Dot("Close").Call()))
	comment(f, "Threads returns how many workers the model has.")
	f.Func().Params(jen.Id("m").Op("*").Id("Model")).Id("Threads").Params().Int().Block(
		jen.Return(jen.Id("m").Dot("m").Dot("Threads").Call()))
	comment(f, "Session is one conversation, or one user of a plain graph. It is for one goroutine at a",
		"time, holds memory and no other resources, and needs no Close.")
	f.Type().Id("Session").Struct(jen.Id("s").Op("*").Qual(g.runtimePath(), "Session"))
	comment(f, "NewSession returns a session with an empty state.")
	f.Func().Params(jen.Id("m").Op("*").Id("Model")).Id("NewSession").Params().Params(jen.Op("*").Id("Session"), jen.Error()).Block(
		ifErr(jen.List(jen.Id("s"), jen.Err()).Op(":=").Id("m").Dot("m").Dot("NewSession").Call()),
		jen.Return(jen.Op("&").Id("Session").Values(jen.Id("s")), jen.Nil()),
	)
	if g.languageModel() != nil {
		g.emitLanguageAPI(f)
		return nil
	}
	if g.m.Encoder != nil {
		g.emitEmbed(f)
		g.emitRuntime(f)
		return nil
	}
	for i, fn := range g.m.Funcs {
		if err := g.emitCall(f, i, fn); err != nil {
			return err
		}
	}
	return nil
}

// ifErr is the assignment, then a return of nil and the error if there is one.
func ifErr(assign jen.Code) jen.Code {
	return jen.Add(assign).Line().If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Err()))
}

func (g *generator) packageDoc() []string {
	what := "computes the functions of"
	switch {
	case g.languageModel() != nil:
		what = "generates text with"
	case g.m.Encoder != nil:
		what = "makes embeddings of texts with"
	}
	return []string{
		fmt.Sprintf("Package %s %s the model %q, compiled by ggmlc.", g.o.Package, what, g.o.Name),
		"Open it once, then make a session for each user.",
	}
}

// forward is a method of Session that hands on to the runtime's.
type forward struct {
	name    string
	doc     string
	params  []jen.Code
	args    []jen.Code
	results []jen.Code
}

func (g *generator) emitLanguageAPI(f *jen.File) {
	ctx := jen.Id("ctx").Qual("context", "Context")
	logits := []jen.Code{jen.Index().Float32(), jen.Error()}
	rt := g.runtimePath()
	comment(f, "GenerateOptions configure how tokens are chosen and when generation stops.")
	f.Type().Id("GenerateOptions").Op("=").Qual(rt, "GenerateOptions")
	comment(f, "Message is a message of a conversation.")
	f.Type().Id("Message").Op("=").Qual(rt, "Message")
	comment(f, "ChatOptions configure a conversation.")
	f.Type().Id("ChatOptions").Op("=").Qual(rt, "ChatOptions")
	comment(f, "Token is a generated token and its text.")
	f.Type().Id("Token").Op("=").Qual(rt, "Token")
	methods := []forward{
		{"Generate", "Generate appends the prompt and yields tokens as they are made, until the end of the text, the limit or an error. Breaking out of the loop stops it.",
			[]jen.Code{ctx, jen.Id("prompt").String(), jen.Id("o").Id("GenerateOptions")}, ids("ctx", "prompt", "o"),
			[]jen.Code{jen.Qual("iter", "Seq2").Types(jen.Id("Token"), jen.Error())}},
		{"Chat", "Chat generates the message that follows those of a conversation, all so far, by the model's chat template. What the session has of them is not run again.",
			[]jen.Code{ctx, jen.Id("messages").Index().Id("Message"), jen.Id("o").Id("ChatOptions")}, ids("ctx", "messages", "o"),
			[]jen.Code{jen.Qual("iter", "Seq2").Types(jen.Id("Token"), jen.Error())}},
		{"Prefill", "Prefill appends tokens and returns the logits after the last one, one for each id; they are valid until the next call.",
			[]jen.Code{ctx, jen.Id("tokens").Index().Int32()}, ids("ctx", "tokens"), logits},
		{"Decode", "Decode appends one token and returns the logits after it, as Prefill does. It allocates nothing.",
			[]jen.Code{ctx, jen.Id("token").Int32()}, ids("ctx", "token"), logits},
		{"Prompt", "Prompt makes tokens the whole sequence and returns the logits after the last one. Tokens at the beginning that were run before are not run again.",
			[]jen.Code{ctx, jen.Id("tokens").Index().Int32()}, ids("ctx", "tokens"), logits},
		{"Save", "Save writes the sequence, so that Load of this program can continue it.", []jen.Code{jen.Id("w").Qual("io", "Writer")}, ids("w"), []jen.Code{jen.Error()}},
		{"Load", "Load continues a sequence that Save has written.", []jen.Code{jen.Id("r").Qual("io", "Reader")}, ids("r"), []jen.Code{jen.Error()}},
		{"Len", "Len returns how many positions are filled.", nil, nil, []jen.Code{jen.Int()}},
		{"Truncate", "Truncate forgets all positions from n on.", []jen.Code{jen.Id("n").Int()}, ids("n"), []jen.Code{jen.Error()}},
		{"Close", "Close gives the place of a session of Sessions back. Other sessions need no Close.", nil, nil, []jen.Code{jen.Error()}},
	}
	for _, m := range methods {
		comment(f, m.doc)
		f.Func().Params(jen.Id("s").Op("*").Id("Session")).Id(m.name).Params(m.params...).Params(m.results...).Block(
			jen.Return(jen.Id("s").Dot("s").Dot(m.name).Call(m.args...)))
	}
	if g.m.LM.Pooling != ir.NoEmbeddings {
		g.emitEmbed(f)
	}
	g.emitReset(f)
	g.emitSessions(f)
}

// emitEmbed writes the method that makes the embedding of a text.
func (g *generator) emitEmbed(f *jen.File) {
	comment(f, "Embed returns the embedding of a text by the model's own pooling, of Euclidean length 1. The runtime's session has",
		"Embed for tokens and other kinds of pooling.")
	f.Func().Params(jen.Id("s").Op("*").Id("Session")).Id("Embed").Params(jen.Id("ctx").Qual("context", "Context"), jen.Id("text").String()).
		Params(jen.Index().Float32(), jen.Error()).Block(jen.Return(jen.Id("s").Dot("s").Dot("EmbedText").Call(jen.Id("ctx"), jen.Id("text"))))
}

// emitSessions writes the type whose sessions share memory and steps.
func (g *generator) emitSessions(f *jen.File) {
	comment(f, "Sessions is a set of sessions that share memory and take steps together: a step reads the weights once",
		"for all sessions that wait for a token. Each session is for one goroutine at a time.")
	f.Type().Id("Sessions").Struct(jen.Id("g").Op("*").Qual(g.runtimePath(), "Sessions"))
	comment(f, "NewSessions allocates memory for as many sessions as the program was compiled for.")
	f.Func().Params(jen.Id("m").Op("*").Id("Model")).Id("NewSessions").Params().Params(jen.Op("*").Id("Sessions"), jen.Error()).Block(
		ifErr(jen.List(jen.Id("g"), jen.Err()).Op(":=").Id("m").Dot("m").Dot("NewSessions").Call()),
		jen.Return(jen.Op("&").Id("Sessions").Values(jen.Id("g")), jen.Nil()),
	)
	comment(f, "NewSession returns a session with an empty state. If there is no room for another one, it waits for",
		"the Close of a session, which has to follow each NewSession.")
	f.Func().Params(jen.Id("g").Op("*").Id("Sessions")).Id("NewSession").Params(jen.Id("ctx").Qual("context", "Context")).
		Params(jen.Op("*").Id("Session"), jen.Error()).Block(
		ifErr(jen.List(jen.Id("s"), jen.Err()).Op(":=").Id("g").Dot("g").Dot("NewSession").Call(jen.Id("ctx"))),
		jen.Return(jen.Op("&").Id("Session").Values(jen.Id("s")), jen.Nil()),
	)
	comment(f, "Limit returns how many sessions there may be at once.")
	f.Func().Params(jen.Id("g").Op("*").Id("Sessions")).Id("Limit").Params().Int().Block(
		jen.Return(jen.Id("g").Dot("g").Dot("Limit").Call()))
}

// emitReset writes the methods of other forms.
func (g *generator) emitReset(f *jen.File) {
	g.emitRuntime(f)
	comment(f, "Reset forgets everything, as if the session were new.")
	f.Func().Params(jen.Id("s").Op("*").Id("Session")).Id("Reset").Params().Block(jen.Id("s").Dot("s").Dot("Reset").Call())
}

// emitRuntime writes the method that returns the runtime's session.
func (g *generator) emitRuntime(f *jen.File) {
	comment(f, "Runtime returns the session of package runtime, which has more methods: Score, Perplexity, Embed.")
	f.Func().Params(jen.Id("s").Op("*").Id("Session")).Id("Runtime").Params().Op("*").Qual(g.runtimePath(), "Session").Block(jen.Return(jen.Id("s").Dot("s")))
}

func ids(names ...string) []jen.Code {
	var codes []jen.Code
	for _, n := range names {
		codes = append(codes, jen.Id(n))
	}
	return codes
}

// goElem is the Go type of the elements of an array that callers see.
var goElem = map[dtype.DType]string{
	dtype.F32: "float32", dtype.I32: "int32", dtype.I64: "int64", dtype.F64: "float64",
	dtype.U8: "uint8", dtype.I8: "int8", dtype.F16: "uint16", dtype.BF16: "uint16", dtype.Bool: "bool",
}

// emitCall writes the typed method of one function, with a struct for its inputs and one
// for its outputs. The sizes of symbols follow from the lengths of the inputs.
func (g *generator) emitCall(f *jen.File, index int, fn *ir.Func) error {
	if err := checkLengths(fn); err != nil {
		return err
	}
	name := g.methods[fn]
	in, inArgs, err := g.arrays(fn, fn.Params, paramNames(fn), "in", "")
	if err != nil {
		return err
	}
	out, outArgs, err := g.arrays(fn, fn.Results[:fn.Returned()], outputNames(fn), "out", "&")
	if err != nil {
		return err
	}
	comment(f, fmt.Sprintf("%sInputs are the inputs of %s, dense and row by row.", name, name))
	f.Type().Id(name + "Inputs").Struct(in...)
	comment(f, fmt.Sprintf("%sOutputs are the results of %s, dense and row by row; they are the caller's.", name, name))
	f.Type().Id(name + "Outputs").Struct(out...)
	doc := fmt.Sprintf("%s runs @%s once. Symbolic sizes follow from the lengths of the inputs.", name, fn.Name)
	if fn.Doc != "" {
		doc = name + " " + fn.Doc
	}
	comment(f, doc)
	anys := jen.Index().Any()
	f.Func().Params(jen.Id("s").Op("*").Id("Session")).Id(name).
		Params(jen.Id("ctx").Qual("context", "Context"), jen.Id("in").Id(name+"Inputs")).
		Params(jen.Id("out").Id(name+"Outputs"), jen.Err().Error()).Block(
		jen.Err().Op("=").Id("s").Dot("s").Dot("Call").Call(jen.Id("ctx"), jen.Lit(index),
			jen.Add(anys).Values(inArgs...), jen.Index().Any().Values(outArgs...)),
		jen.Return(jen.Id("out"), jen.Err()),
	)
	return nil
}

// arrays returns the fields of a struct of arrays, and the expressions that hand them to
// the runtime.
func (g *generator) arrays(fn *ir.Func, vs []*ir.Value, names []string, of, op string) (fields, args []jen.Code, err error) {
	ids := fieldNames(names)
	for i, v := range vs {
		elem, ok := goElem[v.Type.DType]
		if !ok {
			return nil, nil, fmt.Errorf("@%s: %s: callers have no type for %v: cast it first", fn.Name, names[i], v.Type.DType)
		}
		fields = append(fields, trailingComment(jen.Id(ids[i]).Index().Id(elem), shapeText(v)))
		args = append(args, jen.Op(op).Id(of).Dot(ids[i]))
	}
	return fields, args, nil
}

func shapeText(v *ir.Value) string {
	dims := make([]string, len(v.Type.Shape))
	for i, d := range v.Type.Shape {
		dims[i] = d.String()
	}
	return fmt.Sprintf("%v [%s]", v.Type.DType, strings.Join(dims, ", "))
}
