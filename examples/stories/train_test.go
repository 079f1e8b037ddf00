package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestTrainingLowersTheLoss(t *testing.T) {
	tr := newTrainer(tinyRecipe())
	before := tr.evaluate()
	for n := range tr.recipe.Steps {
		tr.step(n)
	}
	if after := tr.evaluate(); after > before-0.7 {
		t.Errorf("the loss went from %.3f to %.3f", before, after)
	}
}

// TestTrainingIsReproducible wants the same file from the same seed, whatever
// the number of processors, and another one from another seed.
func TestTrainingIsReproducible(t *testing.T) {
	r := tinyRecipe()
	r.Steps = 3
	first := trainedFile(t, r)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if !bytes.Equal(first, trainedFile(t, r)) {
		t.Error("one processor gave other bytes")
	}
	runtime.GOMAXPROCS(5)
	if !bytes.Equal(first, trainedFile(t, r)) {
		t.Error("five workers gave other bytes")
	}
	r.Seed++
	if bytes.Equal(first, trainedFile(t, r)) {
		t.Error("another seed gave the same bytes")
	}
}

func trainedFile(t *testing.T, r Recipe) []byte {
	t.Helper()
	tr := train(r, io.Discard)
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := newModel(r.Model, tr.vocab, tr.params).write(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestClipFactor(t *testing.T) {
	if got := clipFactor([]float32{3, 4}, 1); got != 0.2 {
		t.Errorf("a norm of 5 is brought to 1 by %g", got)
	}
	if got := clipFactor([]float32{0.3, 0.4}, 1); got != 1 {
		t.Errorf("a norm of 0.5 is multiplied with %g", got)
	}
}
