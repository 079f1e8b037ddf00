package driver

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/frontend/tokenizer"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// TestTablesHaveToFitTheVocabulary: the tables of a package and its module have to be those of its
// language model.
func TestTablesHaveToFitTheVocabulary(t *testing.T) {
	md, err := Load(t.Context(), needtest.Data(t, "aidreams260K.gguf"), LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer md.Close()
	other := vocabulary(t, "vocab/ggml-vocab-llama-spm.gguf")
	for _, c := range []struct {
		name, tables string
		change       func(m *ir.Module)
		want         string // empty for tables that fit
	}{
		{"its own", string(md.Tokenizer), func(*ir.Module) {}, ""},
		{"another model's", other, func(*ir.Module) {}, "it has 32000 ids, and the module 512 logits"},
		{"damaged", string(md.Tokenizer[:100]), func(*ir.Module) {}, "damaged"},
		{"nobody's", string(md.Tokenizer), func(m *ir.Module) { m.LM.Tokenizer = "" }, "no language model with a tokenizer"},
		{"no model's", string(md.Tokenizer), func(m *ir.Module) { m.LM = nil }, "no language model"},
	} {
		m := md.Module.Clone()
		c.change(m)
		err := fitsVocab(m, c.tables)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) && c.want != "damaged" {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// vocabulary returns the encoded tables of a file of shared/data.
func vocabulary(t *testing.T, name string) string {
	f, err := gguf.Open(needtest.Data(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := tokenizer.Read(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := table.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(tables)
}
