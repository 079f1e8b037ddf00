package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
)

const architecturesHead = `# Architectures

` + "```sh\n./ggmlc inspect model.gguf | grep general.architecture\n```" + `

The values of ` + "`general.architecture`" + ` that ggmlc compiles, with the sentence that describes each in ` + "`frontend/arch`" + `.
For each there are random models with all features on (` + "`frontend/arch/archtest`" + `). Their graphs are evaluated in float64 and compared
with the logits of llama.cpp, and programs are built of them and compared with both
(` + "`go test ./frontend/arch ./tests/e2e/arch`" + `). Those of baichuan and grok, and of bert's classification heads, are compared with a direct computation in
float64 instead (` + "`archtest.Model.Direct`" + `), which for bert-cls, xverse and refact has llama.cpp's results.

Scaling of positions: linear, YaRN, longrope, and factors of frequencies (Llama 3). Layers with a sliding window read the
positions of the window; their caches keep only the last positions ([windows](../explanation/windows.md)). Where llama.cpp ignores a window that a
file states, phi3 reads all positions, and other architectures are compiled for at most as many positions as the window has.

Files may have one matrix or several for queries, keys and values, and for gate and up of experts (` + "`ffn_gate_up_exps`" + `).
Layers that predict further tokens (` + "`nextn_predict_layers`" + `, in files of bailingmoe2, deepseek2, glm4 and glm4moe) are left out.

Which layers have a window is that of the architecture unless the file states ` + "`attention.sliding_window_pattern`" + `: a period, whose last layer
has none, or a list with a bool, 0 or 1 for each layer. (llama.cpp reads the period and ignores some lists.) ` + "`rope.freq_base_swa`" + `
is the base of the angles in those layers, except in cohere2, exaone4 and olmo2, where llama.cpp does not use it. It does not use YaRN's factors
` + "`yarn_attn_factor` and `yarn_ext_factor`" + ` either, which files of OLMo 3 state, and of YaRN's ` + "`yarn_beta_fast` and `yarn_beta_slow`" + `, which Kimi K2 has,
only those of grok and mistral3: nor do programs. Architectures without such layers refuse both unless they change nothing, as they do other keys
that would change the results, such as ` + "`attention.causal`" + ` false in a decoder.

`

const architecturesTail = `
## Not yet

| feature | needed by | what it asks for |
|---|---|---|
| bias of scores by distance to tokens on both sides | jina-bert-v2 | ` + "`attention`" + ` knows the last position that a token reads, not the token's own: an operand more, or an attribute, in all kernels |
| scores of generated tokens | qwen3 | files with pooling 4 are language models, which give no scores |
`

// architecturesPage returns the table of architectures: of each, the comment of the function that describes it, and
// its models in archtest.
func architecturesPage(folder string) (string, error) {
	functions, comments, err := descriptions(folder)
	if err != nil {
		return "", err
	}
	tested := make(map[string][]string)
	for _, m := range append(archtest.Models(), archtest.Encoders()...) {
		tested[m.Arch()] = append(tested[m.Arch()], "`"+m.Name+"`")
	}
	var names []string
	for name := range functions {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString(generated + architecturesHead + "| architecture | | tested with |\n|---|---|---|\n")
	for _, name := range names {
		f := functions[name]
		text := strings.TrimPrefix(strings.Join(strings.Fields(comments[f]), " "), f+" is ")
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, cell(text), strings.Join(tested[name], ", "))
	}
	return b.String() + architecturesTail, nil
}

// descriptions reads the Go files of frontend/arch: the function of each architecture, and the comment of each
// function.
func descriptions(folder string) (functions, comments map[string]string, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "frontend", "arch", "*.go"))
	if err != nil {
		return nil, nil, err
	}
	functions, comments = make(map[string]string), make(map[string]string)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, nil, err
		}
		if !strings.HasSuffix(name, "_test.go") {
			describe(file, functions, comments)
		}
	}
	return functions, comments, nil
}

// describe adds the functions of a file.
func describe(file *ast.File, functions, comments map[string]string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if n.Names[0].Name == "architectures" {
				addFunctions(functions, n.Values[0].(*ast.CompositeLit))
			}
		case *ast.FuncDecl:
			comments[n.Name.Name] = n.Doc.Text()
		}
		return true
	})
}

// addFunctions reads the entries of the table of architectures.
func addFunctions(functions map[string]string, table *ast.CompositeLit) {
	for _, e := range table.Elts {
		pair := e.(*ast.KeyValueExpr)
		name, _ := strconv.Unquote(pair.Key.(*ast.BasicLit).Value)
		functions[name] = pair.Value.(*ast.Ident).Name
	}
}
