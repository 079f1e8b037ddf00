package readback_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ggmlc/ggmlc/codegen/readback"
)

var allMutants = flag.Bool("all", false, "try many more mutants, and let the oracle judge a sample of those that are noticed")

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

// fate is what becomes of a mutant.
type fate uint8

const (
	unparsed   fate = iota // no Go
	stillborn              // refused by the Go compiler
	noticed                // by readback, and the compiler would take it
	equivalent             // not noticed, and does what the original does
	escaped                // not noticed, and does something else
	numFates
)

var fates = [numFates]string{"unparsed", "stillborn", "noticed", "equivalent", "escaped"}

// score counts mutants by fate.
type score [numFates]int

func (s *score) String() string {
	var list []string
	for f, n := range s {
		list = append(list, fmt.Sprintf("%d %s", n, fates[f]))
	}
	return strings.Join(list, ", ")
}

// trial tries mutants. The oracle judges the mutants that readback does not notice.
type trial struct {
	t        *testing.T
	oracle   *oracle // nil where there is no time for it
	compiler *compiles
	scores   map[string]*score
	waiting  map[string]mutant // by the package that the oracle runs
	judged   map[string]bool   // of these the ones that readback has noticed
	seen     int
}

// meaningless are changes that do not change the program. Few of them are tried.
var meaningless = map[string]bool{
	"number of another form": true, "elements in another order": true, "declarations in another order": true, "operands in another order": true,
}

// try tries every n-th mutant of a subject.
func (k *trial) try(s *subject, every int) {
	k.t.Helper()
	if err := s.check(s.files); err != nil {
		k.t.Errorf("%s, as it was emitted: %v", s.name, err)
		return
	}
	if err := k.compiler.refuses(s.files); err != nil {
		k.t.Errorf("%s, as it was emitted: %v", s.name, err)
		return
	}
	original := ""
	const seldom = 40
	for i, mu := range mutants(k.t, s) {
		if i%every != 0 || meaningless[mu.op] && i/every%seldom != 0 {
			continue
		}
		f, files := k.fate(s, mu)
		if k.scores[mu.op] == nil {
			k.scores[mu.op] = &score{}
		}
		k.scores[mu.op][f]++
		k.seen++
		const sample = 150
		if f == escaped && mu.text {
			k.t.Errorf("not noticed, and readers are misled: %s: %s: %s", s.name, mu.op, mu.what)
			continue
		}
		judge := f == noticed && *allMutants && k.seen%sample == 0
		if f != escaped && !judge || k.oracle == nil {
			continue
		}
		if original == "" {
			original = k.next(s, s.files, "")
		}
		mu.what = s.name + ": " + mu.what
		id := k.next(s, files, original)
		k.waiting[id], k.judged[id] = mu, judge
	}
}

// next adds a package for the oracle.
func (k *trial) next(s *subject, files []readback.File, of string) string {
	id := fmt.Sprintf("p%d", len(k.oracle.packages))
	k.oracle.add(id, of, s.facts.Package, files)
	return id
}

// fate returns what becomes of a mutant before the oracle has judged it.
func (k *trial) fate(s *subject, mu mutant) (fate, []readback.File) {
	files, ok := mu.apply(s.files)
	if !ok {
		return unparsed, nil
	}
	seen := notices(s.check(files), mu.text)
	if k.compiler.refuses(files) != nil {
		return stillborn, nil
	}
	if seen {
		return noticed, files
	}
	return escaped, files
}

// notices reports whether an error is about more than comments, which follow the statements that mutants change; or
// about anything at all, for a mutant that changes comments.
func notices(err error, text bool) bool {
	var all *readback.Error
	if text || !errors.As(err, &all) {
		return err != nil
	}
	return slices.ContainsFunc(all.Findings, func(err error) bool { return !readback.IsComment(err) })
}

// judge lets the oracle look at the mutants that wait.
func (k *trial) judge() {
	if k.oracle == nil || len(k.waiting) == 0 {
		return
	}
	differ := k.oracle.run()
	var sample score
	for _, p := range k.oracle.packages {
		mu, ok := k.waiting[p.id]
		if !ok {
			continue
		}
		is := equivalent
		if p.refuse != "" {
			is = stillborn
		} else if differ[p.id] {
			is = escaped
		}
		if k.judged[p.id] {
			if is == escaped {
				is = noticed
			}
			sample[is]++
			continue
		}
		k.scores[mu.op][escaped]--
		k.scores[mu.op][is]++
		if is == escaped {
			k.t.Errorf("not noticed, and the program does something else: %s: %s: %s", mu.op, mu.what, k.oracle.difference(p.id, p.of))
		}
	}
	if *allMutants {
		k.t.Logf("a sample of those that readback noticed, by what they do: %v", &sample)
	}
}

// print writes a table by operator.
func (k *trial) print() {
	var total score
	for _, op := range slices.Sorted(maps.Keys(k.scores)) {
		k.t.Logf("%-32s %v", op, k.scores[op])
		for f, n := range k.scores[op] {
			total[f] += n
		}
	}
	k.t.Logf("%-32s %v", "all", &total)
}

// TestMutants changes emitted packages in every way that this package knows. Readback has to
// notice each change that makes a program do something else, and each change of a comment. A package
// whose change it does not notice is run.
func TestMutants(t *testing.T) {
	k := &trial{t: t, compiler: newCompiles(t), scores: make(map[string]*score), waiting: make(map[string]mutant), judged: make(map[string]bool)}
	if !testing.Short() {
		k.oracle = newOracle(t)
	}
	k.tryAll()
	k.judge()
	k.print()
}

// tryAll tries mutants of all subjects: about so many of each.
func (k *trial) tryAll() {
	each := 25
	if testing.Short() {
		each = 5
	}
	names := []string{"cpu", "cpu package", "shared, no queues", "two fakes cost", "gpu", "groups"}
	if *allMutants {
		const ofCases = 25
		for _, s := range []setting{{}, {targets: twoFakes, pins: ".*=fake:0"}} {
			k.some(opSubjects(k.t, s), ofCases)
		}
		each, names = 500, slices.Sorted(maps.Keys(llamas))
		k.some(randoms(k.t, 12), each)
	}
	for i := range texts {
		k.some([]*subject{textSubject(k.t, i)}, each)
	}
	for _, name := range names {
		k.some([]*subject{llama(k.t, name)}, each)
	}
	k.some(goldens(k.t), each)
}

// some tries about so many mutants of each subject.
func (k *trial) some(subjects []*subject, each int) {
	for _, s := range subjects {
		k.try(s, max(1, len(mutants(k.t, s))/each))
	}
}

// TestNoFalseAlarm reads packages back as they were emitted: of all settings of the llama, of
// all sample cases of ops, on the CPU and on simulated devices.
func TestNoFalseAlarm(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(llamas)) {
		llama(t, name)
	}
	const least = 150
	for _, s := range []setting{
		{}, {targets: "gpusim,cpu", rules: "ggml-2026"}, {profile: true, pkg: "ops"}, {targets: twoFakes, pins: ".*=fake:0", pipeline: 2}, {targets: "cpu:cores=0-3,cpu:cores=4", pins: ".*=cpu:0"}, {targets: sharing, pins: ".*=d0", profile: true},
	} {
		if n := len(opSubjects(t, s)); n < least {
			t.Errorf("%d sample cases were emitted on %q, not %d", n, s.targets, least)
		}
		if testing.Short() {
			break
		}
	}
}
