package pass

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// Pin puts nodes on a backend: those for which the expression matches the name of the first result or the position in
// the model file.
type Pin struct {
	Match   *regexp.Regexp
	Backend string
}

// ParsePin reads REGEX=backend.
func ParsePin(text string) (Pin, error) {
	i := strings.LastIndexByte(text, '=')
	if i <= 0 || i == len(text)-1 {
		return Pin{}, fmt.Errorf("pin %q: write REGEX=BACKEND", text)
	}
	re, err := regexp.Compile(text[:i])
	if err != nil {
		return Pin{}, fmt.Errorf("pin %q: %w", text, err)
	}
	return Pin{Match: re, Backend: text[i+1:]}, nil
}

// String returns the pin as ParsePin reads it.
func (p Pin) String() string { return p.Match.String() + "=" + p.Backend }

// Matches reports whether the pin is for n.
func (p *Pin) Matches(n *ir.Node) bool {
	if r := n.Result(); r != nil && p.Match.MatchString(r.Name()) {
		return true
	}
	return n.Pos != "" && p.Match.MatchString(n.Pos)
}

// MatchesWeight reports whether n reads a weight whose name matches.
func (p *Pin) MatchesWeight(n *ir.Node) bool {
	return slices.ContainsFunc(n.Args, func(v *ir.Value) bool {
		if v == nil {
			return false
		}
		r := v.Root()
		return r.Def != nil && r.Def.Op == ir.OpWeight && p.Match.MatchString(r.Def.Attr.(*ir.WeightAttr).Name)
	})
}
