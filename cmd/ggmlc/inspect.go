package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/frontend/gguf"
)

func inspectCommand() *cobra.Command {
	var asJSON bool
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
			return inspect(cmd.OutOrStdout(), path, asJSON, limit)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	cmd.Flags().IntVar(&limit, "limit", 6, "elements of arrays that are printed")
	return cmd
}

func inspect(w io.Writer, path string, asJSON bool, limit int) error {
	if limit < 0 {
		return usagef("--limit %d: write 0 or more", limit)
	}
	if strings.HasSuffix(path, ".ggir") {
		return inspectText(w, path, asJSON)
	}
	f, err := gguf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if asJSON {
		return inspectJSON(w, f, limit)
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s: GGUF version %d, %d bytes, %d keys, %d tensors\n", path, f.Version(), f.Size(), len(f.Keys()), len(f.Tensors()))
	for i := range f.Keys() {
		k := &f.Keys()[i]
		fmt.Fprintf(out, "  %-44s %s\n", k.Name, f.Format(k, limit))
	}
	for i := range f.Tensors() {
		t := &f.Tensors()[i]
		fmt.Fprintf(out, "  %-44s %-6v %-18s %12d bytes at %#x\n", t.Name, t.Type, fmt.Sprint(t.Shape), t.Size, t.Offset)
	}
	return out.Flush()
}

// inspected is the JSON form of a GGUF file's contents.
type inspected struct {
	File    string            `json:"file"`
	Version int               `json:"version"`
	Bytes   int64             `json:"bytes"`
	Keys    []inspectedKey    `json:"keys"`
	Tensors []inspectedTensor `json:"tensors"`
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

func inspectJSON(w io.Writer, f *gguf.File, limit int) error {
	doc := inspected{File: f.Name(), Version: f.Version(), Bytes: f.Size(), Keys: []inspectedKey{}, Tensors: []inspectedTensor{}}
	for i := range f.Keys() {
		k := &f.Keys()[i]
		doc.Keys = append(doc.Keys, inspectedKey{k.Name, k.Type.String(), f.Format(k, limit)})
	}
	for i := range f.Tensors() {
		t := &f.Tensors()[i]
		doc.Tensors = append(doc.Tensors, inspectedTensor{t.Name, t.Type.String(), t.Shape, t.Offset, t.Size})
	}
	return writeDocument(w, doc)
}

func writeDocument(w io.Writer, doc any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}

// inspectedModule is the JSON form of what a .ggir text declares.
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
func inspectText(w io.Writer, path string, asJSON bool) error {
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
	if asJSON {
		return writeDocument(w, doc)
	}
	return doc.write(w)
}

func (doc *inspectedModule) write(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s: module %q after %s, %d weights, %d states\n", doc.File, doc.Module, doc.After, len(doc.Weights), len(doc.States))
	for _, f := range doc.Functions {
		fmt.Fprintf(out, "  @%s: %d nodes, %d inputs, %d outputs\n", f.Name, f.Nodes, f.Inputs, f.Outputs)
	}
	for _, l := range doc.Weights {
		fmt.Fprintf(out, "  weight %-36q %s\n", l.Name, l.Type)
	}
	for _, l := range doc.States {
		fmt.Fprintf(out, "  state  %-36q %s\n", l.Name, l.Type)
	}
	return out.Flush()
}
