package target

import (
	"fmt"
	"slices"
	"strings"
)

// maxAlign bounds alignments, in bytes: more than a page of any size is a slip, and offsets
// that are multiples of it would leave the range of numbers.
const maxAlign = 1 << 30

// checkAlign refuses what is no alignment: planners round up by masks.
func checkAlign(bytes int64) error {
	if bytes < 1 || bytes > maxAlign || bytes&(bytes-1) != 0 {
		return fmt.Errorf("%d is no alignment: write a power of two from 1 to 1GiB, such as %d", bytes, defaultAlign)
	}
	return nil
}

// checkName refuses names that other texts could not hold: lists have commas, flags an
// equals sign, and dumps blanks and signs of their own. noun says of what it is the name.
func checkName(noun, name string) error {
	odd := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._:-", r))
	}
	if name == "" || strings.ContainsFunc(name, odd) {
		return fmt.Errorf("%q is no name of a %s: write letters, digits, and . _ : -", name, noun)
	}
	return nil
}

// contradiction returns what fields say that cannot hold together, and the field that says
// it; no error if they fit.
func (d *Descriptor) contradiction() (field string, err error) {
	if d.Workers && d.Queues > 0 {
		return "queues", fmt.Errorf("nodes of %s are shared by the program's workers, who have no queue: leave queues out, or write workers=false", d.Name)
	}
	for i, space := range d.Spaces {
		if slices.Contains(d.Spaces[:i], space) {
			return "space", fmt.Errorf("%s is listed twice", space)
		}
	}
	for _, space := range d.Opaque {
		if !d.Addresses(space) {
			return "opaque", fmt.Errorf("%s does not address %s: it has %s", d.Name, space, strings.Join(d.Spaces, ","))
		}
	}
	for _, a := range d.Aligns {
		if !d.Addresses(a.Space) {
			return "alignin", fmt.Errorf("%s does not address %s: it has %s", d.Name, a.Space, strings.Join(d.Spaces, ","))
		}
	}
	return "", nil
}
