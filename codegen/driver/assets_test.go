package driver

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// TestAssetsOfAPackageAreChecked: the module of a generated package states where its weights are, their hash and the
// package's name, and has the vocabulary. What is missing or damaged there is reported.
func TestAssetsOfAPackageAreChecked(t *testing.T) {
	hash := strings.Repeat("ab", 32)
	notTables := base64.StdEncoding.EncodeToString([]byte("no tables"))
	for _, c := range []struct{ name, key, value, want string }{
		{"as generated", "", "", ""},
		{"no hash", metaWeightsHash, "", "lacks the hash"},
		{"half a hash", metaWeightsHash, hash[:32], "lacks the hash"},
		{"a hash that is no number", metaWeightsHash, "x" + hash[1:], "lacks the hash"},
		{"weights nowhere", metaWeights, "", "where the weights are"},
		{"no package", metaPackage, "", "the package's name"},
		{"a package that Go refuses", metaPackage, "func", "its package is called"},
		{"a vocabulary that is not encoded", metaVocabulary, "%", "its vocabulary is damaged"},
		{"a vocabulary without tables", metaVocabulary, notTables, "its vocabulary is damaged"},
	} {
		m := &ir.Module{}
		for key, value := range map[string]string{metaWeightsHash: hash, metaWeights: whereNames[codegen.Embed], metaPackage: "model", "kept": "yes"} {
			m.SetMeta(key, value)
		}
		if c.key != "" {
			m.SetMeta(c.key, c.value)
		}
		o := OutputOptions{}
		w, where, err := takeAssets(&Model{Module: m}, &o)
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
		case err != nil || where != codegen.Embed || o.Package != "model" || w.hash[0] != 0xab:
			t.Errorf("%s: %v, %v, package %q, hash %x", c.name, err, where, o.Package, w.hash)
		case len(m.Meta) != 1 || m.GetMeta("kept") != "yes":
			t.Errorf("%s: left in the module: %v", c.name, m.Meta)
		}
	}
}

// TestOnlyTheProofRefutesAText: errors that are no bugs, and bugs of other passes, are passed on as they are,
// whatever the text has decided.
func TestOnlyTheProofRefutesAText(t *testing.T) {
	for _, err := range []error{errors.New("no such file"), &pass.InternalError{Pass: "plan", Err: errors.New("broken")}} {
		if got := refuted(err, ^ir.Props(0)); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}
