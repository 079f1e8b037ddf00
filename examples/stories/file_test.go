package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/gguf"
)

const demoFolder = "../../cmd/ggmlc/demo"

func tinyModel() *Model {
	tr := newTrainer(tinyRecipe())
	tr.step(0)
	return newModel(tr.recipe.Model, tr.vocab, tr.params)
}

func TestFileRoundTrip(t *testing.T) {
	m := tinyModel()
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := m.write(path); err != nil {
		t.Fatal(err)
	}
	got, err := readModel(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Config != m.Config {
		t.Errorf("shape %+v, not %+v", got.Config, m.Config)
	}
	if !slices.Equal(got.Params, m.Params) {
		t.Error("the parameters differ")
	}
	if !reflect.DeepEqual(got.Vocab.Pieces, m.Vocab.Pieces) || !reflect.DeepEqual(got.Vocab.Scores, m.Vocab.Scores) {
		t.Error("the vocabulary differs")
	}
}

func TestReadModelChecksTheShape(t *testing.T) {
	changes := map[string]func(*Config){
		"no heads":             func(c *Config) { c.KVHeads = 0 },
		"a huge context":       func(c *Config) { c.Context = 1 << 30 },
		"heads not dividing":   func(c *Config) { c.Heads = 5 },
		"an odd head size":     func(c *Config) { c.Heads = 8 },
		"another feed-forward": func(c *Config) { c.FF++ },
		"another vocabulary":   func(c *Config) { c.Vocab-- },
	}
	m := tinyModel()
	for name, change := range changes {
		path := filepath.Join(t.TempDir(), "m.gguf")
		written := *m
		change(&written.Config)
		if err := writeAs(&written, m, path); err != nil {
			t.Fatal(err)
		}
		if _, err := readModel(path); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// writeAs writes the tensors of m under the metadata of another model.
func writeAs(metadata, m *Model, path string) error {
	w := gguf.NewWriter()
	metadata.describe(w)
	m.addTensors(w)
	return w.WriteFile(path)
}

// TestReferenceAgreesWithTraining compares the two forward passes, which share
// little, at every position of a story.
func TestReferenceAgreesWithTraining(t *testing.T) {
	m := tinyModel()
	c := m.Config
	trans := make([]float32, c.size())
	c.transpose(trans, m.Params)
	ids := m.Vocab.Encode(Story(5, 5))[:50]
	l := newLane(c, m.Params, trans)
	l.forward(ids)
	s := newSession(m)
	for i, id := range ids {
		for j, got := range s.next(id) {
			if want := l.logits[i*c.Vocab+j]; math.Abs(float64(got-want)) > 1e-4 {
				t.Fatalf("logit %d at %d: %g, in training %g", j, i, got, want)
			}
		}
	}
}

// TestDemoIsWhatItsReadmeSays compares the checked-in model with the hash in
// its README, and its shape with the recipe.
func TestDemoIsWhatItsReadmeSays(t *testing.T) {
	path := filepath.Join(demoFolder, "stories.gguf")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 2_000_000 {
		t.Errorf("%d bytes, more than 2 MB", len(data))
	}
	readme, err := os.ReadFile(filepath.Join(demoFolder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if !strings.Contains(string(readme), hex.EncodeToString(sum[:])) {
		t.Errorf("the README does not have the hash %x", sum)
	}
	m, err := readModel(path)
	if err != nil {
		t.Fatal(err)
	}
	if m.Config != demoRecipe.Model {
		t.Errorf("shape %+v, the recipe's is %+v", m.Config, demoRecipe.Model)
	}
}

// TestDemoReference makes the checked-in reference again. Where products and
// sums are fused, as on arm64, logits may differ in their last digits.
func TestDemoReference(t *testing.T) {
	m, err := readModel(filepath.Join(demoFolder, "stories.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.greedyJSON()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(demoFolder, "stories.greedy.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("stories.greedy.json is not what stories.gguf says: run the command in the README")
	}
}

// TestDemoTellsStories wants what the demo is for: at temperature 0 and at
// 0.8 a story ends by itself, and the name in the prompt comes back in it.
func TestDemoTellsStories(t *testing.T) {
	m, err := readModel(filepath.Join(demoFolder, "stories.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, temperature := range []float64{0, 0.8} {
		for _, name := range []string{"Lily", "Tom", "Zelda"} {
			prompt := m.Vocab.Encode("Once upon a time there was a child named " + name)
			var ids []int32
			for id := range m.generate(prompt, 250, temperature, 1) {
				ids = append(ids, id)
			}
			text := m.Vocab.Decode(ids)
			if ids[len(ids)-1] != endID {
				t.Errorf("temperature %g: the story does not end: %s", temperature, text)
			}
			if strings.Count(text, name) < 3 {
				t.Errorf("temperature %g: %s is forgotten: %s", temperature, name, text)
			}
		}
	}
}
