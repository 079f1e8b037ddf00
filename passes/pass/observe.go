package pass

import (
	"regexp"

	"github.com/ggmlc/ggmlc/ir"
)

// Observes reports whether an expression of --observe names n: by the name of its result, or by its position in the
// model file.
func Observes(re *regexp.Regexp, n *ir.Node) bool {
	r := n.Result()
	if r == nil {
		return false
	}
	return re.MatchString(r.Name()) || n.Pos != "" && re.MatchString(n.Pos)
}
