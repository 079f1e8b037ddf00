package grammar

import "fmt"

// A grammar may name tokens: <[12]> or <think> is one token, whose text may be shown or not, and !<think> any other one that
// does not end the text. A thread that reads a token takes it as a whole, a thread that reads bytes takes its text. What
// follows are the threads of both.

// named returns the tokens of the grammar's elements. The error is a *SyntaxError.
func (g *Grammar) named(v *Vocab) ([]int32, error) {
	ids := make([]int32, len(g.tokens))
	for i, t := range g.tokens {
		id, ok := t.id, int(t.id) < v.ids
		if t.text != "" {
			id, ok = v.source.Single(t.text)
		}
		if !ok {
			name := t.text
			if name == "" {
				name = fmt.Sprintf("<[%d]>", t.id)
			}
			return nil, &SyntaxError{t.line, fmt.Sprintf("%s is no token of this vocabulary, which has %d: write it as a text in quotation marks", name, v.ids)}
		}
		ids[i] = id
	}
	return ids, nil
}

// allows reports whether element i of the grammar allows a token.
func (t *Matcher) allows(i, id int32) bool { return (t.named[i] == id) != t.m.g.tokens[i].not }

// orToken returns the state with the threads of after and those that read the token as a whole in the present state.
func (t *Matcher) orToken(after stateID, id int32) (stateID, error) {
	m := t.m
	m.reached, m.returns = m.reached[:0], 0
	clear(m.seen)
	for _, r := range m.states[t.at].threads {
		if r.at == accept || m.g.code[r.at].op != opToken || !t.allows(m.g.code[r.at].y, id) {
			continue
		}
		if !m.follow(thread{m.g.code[r.at].x, r.stack}) {
			return dead, ErrTooComplex
		}
	}
	for _, r := range m.states[after].threads {
		if !m.follow(r) {
			return dead, ErrTooComplex
		}
	}
	return m.number(), nil
}

// allowNamed adds the tokens that threads of the present state read as a whole to a mask.
func (t *Matcher) allowNamed(mask []uint64) {
	for _, r := range t.m.states[t.at].threads {
		if r.at == accept || t.m.g.code[r.at].op != opToken {
			continue
		}
		i := t.m.g.code[r.at].y
		for id := range int32(t.v.ids) {
			if t.allows(i, id) && t.v.source.HasText(id) && !t.v.source.IsEOG(id) {
				mask[id/64] |= 1 << (id % 64)
			}
		}
	}
}
