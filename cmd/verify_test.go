package cmd

import (
	"slices"
	"strings"
	"testing"
)

func TestWithVerify(t *testing.T) {
	for args, want := range map[string]string{
		"":                    "--verify",
		"--prompt x":          "--verify --prompt x",
		"bench -n 1":          "bench --verify -n 1",
		"call f x=x.npy -o d": "call --verify f x=x.npy -o d",
	} {
		if got := withVerify(strings.Fields(args)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
}
