// Package shard compares the states that passes/shard derives under the rules of ggml-2026 with traces of ggml's meta
// backend, which makes a group of devices one. The README next to the traces, in ../shared/data/shard, specifies their
// form and what must be equal. A case becomes a module of foreign nodes.
//
//	go test ./tests/shard -v -traces DIR
//
// prints for each file in DIR how many cases agree, in each item and in all.
package shard

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

// Case is one graph that was given to a group of devices, with what ggml derived.
type Case struct {
	Name    string    `json:"name"`
	Rules   string    `json:"rules"`
	Shares  []float64 `json:"shares"`
	Tensors []Tensor  `json:"tensors"`
	Leafs   []int     `json:"leafs"`
	Nodes   []int     `json:"nodes"`

	Expect  *Expected `json:"expect"`
	Refused *Refused  `json:"refused"`
	GGML    *Outcome  `json:"ggml"`
}

// Tensor is a leaf or node of the graph. Dimensions and strides have the fastest first. Strides, offsets and sizes are
// in bytes.
type Tensor struct {
	Name       string                     `json:"name"`
	Op         string                     `json:"op"`
	Type       string                     `json:"type"`
	NE         [4]int64                   `json:"ne"`
	NB         [4]int64                   `json:"nb"`
	Bytes      int64                      `json:"bytes"`
	Src        []*int                     `json:"src"`
	ViewOf     *int                       `json:"view_of"`
	ViewOffset int64                      `json:"view_offset"`
	Params     map[string]json.RawMessage `json:"params"`
	Kept       string                     `json:"kept"`
	Given      *State                     `json:"given"`
	Cut        *Cut                       `json:"cut"`
	Input      bool                       `json:"input"`
	Output     bool                       `json:"output"`
}

// Cut is how a given state follows from the shares.
type Cut struct {
	Granularity []int64 `json:"granularity"`
	Rotation    int     `json:"rotation"`
}

// Expected is what ggml derived.
type Expected struct {
	States       []State  `json:"states"`
	Partial      []int    `json:"partial"`
	Local        [][]Part `json:"local"`
	Off          [][2]int `json:"off"`
	Subgraphs    [][2]int `json:"subgraphs"`
	Reduce       []int    `json:"reduce"`
	ReduceBytes  int64    `json:"reduce_bytes"`
	Exchange     Exchange `json:"exchange"`
	KeptBytes    []int64  `json:"kept_bytes"`
	ComputeBytes []int64  `json:"compute_bytes"`
}

// Exchange is what the devices send each other without a communication library.
type Exchange struct {
	Messages int64   `json:"messages"`
	Bytes    int64   `json:"bytes"`
	Scratch  []int64 `json:"scratch"`
	Refused  string  `json:"refused"`
}

// Refused is why ggml refused a case. Its message is not compared.
type Refused struct {
	Stage  string `json:"stage"`
	Tensor *int   `json:"tensor"`
	Reason string `json:"reason"`
}

// Outcome describes how the computation of an accepted case went.
type Outcome struct {
	Computes  string `json:"computes"`
	Transfers string `json:"transfers"`
	At        *int   `json:"at"` // where a transfer failed
}

// Part is what a device has of a tensor: dimensions, strides and offset.
type Part struct {
	NE, NB [4]int64
	Offset int64
}

// UnmarshalJSON reads a list of three.
func (p *Part) UnmarshalJSON(data []byte) error { return unmarshalAll(data, &p.NE, &p.NB, &p.Offset) }

// State is how a tensor is divided. Axes count from the fastest dimension.
type State struct {
	Word     string // mirrored, partial or none; empty if it is split
	Axis     int
	Segments [][]int64 // of each: times, and the elements of each device
}

// UnmarshalJSON reads a word, or a list of axis and segments.
func (s *State) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &s.Word); err == nil {
		return nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if len(parts) < 2 {
		return fmt.Errorf("state %s has no segment", data)
	}
	s.Segments = make([][]int64, len(parts)-1)
	into := []any{&s.Axis}
	for i := range s.Segments {
		into = append(into, &s.Segments[i])
	}
	return unmarshalAll(data, into...)
}

// unmarshalAll reads a list of as many elements as there are targets.
func unmarshalAll(data []byte, into ...any) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if len(parts) != len(into) {
		return fmt.Errorf("%s has %d elements, not %d", data, len(parts), len(into))
	}
	for i, p := range parts {
		if err := json.Unmarshal(p, into[i]); err != nil {
			return err
		}
	}
	return nil
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

// check reports invalid indexes and states, and a case without an outcome.
func (c *Case) check() error {
	refs := slices.Concat(c.Leafs, c.Nodes)
	for i, t := range c.Tensors {
		for _, s := range t.Src {
			if s != nil {
				refs = append(refs, *s)
			}
		}
		if t.ViewOf != nil {
			refs = append(refs, *t.ViewOf)
		}
		if t.Given != nil && !t.Given.valid(len(c.Shares)) {
			return fmt.Errorf("tensor %d: the given state does not fit %d devices", i, len(c.Shares))
		}
	}
	if i := slices.IndexFunc(refs, func(i int) bool { return i < 0 || i >= len(c.Tensors) }); i >= 0 {
		return fmt.Errorf("there is no tensor %d", refs[i])
	}
	switch e := c.Expect; {
	case (e == nil) == (c.Refused == nil):
		return errors.New("is neither accepted nor refused")
	case e != nil && (len(e.States) != len(c.Tensors) || len(e.Local) != len(c.Tensors)):
		return errors.New("there is no state, or no list of parts, for each tensor")
	}
	return nil
}

func (s *State) valid(devices int) bool {
	for _, seg := range s.Segments {
		if len(seg) != devices+1 {
			return false
		}
	}
	return s.Axis >= 0 && s.Axis < 4
}

// Files returns the files of traces in a folder.
func Files(dir string) ([]string, error) { return filepath.Glob(filepath.Join(dir, "*.jsonl.gz")) }
