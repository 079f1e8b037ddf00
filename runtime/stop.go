package runtime

import (
	"bytes"
	"slices"
)

// stopper ends a generation at a text. Text that may be the beginning of one is held back until it is certain.
type stopper struct {
	stops []string
	held  []byte
}

// newStopper returns nil if there are no texts.
func newStopper(stops []string) (*stopper, error) {
	if slices.Contains(stops, "") {
		return nil, inputError("a stop string is empty")
	}
	if len(stops) == 0 {
		return nil, nil
	}
	return &stopper{stops: stops}, nil
}

// pass returns the text that may be printed now, in the memory of text, and whether a stop string follows it.
func (s *stopper) pass(text []byte, more moreText) (out []byte, stopped bool) {
	s.held = append(s.held, text...)
	n, stopped := s.find()
	if !stopped {
		n = len(s.held)
		if more == textFollows {
			n -= s.beginning()
		}
	}
	out = append(text[:0], s.held[:n]...)
	if stopped {
		s.held = s.held[:0]
	} else {
		s.held = append(s.held[:0], s.held[n:]...)
	}
	return out, stopped
}

// moreText is whether more text is generated.
type moreText bool

const (
	textFollows moreText = true
	textEnds    moreText = false
)

// find returns where the stop string begins that ends first, so that the result does not depend on how the text is cut
// into pieces. Of several that end there it is the longest.
func (s *stopper) find() (at int, found bool) {
	end := 0
	for _, stop := range s.stops {
		i := bytes.Index(s.held, []byte(stop))
		if i < 0 {
			continue
		}
		if e := i + len(stop); !found || e < end || e == end && i < at {
			at, end, found = i, e, true
		}
	}
	return at, found
}

// beginning returns the length of the longest end of the held text that a stop string begins with.
func (s *stopper) beginning() int {
	longest := 0
	for _, stop := range s.stops {
		for n := min(len(stop)-1, len(s.held)); n > longest; n-- {
			if string(s.held[len(s.held)-n:]) == stop[:n] {
				longest = n
			}
		}
	}
	return longest
}
