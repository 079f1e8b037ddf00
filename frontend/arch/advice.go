package arch

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Metadata of modules about what users should know.
const (
	metaLimit = "arch.limit" // key of the file that has limited the context
	metaKept  = "arch.kept"  // Kept
)

// Kept states which matrices Options.Quantize does not convert to its type, as their rows are no whole blocks of it.
type Kept struct {
	Type    string   // that was asked for
	Block   int64    // elements of its blocks
	Wanted  int      // float matrices, which it was asked for
	Kept    int      // of which so many do not get it
	Misfits []Misfit // these, in the order in which they were declared first
}

// Misfit are matrices of all layers with the same name, rows and type.
type Misfit struct {
	Name  string // with * in place of the layer
	Row   int64  // elements of a row
	Type  string // what they are converted to; "" if they stay as they are
	Count int
}

// add counts a matrix with rows of so many elements that is converted to another type than the user's, or for Invalid to
// none.
func (k *Kept) add(name string, row int64, to dtype.DType) {
	m := Misfit{Name: anyLayer(name), Row: row}
	if to != dtype.Invalid {
		m.Type = to.String()
	}
	k.Kept++
	for i := range k.Misfits {
		if same := &k.Misfits[i]; same.Name == m.Name && same.Row == m.Row && same.Type == m.Type {
			same.Count++
			return
		}
	}
	m.Count = 1
	k.Misfits = append(k.Misfits, m)
}

// anyLayer returns a tensor's name with * in place of the layer.
func anyLayer(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		if i > 0 && strings.Trim(p, "0123456789") == "" {
			parts[i] = "*"
			break
		}
	}
	return strings.Join(parts, ".")
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

// KeptOf returns which matrices of a module are not converted as the user asked; Kept is 0 if there are none.
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
