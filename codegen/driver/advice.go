package driver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

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
