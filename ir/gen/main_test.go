package main

import (
	"os"
	"testing"
)

func TestGeneratedMethodsAreUpToDate(t *testing.T) {
	want, err := generate("../op.go")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../builder_ops_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("builder_ops_gen.go is stale: run go generate ./ir")
	}
}

func TestConstantsMustMatchTheTable(t *testing.T) {
	if _, err := constants("../value.go"); err == nil {
		t.Error("a file without the constants is accepted")
	}
	if _, err := constants("none.go"); err == nil {
		t.Error("a missing file is accepted")
	}
}
