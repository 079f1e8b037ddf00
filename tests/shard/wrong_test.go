package shard

import (
	"path/filepath"
	"testing"

	"github.com/ggmlc/ggmlc/passes/check/group"
	"github.com/ggmlc/ggmlc/passes/shard/ggml"
)

// TestWrongPlansAreFound checks the plans of all accepted cases. Exactly the plans that compute something wrong are
// found.
func TestWrongPlansAreFound(t *testing.T) {
	for _, path := range traces(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			cases, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			var wrong, found, accepted int
			for _, c := range cases {
				if c.Expect == nil || c.GGML == nil {
					continue
				}
				accepted++
				vs := check(t, c)
				want := c.isWrong()
				if want {
					wrong++
				}
				switch {
				case want && len(vs) > 0:
					found++
				case want:
					t.Errorf("%s: nothing is found, and it computes %s", c.Name, c.GGML.Computes)
				case len(vs) > 0:
					t.Errorf("%s: it is right, and this is found: %v", c.Name, vs[0])
				}
			}
			t.Logf("%d accepted cases, %d of them wrong: %d found", accepted, wrong, found)
		})
	}
}

// check returns what is found in the plan of an accepted case.
func check(t *testing.T, c *Case) []*group.Violation {
	g, err := Build(c)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	d, err := ggml.Derive(g.Func, len(c.Shares), g.Given)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	vs, err := group.Check(g.Func, d)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	for _, v := range vs {
		if v.Kind == "" {
			t.Errorf("%s: %v has no kind", c.Name, v)
		}
	}
	return vs
}

// isWrong reports whether the case computes something wrong, or cannot be read: ggml stops when an output that is kept
// partial is read, however much of it the devices have.
func (c *Case) isWrong() bool {
	o := c.GGML
	return o.Computes != "right" || o.Transfers == "read" && o.At != nil && c.Tensors[*o.At].Output && c.Expect.States[*o.At].Word == "partial"
}
