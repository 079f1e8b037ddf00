package driver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// KeptWeights returns which matrices --quantize converts to another format, or does not convert; "" if there are none.
func (md *Model) KeptWeights() (string, error) {
	k, err := arch.KeptOf(md.Module)
	if k.Kept == 0 || err != nil {
		return "", err
	}
	text := fmt.Sprintf("--quantize %s converts %d of %d matrices: the rows of the others are no whole blocks of %d elements",
		k.Type, k.Wanted-k.Kept, k.Wanted, k.Block)
	for _, to := range distinct(k.Misfits, func(m arch.Misfit) string { return m.Type }) {
		sep := "; not converted: "
		if to != "" {
			sep = "; converted to " + to + ": "
		}
		of := slices.DeleteFunc(slices.Clone(k.Misfits), func(m arch.Misfit) bool { return m.Type != to })
		for _, row := range distinct(of, func(m arch.Misfit) int64 { return m.Row }) {
			var names []string
			for _, m := range of {
				if m.Row == row {
					names = append(names, m.Name)
				}
			}
			text, sep = text+fmt.Sprintf("%srows of %d (%s)", sep, row, strings.Join(names, ", ")), ", "
		}
	}
	return text, nil
}

// distinct returns the keys of list without repetitions, in order.
func distinct[T any, K comparable](list []T, key func(T) K) (keys []K) {
	for _, x := range list {
		if k := key(x); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
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
