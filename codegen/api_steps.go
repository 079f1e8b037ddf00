package codegen

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/ir"
)

// sessionMethods are the names that Session has in packages of modules with states, besides those of functions.
var sessionMethods = []string{"Save", "Load", "Fork", "ReadState", "WriteState", "StartReadState", "StartWriteState"}

// emitStart writes the method that starts a function, and the type of its result. in and out are the arguments of Call.
func (g *generator) emitStart(f *jen.File, index int, fn *ir.Func, in, out []jen.Code) {
	name, start, anys := g.methods[fn], g.starts[fn], jen.Index().Any()
	comment(f, fmt.Sprintf("%sStep is a call of %s in progress.", name, name))
	f.Type().Id(name+"Step").Struct(jen.Id("step").Op("*").Qual(g.runtimePath(), "Step"), jen.Id("out").Id(name+"Outputs"))
	comment(f, fmt.Sprintf("%s is %s without the wait: it returns when the call has its place after the session's earlier steps. "+
		"The inputs must not change before Wait returns.", start, name))
	f.Func().Params(jen.Id("s").Op("*").Id("Session")).Id(start).
		Params(jen.Id("ctx").Qual("context", "Context"), jen.Id("in").Id(name+"Inputs")).
		Params(jen.Op("*").Id(name+"Step"), jen.Error()).Block(
		jen.Id("st").Op(":=").New(jen.Id(name+"Step")),
		jen.List(jen.Id("step"), jen.Err()).Op(":=").Id("s").Dot("s").Dot("Start").Call(jen.Id("ctx"), jen.Lit(index),
			jen.Add(anys).Values(in...), jen.Index().Any().Values(out...)),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Err())),
		jen.Id("st").Dot("step").Op("=").Id("step"),
		jen.Return(jen.Id("st"), jen.Nil()),
	)
	comment(f, "Wait returns when the call has ended. It may be called several times.")
	f.Func().Params(jen.Id("st").Op("*").Id(name+"Step")).Id("Wait").Params().Params(jen.Id(name+"Outputs"), jen.Error()).Block(
		jen.If(jen.Err().Op(":=").Id("st").Dot("step").Dot("Wait").Call(), jen.Err().Op("!=").Nil()).Block(
			jen.Return(jen.Id(name+"Outputs").Values(), jen.Err())),
		jen.Return(jen.Id("st").Dot("out"), jen.Nil()),
	)
}
