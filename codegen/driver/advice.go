package driver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/runtime/jinja"
)

// LongContext returns how the context of a language model exceeds the length that it was trained with; "" if it does
// not.
func (md *Model) LongContext() string {
	trained, err := strconv.ParseInt(md.Module.GetMeta(metaTrained), 10, 64)
	if md.Module.LM == nil || err != nil || md.Module.Context() <= trained {
		return ""
	}
	return fmt.Sprintf("--ctx %d exceeds the %d positions that the model was trained with: the program takes texts of that length, "+
		"but answers get worse after position %[2]d", md.Module.Context(), trained)
}

// LimitedContext returns why the context is shorter than users expect; "" if it is not.
func (md *Model) LimitedContext() string {
	key := arch.Limit(md.Module)
	if md.Module.LM == nil || key == "" {
		return ""
	}
	return fmt.Sprintf("the program takes texts of at most %d positions, as %s limits them: a larger --ctx is refused", md.Module.Context(), key)
}

// KeptWeights returns which matrices --quantize does not convert; "" if it converts all.
func (md *Model) KeptWeights() (string, error) {
	k, err := arch.KeptOf(md.Module)
	if k.Kept == 0 || err != nil {
		return "", err
	}
	text := fmt.Sprintf("--quantize %s converts %d of %d matrices: the rows of the others are no whole blocks of %d elements (%s has rows of %d)",
		k.Type, k.Wanted-k.Kept, k.Wanted, k.Block, k.First, k.Row)
	text += ", and they stay as they are"
	if k.Block > 32 && k.Of32 > 0 {
		text += fmt.Sprintf(": formats with blocks of 32, such as q8_0 and q4_0, fit %d of them", k.Of32)
	}
	return text, nil
}

// metaTrained is the metadata that has the length that a model was trained with.
const metaTrained = "lm.trained"

// TemplateFaults returns what is wrong with the model's chat templates, in the order of their names. A program with a
// faulty template needs another one for conversations.
func (md *Model) TemplateFaults() ([]string, error) {
	if md.Chat == nil {
		return nil, nil
	}
	var templates map[string]string
	if err := json.Unmarshal(md.Chat, &templates); err != nil {
		return nil, fmt.Errorf("codegen: internal error: chat templates: %w", err)
	}
	var faults []string
	for name, text := range templates {
		if _, err := jinja.Parse(text); err != nil {
			faults = append(faults, fmt.Sprintf("the chat template %s does not parse: %v: conversations need --chat-template FILE", name, err))
		}
	}
	slices.Sort(faults)
	return faults, nil
}
