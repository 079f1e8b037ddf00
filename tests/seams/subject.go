package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/ggmlc/ggmlc/ir/irtest"
)

// subject is the input of a try: a language model in a file, or a graph as text.
type subject struct {
	name  string
	path  string
	graph *irtest.Program // nil: a language model
	calls []call

	layers    int
	kvs       []string // values for --kv
	quantizes bool     // blocks divide its rows, so that --quantize has an effect
	oddHeads  bool     // vectors do not divide its heads
	rounds    bool     // products round their other operand, to bytes or to bf16
}

// call is one run of a program: its arguments, and whether it writes arrays.
type call struct {
	name   string
	args   []string
	arrays bool
}

// subjects makes the subjects of tries, each once.
type subjects struct {
	root, dir string
	mu        sync.Mutex
	made      map[string]*subject
}

// Numbers of different random subjects. There are few models, as each needs a reference program.
const (
	randomModels = 24
	randomGraphs = 1 << 20
)

// choose draws a subject for a try of one of kinds.
func (s *subjects) choose(d draw, kind string) (*subject, error) {
	if strings.HasPrefix(kind, "graph") {
		n, err := runnable(d)
		if err != nil {
			return nil, err
		}
		return s.get(fmt.Sprintf("graph%d", n))
	}
	return s.get(pick(d, "aidreams", "aidreams", "stories", "random"+strconv.Itoa(d.IntN(randomModels)), "random"+strconv.Itoa(d.IntN(randomModels))))
}

// get returns the subject with the given name.
func (s *subjects) get(name string) (*subject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.made[name]; x != nil {
		return x, nil
	}
	x, err := s.make(name)
	if err != nil {
		return nil, fmt.Errorf("subject %s: %w", name, err)
	}
	if x.graph == nil { // there are too many graphs to keep
		s.made[name] = x
	}
	return x, nil
}

func (s *subjects) make(name string) (*subject, error) {
	aidreams := filepath.Join(s.root, "..", "shared", "data", "aidreams260K.gguf")
	if _, err := os.Stat(aidreams); err != nil && name == "aidreams" {
		name = "stories"
	}
	switch {
	case name == "aidreams":
		return &subject{name: name, path: aidreams, layers: 5, kvs: []string{"f16", "f32"}, quantizes: true, calls: prompts(512, 128)}, nil
	case name == "stories":
		path := filepath.Join(s.root, "cmd", "ggmlc", "demo", "stories.gguf")
		return &subject{name: name, path: path, layers: 4, kvs: []string{"f16", "f32", "q8_0"}, quantizes: true, calls: prompts(704, 256)}, nil
	case strings.HasPrefix(name, "random"):
		n, err := strconv.ParseUint(strings.TrimPrefix(name, "random"), 10, 32)
		if err != nil {
			return nil, err
		}
		return randomModel(n, filepath.Join(s.dir, name+".gguf"))
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(name, "graph"), 10, 32)
	if err != nil {
		return nil, err
	}
	return randomGraph(n, filepath.Join(s.dir, name))
}

// prompts returns the runs of a language model: a short prompt, one that takes several steps, and one that exceeds
// the context.
func prompts(vocab, context int) []call {
	prompt := func(name string, length, n int) call {
		d := newDraw(uint64(vocab), uint64(length))
		ids := make([]string, length)
		for i := range ids {
			ids[i] = strconv.Itoa(1 + d.IntN(vocab-1))
		}
		return call{name: name, args: []string{"--tokens", strings.Join(ids, ","), "-n", strconv.Itoa(n), "--json", "--logits", "--ignore-eos"}}
	}
	return []call{prompt("long", 31, 5), prompt("short", 3, 7), prompt("too long", context+3, 2)}
}
