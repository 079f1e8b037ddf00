package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

func TestPrint(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"-print", "2", "-seed", "8"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if want := Story(8, 0) + "\n" + Story(8, 1) + "\n"; out.String() != want {
		t.Errorf("printed %q, not %q", out.String(), want)
	}
}

func TestTrainWriteReadSample(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a step of the demo's size")
	}
	dir := t.TempDir()
	model := filepath.Join(dir, "m.gguf")
	args := []string{"-o", model, "-greedy", filepath.Join(dir, "m.json"), "-steps", "1", "-sample", "One", "-n", "3"}
	var trained, read, progress bytes.Buffer
	if err := run(args, &trained, &progress); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(progress.String(), "step 0 of 1: loss 6.") {
		t.Errorf("progress: %s", &progress)
	}
	if err := run([]string{"-model", model, "-sample", "One", "-n", "3"}, &read, io.Discard); err != nil {
		t.Fatal(err)
	}
	if trained.String() != read.String() || !strings.HasPrefix(read.String(), "One") {
		t.Errorf("after training %q, from the file %q", &trained, &read)
	}
}

func TestErrors(t *testing.T) {
	tests := map[string][]string{
		"give -o":      {},
		"no such file": {"-model", "absent.gguf"},
		"not defined":  {"-what"},
		"tokens long":  {"-model", filepath.Join(demoFolder, "stories.gguf"), "-sample", strings.Repeat("word ", 300)},
	}
	for want, args := range tests {
		if err := run(args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, without %q", args, err, want)
		}
	}
}
