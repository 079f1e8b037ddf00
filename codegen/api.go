package codegen

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/codegen/model"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// feature is what a generated package can do.
type feature string

const (
	withLanguage   feature = "language"   // it generates tokens
	withEncoder    feature = "encoder"    // it makes embeddings of texts, and no tokens
	withEmbeddings feature = "embeddings" // it makes embeddings
	withRank       feature = "rank"       // it gives scores to texts
	withTokenizer  feature = "tokenizer"
	withChat       feature = "chat" // it generates texts
	withStates     feature = "states"
)

// features returns what the package can do.
func (g *generator) features() map[feature]bool {
	language, tokenizer := g.m.LM != nil, g.o.Tokenizer != nil
	return map[feature]bool{
		withLanguage: language, withTokenizer: tokenizer, withChat: language && tokenizer,
		withEncoder:    !language && g.m.Encoder != nil,
		withStates:     len(g.m.States) > 0,
		withRank:       g.m.Encoder != nil && g.m.Encoder.Pooling == ir.PoolRank,
		withEmbeddings: g.m.Encoder != nil || language && g.m.LM.Pooling != ir.NoEmbeddings,
	}
}

// emitAPI writes the exported part of a generated package: Open and sessions, what the package's features need, and,
// for a module without features, a method for each function.
func (g *generator) emitAPI() error {
	have := g.features()
	api := &apiFile{imports: make(map[string]bool)}
	for _, name := range model.Files {
		src, err := model.Source.ReadFile(name)
		if err != nil {
			return err
		}
		text, err := selectLines(string(src), have)
		if err == nil {
			err = api.add(text)
		}
		if err != nil {
			return fmt.Errorf("codegen: internal error: model/%s: %w", name, err)
		}
	}
	if !have[withLanguage] && !have[withEncoder] {
		if err := g.addCalls(api); err != nil {
			return err
		}
	}
	var err error
	g.api, err = api.source(g.o.generated(), g.o.Package, g.packageDoc())
	return err
}

// addCalls adds the methods of the module's functions.
func (g *generator) addCalls(api *apiFile) error {
	f := jen.NewFile(g.o.Package)
	if len(g.m.States) > 0 {
		comment(f, "Reset makes the state that of a new session.")
		f.Func().Params(jen.Id("s").Op("*").Id("Session")).Id("Reset").Params().Block(jen.Id("s").Dot("s").Dot("Reset").Call())
	}
	for i, fn := range g.m.Funcs {
		if err := g.emitCall(f, i, fn); err != nil {
			return err
		}
	}
	var b strings.Builder
	if err := f.Render(&b); err != nil {
		return fmt.Errorf("codegen: internal error: model.go: %w", err)
	}
	return api.add(b.String())
}

// packageDoc returns the paragraphs of the package's comment.
func (g *generator) packageDoc() []string {
	what, sizes := "computes the functions of", ""
	switch {
	case g.m.LM != nil:
		what = "generates text with"
		sizes = fmt.Sprintf("A sequence can have %d tokens, of a vocabulary of %d. Up to %d tokens of a prompt run at once.", g.m.Context(), g.m.Vocab(), g.m.Batch())
	case g.m.Encoder != nil:
		what = "makes embeddings of texts with"
	}
	doc := []string{
		fmt.Sprintf("Package %s %s the model %q, compiled by ggmlc. %s", g.o.Package, what, g.o.Name, sizes),
		"Open the model once, then make a session for each user.",
		"# Goroutines",
	}
	shared := "a Model"
	switch {
	case g.features()[withChat]:
		shared = "a Model, Sessions, a Tokenizer or a Grammar"
	case g.m.LM != nil:
		shared = "a Model or Sessions"
	case g.o.Tokenizer != nil:
		shared = "a Model or a Tokenizer"
	}
	goroutines := "Several goroutines may use " + shared + " at once. A Session is for one goroutine at a time; a second one gets ErrBusy. " +
		"Steps of all sessions run one after another, on the threads of the model"
	calls := ". Metrics and Logger are called by all goroutines that use sessions."
	if g.m.LM != nil {
		calls = "; those of Sessions run together. A Sampler is called by the goroutine that generates, Metrics and Logger by all that use sessions."
	}
	return append(doc, goroutines+calls+" Close may be called at any time: the step in progress ends, all others return ErrClosed.")
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
	out, outArgs, err := g.arrays(fn, fn.Results, outputNames(fn), "out", "&")
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
	_, starts, _ := g.arrays(fn, fn.Results, outputNames(fn), "st.out", "&")
	g.emitStart(f, index, fn, inArgs, starts)
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
