// Package sched compares the decisions of the passes under the rules ggml-2024 and ggml-2026 with traces of those
// versions of ggml's scheduler. The README next to the traces, in ../shared/data/sched, specifies their form and what
// must be equal. A case becomes a module of foreign nodes, which runs through the passes of any model.
//
//	go test ./tests/sched -v -traces DIR
//
// prints for each file in DIR how many cases agree, in each item and in all.
package sched

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Case is one graph that was given to a scheduler, with the scheduler's decisions.
type Case struct {
	Name  string `json:"name"`
	Rules string `json:"rules"`

	Spaces      []Space   `json:"spaces"`
	Backends    []Backend `json:"backends"`
	Copies      int       `json:"copies"`
	CurrentCopy int       `json:"current_copy"`
	OpOffload   bool      `json:"op_offload"`
	Tensors     []Tensor  `json:"tensors"`
	Leafs       []int     `json:"leafs"`
	Nodes       []int     `json:"nodes"`

	Expect Decisions `json:"expect"`
}

// Space is a memory space. Alignment is in bytes.
type Space struct {
	Name      string `json:"name"`
	Alignment int64  `json:"alignment"`
	Host      bool   `json:"host"`
}

// Backend is a made-up backend.
type Backend struct {
	Name        string   `json:"name"`
	Space       string   `json:"space"`
	Addresses   []string `json:"addresses"`
	Ops         Ops      `json:"ops"`
	NotTypes    []string `json:"not_types"`
	Offload     []string `json:"offload"`
	OffloadRows int      `json:"offload_rows"`
}

// Ops is a list of ops, or all of them.
type Ops struct {
	All   bool
	Names []string
}

// UnmarshalJSON reads a list, or the text "all".
func (o *Ops) UnmarshalJSON(data []byte) error {
	var all string
	if err := json.Unmarshal(data, &all); err == nil {
		o.All = all == "all"
		return nil
	}
	return json.Unmarshal(data, &o.Names)
}

// Tensor is a leaf or node of the graph. Dimensions and strides have the fastest first. Strides and sizes are in
// bytes.
type Tensor struct {
	Name        string   `json:"name"`
	Op          string   `json:"op"`
	Type        string   `json:"type"`
	NE          [4]int64 `json:"ne"`
	NB          [4]int64 `json:"nb"`
	Bytes       int64    `json:"bytes"`
	Src         []*int   `json:"src"`
	ViewOf      *int     `json:"view_of"`
	ViewOffset  int64    `json:"view_offset"`
	Input       bool     `json:"input"`
	Output      bool     `json:"output"`
	WeightIn    string   `json:"weight_in"`
	AllocatedIn string   `json:"allocated_in"`
	Pin         string   `json:"pin"`
}

// Decisions are the decisions of the scheduler. In FinalLeafs and FinalNodes a number is a tensor; "copy k" and "keep
// t" are texts.
type Decisions struct {
	Assign      [][2]string `json:"assign"`
	Splits      []Split     `json:"splits"`
	Copies      []Copy      `json:"copies"`
	Rewired     [][3]int    `json:"rewired"`
	FinalLeafs  []any       `json:"final_leafs"`
	FinalNodes  []any       `json:"final_nodes"`
	Unreachable [][2]int    `json:"unreachable"`

	Buffers []Buffer    `json:"buffers"`
	At      []*[2]int64 `json:"at"` // of each tensor: buffer and offset; nil for views and values placed before
}

// Buffer is a compute buffer: one for each backend, or one for each space if it has a space.
type Buffer struct {
	Backends []string `json:"backends"`
	Space    string   `json:"space"`
	Bytes    int64    `json:"bytes"`
}

// Split is a run of nodes: positions in Case.Nodes, the end excluded.
type Split struct {
	Backend string `json:"backend"`
	Start   int    `json:"start"`
	End     int    `json:"end"`
	Inputs  []int  `json:"inputs"`
}

// Copy is a copy of a tensor that the scheduler made.
type Copy struct {
	Of      int    `json:"of"`
	Backend string `json:"backend"`
	Slot    int    `json:"slot"`

	At [2]int64 `json:"at"` // buffer and offset
}

// Read reads the cases of a file, which has one JSON object per line and is compressed by gzip.
func Read(path string) (cases []*Case, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	d := json.NewDecoder(bufio.NewReader(z))
	for {
		c := &Case{}
		switch err := d.Decode(c); {
		case errors.Is(err, io.EOF):
			return cases, nil
		case err != nil:
			return nil, fmt.Errorf("%s: case %d: %w", path, len(cases), err)
		}
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, c.Name, err)
		}
		cases = append(cases, c)
	}
}

// check reports invalid indexes.
func (c *Case) check() error {
	valid := func(i int) bool { return i >= 0 && i < len(c.Tensors) }
	var refs []int
	for i, t := range c.Tensors {
		for _, s := range t.Src {
			if s != nil {
				refs = append(refs, *s)
			}
		}
		if t.ViewOf != nil {
			if *t.ViewOf == i {
				return fmt.Errorf("tensor %d is a view of itself", i)
			}
			refs = append(refs, *t.ViewOf)
		}
	}
	refs = slices.Concat(refs, c.Leafs, c.Nodes)
	if i := slices.IndexFunc(refs, func(i int) bool { return !valid(i) }); i >= 0 {
		return fmt.Errorf("there is no tensor %d", refs[i])
	}
	if len(c.Backends) == 0 || len(c.Expect.Assign) != len(c.Tensors) {
		return errors.New("there are no backends, or not a decision for each tensor")
	}
	return c.checkPlaces()
}

// checkPlaces reports addresses in buffers that do not exist.
func (c *Case) checkPlaces() error {
	e := &c.Expect
	if len(e.At) != len(c.Tensors) {
		return errors.New("there is no address for each tensor")
	}
	ats := slices.DeleteFunc(slices.Clone(e.At), func(at *[2]int64) bool { return at == nil })
	for i := range e.Copies {
		ats = append(ats, &e.Copies[i].At)
	}
	for _, at := range ats {
		if at[0] < 0 || at[0] >= int64(len(e.Buffers)) {
			return fmt.Errorf("there is no buffer %d", at[0])
		}
	}
	return nil
}

// Files returns the files of traces in a folder.
func Files(dir string) ([]string, error) { return filepath.Glob(filepath.Join(dir, "*.jsonl.gz")) }
