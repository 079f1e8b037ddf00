package arch

import (
	"encoding/json"
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
)

// Metadata of modules about what users should know.
const (
	metaLimit = "arch.limit" // key of the file that has limited the context
	metaKept  = "arch.kept"  // Kept
)

// Kept states which matrices stay in the file's format although Options.Quantize asks for another, as their rows are
// no whole blocks of it.
type Kept struct {
	Type   string // that was asked for
	Block  int64  // elements of its blocks
	Wanted int    // float matrices, which it was asked for
	Kept   int    // of which so many stay as they are
	First  string // name of the first of them
	Row    int64  // elements of its rows
	Of32   int    // matrices of Kept whose rows are whole blocks of 32
}

// add counts a matrix that stays as it is, with rows of so many elements.
func (k *Kept) add(name string, row int64) {
	if k.Kept == 0 {
		k.First, k.Row = name, row
	}
	k.Kept++
	if row%32 == 0 {
		k.Of32++
	}
}

// advise adds metadata of what users should know about the module.
func (m *model) advise(mod *ir.Module) error {
	if m.limit != "" {
		mod.SetMeta(metaLimit, m.limit)
	}
	if m.kept.Kept == 0 {
		return nil
	}
	m.kept.Type, m.kept.Block = m.o.Quantize.String(), int64(m.o.Quantize.BlockElems())
	text, err := json.Marshal(m.kept)
	if err != nil {
		return fmt.Errorf("arch: internal error: %w", err)
	}
	mod.SetMeta(metaKept, string(text))
	return nil
}

// Limit returns the key of the file that has limited the context of a module; "" if none has.
func Limit(mod *ir.Module) string { return mod.GetMeta(metaLimit) }

// KeptOf returns which matrices of a module stay in the file's format; Kept is 0 if there are none.
func KeptOf(mod *ir.Module) (k Kept, err error) {
	text := mod.GetMeta(metaKept)
	if text == "" {
		return Kept{}, nil
	}
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		return Kept{}, fmt.Errorf("metadata %q: %w: compile the model file again", metaKept, err)
	}
	return k, nil
}
