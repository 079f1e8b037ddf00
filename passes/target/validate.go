package target

import (
	"fmt"
	"slices"
	"strings"
)

// maxAlign is the largest alignment, in bytes. A larger one is a mistake, as pages are smaller, and sums of multiples
// of it could overflow.
const maxAlign = 1 << 30

// checkAlign returns an error unless bytes is a power of two that can be an alignment. Planners round up with masks.
func checkAlign(bytes int64) error {
	if bytes < 1 || bytes > maxAlign || bytes&(bytes-1) != 0 {
		return fmt.Errorf("%d is not an alignment: write a power of two from 1 to 1GiB, such as %d", bytes, defaultAlign)
	}
	return nil
}

// checkName returns an error for a name with characters that separate other texts: commas in lists, equals signs in
// flags, blanks and punctuation in dumps. noun is what the name is for.
func checkName(noun, name string) error {
	odd := func(r rune) bool {
		letter, digit := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z', '0' <= r && r <= '9'
		return !letter && !digit && !strings.ContainsRune("._:-", r)
	}
	if name == "" || strings.ContainsFunc(name, odd) {
		return fmt.Errorf("%q is not a name for a %s: write letters, digits, and . _ : -", name, noun)
	}
	return nil
}

// contradiction returns an error if the values of several fields cannot hold together, and the field to report it at.
func (d *Descriptor) contradiction() (field string, err error) {
	if d.Workers && d.Queues > 0 {
		return "queues", fmt.Errorf("nodes of %s are shared by the program's threads, which have no queue: "+
			"leave queues out, or write workers=false", d.Name)
	}
	if d.IsGroup() {
		if field, err := d.groupContradiction(); err != nil {
			return field, err
		}
	}
	if d.Workers && len(d.Cores) > 0 && d.Threads > len(d.Cores) {
		return "threads", fmt.Errorf("%s has %d threads and %d cores: each thread needs one", d.Name, d.Threads, len(d.Cores))
	}
	if d.MMA != "" && d.Kind != "cuda" {
		return "mma", fmt.Errorf("%s is no GPU of NVIDIA: leave it out, or write kind=cuda", d.Name)
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
