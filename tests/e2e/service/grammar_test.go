package service

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/runtime/grammar"
	"github.com/ggmlc/ggmlc/runtime/grammar/jsonschema"
	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// personSchema has strings, numbers and choices, and finitely many states.
const personSchema = `{"type":"object","properties":{"name":{"type":"string","maxLength":8},"age":{"type":"integer","minimum":0,"maximum":150},
"kind":{"enum":["cat","dog"]},"ok":{"type":"boolean"}},"required":["name","age","kind"]}`

// TestProgramsFollowTheGrammarOfTheBuild builds a program with a schema. Its output is JSON of the schema. A program
// that gets the same grammar when it runs has the same output.
func TestProgramsFollowTheGrammarOfTheBuild(t *testing.T) {
	dir := t.TempDir()
	schema, text := filepath.Join(dir, "s.json"), filepath.Join(dir, "g.gbnf")
	gbnf, _, err := jsonschema.Grammar(personSchema)
	if err := errors.Join(err, os.WriteFile(schema, []byte(personSchema), 0o666), os.WriteFile(text, []byte(gbnf), 0o666)); err != nil {
		t.Fatal(err)
	}
	table, plain := e2etest.Build(t, e2etest.Demo(t), "--json-schema", schema), e2etest.Build(t, e2etest.Demo(t))
	for seed := range 5 {
		flags := []string{"--prompt", "Tell me", "--temp", "1", "-n", "200", "--seed", string(rune('0' + seed))}
		said := e2etest.Command{Args: append([]string{table}, flags...)}.Run(t)
		if same := (e2etest.Command{Args: append([]string{plain, "--grammar", text}, flags...)}).Run(t); string(said) != string(same) {
			t.Errorf("seed %d: %q with the table, %q without", seed, said, same)
		}
		var person struct {
			Name, Kind *string
			Age        *int
		}
		if err := json.Unmarshal(said, &person); err != nil || person.Name == nil || person.Kind == nil || person.Age == nil || *person.Age > 150 {
			t.Errorf("seed %d: %q: %v", seed, said, err)
		}
	}
}

// TestTablesOfRealVocabularies compares the masks of tables with those of matchers on random texts of tokens.
func TestTablesOfRealVocabularies(t *testing.T) {
	gbnf, _, err := jsonschema.Grammar(personSchema)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"llama-spm", "gpt-2"} {
		v := vocabOf(t, needtest.Data(t, "vocab/ggml-vocab-"+name+".gguf"))
		g, err := grammar.Compile(gbnf)
		if err != nil {
			t.Fatal(err)
		}
		pieces := grammar.NewVocab(v)
		data, err := g.Tabulate(pieces)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		table, err := grammar.LoadTable(string(data), v)
		if err != nil {
			t.Fatal(err)
		}
		states, sets := table.States()
		t.Logf("%s: %d bytes, %d states, %d sets", name, len(data), states, sets)
		r := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			matcher, err := g.Match(pieces)
			if err != nil {
				t.Fatal(err)
			}
			sameWalks(t, matcher, table.Match(), r, v.Size())
		}
	}
}

// sameWalks follows one random text until it ends.
func sameWalks(t *testing.T, matcher *grammar.Matcher, walker *grammar.Walker, r *rand.Rand, ids int) {
	t.Helper()
	for range 30 {
		a, b := make([]float32, ids), make([]float32, ids)
		errA, errB := matcher.Limit(a), walker.Limit(b)
		if !errors.Is(errA, errB) || !slices.Equal(a, b) {
			t.Fatalf("masks differ: %v, %v", errA, errB)
		}
		var allowed []int32
		for id, x := range a {
			if !math.IsInf(float64(x), -1) {
				allowed = append(allowed, int32(id))
			}
		}
		if len(allowed) == 0 {
			return
		}
		id := allowed[r.IntN(len(allowed))]
		if err := errors.Join(matcher.Accept(id), walker.Accept(id)); err != nil {
			t.Fatal(err)
		}
	}
}
