package readback_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/tools/txtar"
)

var allMutants = flag.Bool("all", false, "try every mutant")

func sectionsOf(t testing.TB, path string) map[string]string {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sections := make(map[string]string)
	for _, f := range a.Files {
		sections[f.Name] = string(f.Data)
	}
	return sections
}

var one = flag.String("one", "", "")

func TestX(t *testing.T) {
	var subs []*subject
	for name := range llamas {
		subs = append(subs, llama(t, name))
	}
	for i := range texts {
		subs = append(subs, textSubject(t, i))
	}
	subs = append(subs, goldens(t)...)
	subs = append(subs, randoms(t, 10)...)
	l := opSubjects(t, setting{})
	t.Log(len(l))
	l = opSubjects(t, setting{targets: twoFakes, pins: ".*=fake:0"})
	t.Log(len(l))
	c := newCompiles(t)
	for _, s := range subs {
		if err := s.check(s.files); err != nil {
			t.Fatal(s.name, err)
		}
		if *one != "" && s.name != *one {
			continue
		}
		list := mutants(t, s)
		every := max(1, len(list)/2000)
		n := map[string]int{}
		var left []string
		for i, mu := range list {
			if i%every != 0 {
				continue
			}
			files, ok := mu.apply(s.files)
			if !ok {
				n["unparsed"]++
				continue
			}
			if s.check(files) != nil {
				n["noticed"]++
				continue
			}
			if c.refuses(files) != nil {
				n["stillborn"]++
				continue
			}
			n["left"]++
			left = append(left, fmt.Sprint(mu.op, ": ", mu.what))
		}
		t.Log(s.name, len(list), n)
		if *one != "" {
			slices.Sort(left)
			for _, l := range left {
				t.Log(l)
			}
		}
	}
}

func TestY(t *testing.T) {
	c := newCompiles(t)
	subs := goldens(t)
	for i := range texts {
		subs = append(subs, textSubject(t, i))
	}
	left := make(map[string]int)
	ex := make(map[string]string)
	for _, s := range subs {
		if err := c.refuses(s.files); err != nil {
			t.Fatal(s.name, err)
		}
		for i, mu := range mutants(t, s) {
			if i%3 != 0 {
				continue
			}
			files, ok := mu.apply(s.files)
			if !ok || s.check(files) != nil {
				continue
			}
			if c.refuses(files) != nil {
				continue
			}
			left[mu.op]++
			if left[mu.op] < 4 {
				ex[mu.op] += "\n      " + s.name + ": " + mu.what
			}
		}
	}
	for op, n := range left {
		t.Log(op, n, ex[op])
	}
}
