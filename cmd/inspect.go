package cmd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

func inspectCommand() *cobra.Command {
	var useJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:     "inspect model",
		Short:   "print what is in a model file: keys, tensors, types and sizes",
		Example: `  ggmlc inspect model.gguf`,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := modelArg(cmd, args)
			if err != nil {
				return err
			}
			if err := nameGiven(path); err != nil {
				return err
			}
			return inspect(cmd.OutOrStdout(), path, formFor(useJSON), limit)
		},
	}
	cmd.Flags().BoolVar(&useJSON, "json", false, "one JSON document")
	cmd.Flags().IntVar(&limit, "limit", 6, "elements of arrays that are printed; strings are whole up to 1000 bytes")
	return cmd
}

func inspect(w io.Writer, path string, form outputForm, limit int) error {
	if limit < 0 {
		return usagef("--limit %d: write 0 or more", limit)
	}
	if strings.HasSuffix(path, ".ggir") {
		return inspectText(w, path, form)
	}
	f, err := gguf.OpenPart(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if form == asJSON {
		return inspectJSON(w, f, limit)
	}
	return inspectLines(w, f, limit)
}

// inspectLines prints a line for each key and tensor. It escapes names so that each stays on its line and contains no
// command to a terminal.
func inspectLines(w io.Writer, f *gguf.File, limit int) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s: GGUF version %d, %d bytes, %s, %s\n", printable.Name(f.Name()), f.Version(), f.Size(), counted(f.NumKeys(), "key"), counted(f.NumTensors(), "tensor"))
	for k, err := range f.Keys() {
		if err != nil {
			return errors.Join(out.Flush(), err)
		}
		fmt.Fprintf(out, "  %-44s %s\n", printable.Name(k.Name), f.Format(k, limit))
	}
	for t := range f.Tensors() {
		fmt.Fprintf(out, "  %-44s %-6v %-18s %12d bytes at %#x\n", printable.Name(t.Name), t.Type, fmt.Sprint(t.Shape), t.Size, t.Offset)
	}
	return out.Flush()
}

type inspectedKey struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Value string `json:"value"`
}

type inspectedTensor struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Shape  []int  `json:"shape"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
}

// inspectJSON prints the contents of a GGUF file as one JSON object. It writes keys and tensors one by one, as the
// whole object would take many times the file's size in memory.
func inspectJSON(w io.Writer, f *gguf.File, limit int) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "{\n  \"file\": %s,\n  \"version\": %d,\n  \"bytes\": %d,\n", element(f.Name(), ""), f.Version(), f.Size())
	keys := listWriter{out: out}
	keys.begin("keys")
	for k, err := range f.Keys() {
		if err != nil {
			return errors.Join(out.Flush(), err)
		}
		keys.add(inspectedKey{k.Name, k.Type.String(), f.Format(k, limit)})
	}
	keys.end(",")
	tensors := listWriter{out: out}
	tensors.begin("tensors")
	for t := range f.Tensors() {
		tensors.add(inspectedTensor{t.Name, t.Type.String(), t.Shape, t.Offset, t.Size})
	}
	tensors.end("")
	out.WriteString("}\n")
	return out.Flush()
}

// listWriter writes a member that is a list, with the indentation of writeDocument.
type listWriter struct {
	out   *bufio.Writer
	count int
}

func (l *listWriter) begin(name string) { fmt.Fprintf(l.out, "  %q: [", name) }

func (l *listWriter) add(v any) {
	if l.count > 0 {
		l.out.WriteByte(',')
	}
	l.count++
	l.out.WriteString("\n    ")
	l.out.Write(element(v, "    "))
}

func (l *listWriter) end(after string) {
	if l.count > 0 {
		l.out.WriteString("\n  ")
	}
	l.out.WriteString("]" + after + "\n")
}

// element returns the JSON of a value whose encoding cannot fail.
func element(v any, indent string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent(indent, "  ")
	if err := e.Encode(v); err != nil {
		panic(err) // strings and numbers only
	}
	return printable.JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func writeDocument(w io.Writer, doc any) error {
	_, err := w.Write(append(element(doc, ""), '\n'))
	return err
}

// inspectedModule is the JSON form of the declarations of a .ggir text.
type inspectedModule struct {
	File      string              `json:"file"`
	Module    string              `json:"module"`
	After     string              `json:"after"`
	Functions []inspectedFunction `json:"functions"`
	Weights   []inspectedLeaf     `json:"weights"`
	States    []inspectedLeaf     `json:"states"`
}

type inspectedFunction struct {
	Name    string `json:"name"`
	Nodes   int    `json:"nodes"`
	Inputs  int    `json:"inputs"`
	Outputs int    `json:"outputs"`
}

// inspectedLeaf is a weight or a state.
type inspectedLeaf struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// inspectText summarises a .ggir text.
func inspectText(w io.Writer, path string, form outputForm) error {
	m, err := driver.ReadText(path)
	if err != nil {
		return err
	}
	doc := inspectedModule{path, m.Name, m.Last, []inspectedFunction{}, []inspectedLeaf{}, []inspectedLeaf{}}
	for _, f := range m.Funcs {
		doc.Functions = append(doc.Functions, inspectedFunction{f.Name, len(f.Nodes), len(f.Params), len(f.Results)})
	}
	for _, wt := range m.Weights {
		doc.Weights = append(doc.Weights, inspectedLeaf{wt.Name, wt.Type.String()})
	}
	for _, s := range m.States {
		doc.States = append(doc.States, inspectedLeaf{s.Name, s.Type.String()})
	}
	if form == asJSON {
		return writeDocument(w, doc)
	}
	return doc.write(w)
}

func (doc *inspectedModule) write(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s: %s, %s, %s, %s\n", printable.Name(doc.File), doc.title(), doc.level(), counted(len(doc.Weights), "weight"), counted(len(doc.States), "state"))
	for _, f := range doc.Functions {
		fmt.Fprintf(out, "  @%s: %s, %s, %s\n", printable.Name(f.Name), counted(f.Nodes, "node"), counted(f.Inputs, "input"), counted(f.Outputs, "output"))
	}
	for _, l := range doc.Weights {
		fmt.Fprintf(out, "  weight %-36q %s\n", l.Name, printable.Name(l.Type))
	}
	for _, l := range doc.States {
		fmt.Fprintf(out, "  state  %-36q %s\n", l.Name, printable.Name(l.Type))
	}
	return out.Flush()
}

func (doc *inspectedModule) title() string {
	if doc.Module == "" {
		return "a module without a name"
	}
	return fmt.Sprintf("module %q", doc.Module)
}

// level describes which passes have run on the module. A text by hand names none.
func (doc *inspectedModule) level() string {
	if doc.After == "" {
		return "no pass has run"
	}
	return "after " + printable.Name(doc.After)
}

// counted returns a number of things with their noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
