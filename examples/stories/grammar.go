package main

import (
	"math/rand/v2"
	"strings"
	"unicode"
	"unicode/utf8"
)

// bindings are the facts of one story. Once bound, a symbol always expands to
// the same text: that is what makes a story consistent from begin to end.
type bindings map[string]string

// Story returns story number n of the endless sequence that seed names.
func Story(seed, n uint64) string {
	rng := rand.New(rand.NewPCG(seed, n))
	s := teller{rng: rng, facts: bindings{}}
	s.bindCast()
	s.bindWorld()
	plot := plots[rng.IntN(len(plots))]
	for _, facts := range pickFrom(rng, plot.variants) {
		name, text, _ := strings.Cut(facts, "=")
		s.facts[name] = text
	}
	first := 0
	if s.oneIn(4) { // so that a prompt may begin anywhere
		first = 1 + rng.IntN(len(plot.sentences)/2)
	}
	return sentenceCase(s.expand(strings.Join(plot.sentences[first:], " ")))
}

// teller expands templates. In a template, {x} is replaced by the fact x, or by
// one alternative of the rule x; {X} is the same with a capital letter;
// [a|b|c] is replaced by one of its parts.
type teller struct {
	rng   *rand.Rand
	facts bindings
}

func (s *teller) oneIn(n int) bool { return s.rng.IntN(n) == 0 }

func pickFrom[T any](rng *rand.Rand, s []T) T { return s[rng.IntN(len(s))] }

func (s *teller) bindCast() {
	hero := pickFrom(s.rng, heroes)
	s.bindPerson("", hero, s.pickName(hero))
	friend := pickFrom(s.rng, friends)
	s.bindPerson("friend.", friend, s.pickName(friend))
}

// pickName returns a name of the group, or now and then an invented one.
func (s *teller) pickName(p person) string {
	if !s.oneIn(3) {
		return pickFrom(s.rng, p.names)
	}
	return capitalize(pickFrom(s.rng, onsets) + pickFrom(s.rng, vowels) + pickFrom(s.rng, middle) + pickFrom(s.rng, ends))
}

// bindPerson binds name, kind and pronouns under the prefix.
func (s *teller) bindPerson(prefix string, p person, name string) {
	s.facts[prefix+"name"] = name
	s.facts[prefix+"kind"] = pickFrom(s.rng, p.kinds)
	s.facts[prefix+"he"], s.facts[prefix+"him"], s.facts[prefix+"his"] = "she", "her", "her"
	if p.male {
		s.facts[prefix+"he"], s.facts[prefix+"him"], s.facts[prefix+"his"] = "he", "him", "his"
	}
}

// bindWorld binds a place with three different spots in it, and a toy.
func (s *teller) bindWorld() {
	place := pickFrom(s.rng, places)
	s.facts["at"], s.facts["to"] = place.at, place.to
	order := s.rng.Perm(len(place.spots))
	s.facts["spot"] = place.spots[order[0]]
	s.facts["wrong"] = place.spots[order[1]]
	s.facts["wrong2"] = place.spots[order[2]]
	s.facts["toy"] = pickFrom(s.rng, colors) + " " + pickFrom(s.rng, toys)
	s.facts["food"] = pickFrom(s.rng, foods)
	s.facts["trait"] = pickFrom(s.rng, traits)
}

// expand returns the template with every symbol and choice replaced.
func (s *teller) expand(template string) string {
	var b strings.Builder
	for template != "" {
		at := strings.IndexAny(template, "{[")
		if at < 0 {
			b.WriteString(template)
			break
		}
		b.WriteString(template[:at])
		size := groupSize(template[at:])
		inner := template[at+1 : at+size-1]
		if template[at] == '{' {
			b.WriteString(s.symbol(inner))
		} else {
			b.WriteString(s.expand(pickFrom(s.rng, alternatives(inner))))
		}
		template = template[at+size:]
	}
	return b.String()
}

func (s *teller) symbol(name string) string {
	lower := strings.ToLower(name)
	if lower != name {
		return capitalize(s.symbol(lower))
	}
	if fact, ok := s.facts[name]; ok {
		return s.expand(fact)
	}
	rule, ok := rules[name]
	if !ok {
		panic("stories: the grammar has no symbol {" + name + "}")
	}
	return s.expand(pickFrom(s.rng, rule))
}

// groupSize is the length of the bracketed group with which the template begins.
func groupSize(template string) int {
	depth := 0
	for i, c := range template {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	panic("stories: a bracket is never closed in " + template)
}

// alternatives splits at the bars that are in no inner group.
func alternatives(inner string) []string {
	var parts []string
	depth, start := 0, 0
	for i, c := range inner {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '|':
			if depth == 0 {
				parts = append(parts, inner[start:i])
				start = i + 1
			}
		}
	}
	return append(parts, inner[start:])
}

func capitalize(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[size:]
}

// sentenceCase puts one space between words and capitalizes what follows the
// end of a sentence. A quotation that ends with ?" or !" ends no sentence.
func sentenceCase(text string) string {
	words := strings.Fields(text)
	begins := true
	for i, word := range words {
		if begins {
			words[i] = capitalize(word)
		}
		begins = strings.HasSuffix(word, `."`) || strings.ContainsAny(word[len(word)-1:], ".!?")
	}
	return strings.Join(words, " ")
}
