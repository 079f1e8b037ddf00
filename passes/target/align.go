package target

import (
	"fmt"
	"slices"
	"strings"
)

// SpaceAlign is the alignment of offsets in a space, in bytes.
type SpaceAlign struct {
	Space string
	Bytes int64
}

// AlignIn returns the alignment of offsets that the backend needs in one of its spaces, in bytes.
func (d *Descriptor) AlignIn(space string) int64 {
	if i := slices.IndexFunc(d.Aligns, func(a SpaceAlign) bool { return a.Space == space }); i >= 0 {
		return d.Aligns[i].Bytes
	}
	return d.Align
}

// setAligns reads a list of SPACE:BYTES.
func setAligns(d *Descriptor, value string) error {
	d.Aligns = nil
	for _, item := range strings.Split(value, ",") {
		space, size, ok := strings.Cut(item, ":")
		bytes, err := ParseSize(size)
		switch {
		case !ok || space == "":
			return fmt.Errorf("%q: write SPACE:BYTES", item)
		case err != nil:
			return err
		}
		if err := checkAlign(bytes); err != nil {
			return fmt.Errorf("%s: %w", item, err)
		}
		d.Aligns = append(d.Aligns, SpaceAlign{space, bytes})
	}
	return nil
}

// alignsText returns the text that setAligns reads.
func alignsText(d *Descriptor) string {
	items := make([]string, len(d.Aligns))
	for i, a := range d.Aligns {
		items[i] = fmt.Sprintf("%s:%d", a.Space, a.Bytes)
	}
	return strings.Join(items, ",")
}
