package runtime

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// invoke runs the command line of p in this process.
func invoke(p *Program, args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	status = run(context.Background(), p, append([]string{"/bin/toy"}, args...), &o, &e)
	return status, o.String(), e.String()
}

// hello is a toy that answers the prompt "a" (2 tokens: <s> and a) with "héc" in five
// tokens and an end.
func hello(t testing.TB) *Program { return script(t, 2, 13, 3, 4, 8, 2) }

func TestTextIsPrintedTokenByToken(t *testing.T) {
	status, out, errs := invoke(hello(t), "--prompt", "a", "--threads", "1")
	if status != 0 || out != "héc" {
		t.Errorf("status %d, output %q", status, out)
	}
	if !strings.HasPrefix(errs, "toy: prompt 2 tokens, ") || !strings.Contains(errs, "generated 5 tokens") {
		t.Errorf("summary %q", errs)
	}
}

func TestJSONLines(t *testing.T) {
	status, out, errs := invoke(hello(t), "--prompt", "a", "--json", "--threads=1")
	lines := strings.Split(out, "\n")
	want := []string{`{"id":13,"text":"h"}`, `{"id":3,"text":""}`, `{"id":4,"text":"é"}`, `{"id":8,"text":"c"}`, `{"id":2,"text":""}`}
	if status != 0 || errs != "" || len(lines) != 7 || strings.Join(lines[:5], "\n") != strings.Join(want, "\n") {
		t.Fatalf("status %d, errors %q:\n%s", status, errs, out)
	}
	var last struct {
		Summary map[string]any `json:"summary"`
	}
	if err := json.Unmarshal([]byte(lines[5]), &last); err != nil {
		t.Fatalf("%v: %s", err, lines[5])
	}
	if s := last.Summary; s["prompt_tokens"] != 2. || s["generated"] != 5. || s["finish"] != "end" || s["seed"] != nil {
		t.Errorf("%v", last.Summary)
	}
	for _, key := range []string{"prefill_tok_s", "decode_tok_s", "load_ms"} {
		if x, ok := last.Summary[key].(float64); !ok || x <= 0 {
			t.Errorf("%s is %v", key, last.Summary[key])
		}
	}
}

func TestLogitsAreThoseOfTheChoice(t *testing.T) {
	_, out, _ := invoke(hello(t), "--prompt", "a", "--json", "--logits", "-n", "2")
	var line struct {
		ID     int
		Logits []float32
	}
	if err := json.Unmarshal([]byte(strings.Split(out, "\n")[1]), &line); err != nil {
		t.Fatal(err)
	}
	if len(line.Logits) != toyVocab || line.ID != 3 || line.Logits[3] != 9 || line.Logits[5] != 5./64 {
		t.Errorf("%+v", line)
	}
}

func TestGenerationStopsAtEachLimit(t *testing.T) {
	cases := []struct {
		name string
		args []string
		want string // after the script the toy generates z
	}{
		{"-n", []string{"--prompt", "a", "-n", "1"}, "h"},
		{"held bytes come out at the end", []string{"--prompt", "a", "-n", "2"}, "h\ufffd"},
		{"end ignored", []string{"--prompt", "a", "-n", "7", "--ignore-eos"}, "héczz"},
	}
	for _, c := range cases {
		if status, out, errs := invoke(hello(t), c.args...); status != 0 || out != c.want {
			t.Errorf("%s: status %d, %q, want %q (%s)", c.name, status, out, c.want, errs)
		}
	}
}

// TestSummariesGiveTheReason runs generations that end in each way.
func TestSummariesGiveTheReason(t *testing.T) {
	for args, want := range map[string]string{
		"--prompt a":                                  "until the end of the text;",
		"--prompt a -n 2":                             "until the limit of tokens;",
		"--prompt a --stop c":                         "until a stop string;",
		"--prompt a -n 100 --ignore-eos":              "until the context was full;",
		"--prompt a --json":                           `"finish":"end",`,
		"--prompt a --json -n 2":                      `"finish":"length",`,
		"--prompt a --json --stop c":                  `"finish":"stop",`,
		"--prompt a --json --temp 0.01 --seed 7 -n 1": `"finish":"length","seed":7,`,
		"--prompt a --json -n 100 --ignore-eos":       `"finish":"context",`,
	} {
		if _, out, errs := invoke(hello(t), strings.Fields(args)...); !strings.Contains(out+errs, want) {
			t.Errorf("%s: %q, no %q", args, out+errs, want)
		}
	}
}

// TestPromptsFromFiles reads a prompt from a file and from standard input, each without the newline at its end.
func TestPromptsFromFiles(t *testing.T) {
	file := writeText(t, "a\r\n")
	for _, args := range []string{"--file " + file, "--prompt -", "--file -"} {
		status, out, errs := invokeWith(hello(t), strings.NewReader("a\n"), nil, strings.Fields(args)...)
		if status != 0 || out != "héc" || !strings.HasPrefix(errs, "toy: prompt 2 tokens") {
			t.Errorf("%s: status %d, %q, %q", args, status, out, errs)
		}
	}
	if status, _, errs := invoke(hello(t), "--file", "none"); status != 1 || !strings.Contains(errs, "toy: none: no such file") {
		t.Errorf("status %d, %q", status, errs)
	}
	p := script(t, 5, 13, 3, 4, 8, 2)
	p.ChatTemplates = chatJSON
	if status, out, errs := invokeWith(p, strings.NewReader(""), nil, "--chat", "--file", writeText(t, "hi\n")); status != 0 || out != "héc\n" {
		t.Errorf("a first message: status %d, %q, %q", status, out, errs)
	}
}

func TestContextFullIsAnError(t *testing.T) {
	status, out, errs := invoke(hello(t), "--prompt", "a", "-n", "100", "--ignore-eos", "--json")
	if status != 1 || !strings.Contains(errs, `"message":"the context is full: 64 positions`) {
		t.Errorf("status %d, %s", status, errs)
	}
	// 64 positions without 2 of the prompt, and the last token, which needs no position.
	if !strings.Contains(out, `"generated":63`) {
		t.Errorf("no summary with 63 tokens:\n%s", out[max(0, len(out)-200):])
	}
	if status, _, errs := invoke(hello(t), "--prompt", "a", "--ignore-eos"); status != 0 {
		t.Errorf("without -n: status %d, %s", status, errs)
	}
}

func TestTokensAreTakenAsTheyAre(t *testing.T) {
	p := script(t, 2, 13, 2)
	p.Tokenizer = ""
	status, out, _ := invoke(p, "--tokens", "7, 8", "-n", "2")
	if status != 0 || out != "13\n2\n" {
		t.Errorf("status %d, %q", status, out)
	}
}

func TestUsageErrors(t *testing.T) {
	plain := script(t, 3)
	plain.LM = nil
	silent := script(t, 3)
	silent.Tokenizer = ""
	cases := []struct {
		p    *Program
		args string
		want string
	}{
		{hello(t), "", "nothing to continue from: give --prompt TEXT, --file FILE or --tokens"},
		{hello(t), "--prompt a --tokens 1", "give one of them"},
		{hello(t), "--foo", "unknown flag --foo: -h lists the flags"},
		{hello(t), "--prompt", "--prompt needs a value: --prompt TEXT"},
		{hello(t), "--prompt a --threads -1", "--threads -1: it must be a whole number, at least 0"},
		{hello(t), "--prompt a --threads x", "--threads x: it must be a whole number"},
		{hello(t), "--prompt a -n 0", "-n 0: it must be a whole number, at least 1"},
		{hello(t), "--prompt a --json=1", "--json takes no value"},
		{hello(t), "--prompt a b", `unexpected argument "b"`},
		{hello(t), "--prompt a --temp -1", "temperature -1: it must be 0"},
		{hello(t), "--prompt a --temp nan", "--temp nan: it must be a number"},
		{hello(t), "--prompt a --top-p 2", "top-p 2: it must be between 0 and 1"},
		{hello(t), "--prompt a --seed -1", "--seed -1: it must be a whole number"},
		{hello(t), "--prompt a --logits", "--logits: give --json with it"},
		{hello(t), "--prompt a --file b", "--prompt and --file: give one of them"},
		{hello(t), "--prompts x --logits", "--logits: give --json with it"},
		{talker(t), "--chat --logits", "--logits is for --prompt, --tokens and --prompts, with --json, not for --chat"},
		{talker(t), "--chat --logits --json", "--logits is for --prompt, --tokens and --prompts, with --json, not for --chat"},
		{talker(t), "--chat --prompt -", "--chat reads messages from standard input"},
		{talker(t), "--chat --prompts x", "--prompts and --chat: give one of them"},
		{hello(t), "--tokens=", `--tokens= "": it must be whole numbers with commas`},
		{hello(t), "logits --tokens=", `--tokens= "": it must be whole numbers with commas`},
		{hello(t), "help what", `there is no command "what": toy help lists the commands`},
		{toyProgram(), "bench -p 50 -n 10 -d 20", "-p 50: after 20 positions the context of 64 has room for 44 tokens"},
		{toyProgram(), "bench -p 10 -n 50 -d 20", "-n 50: after 20 positions the context of 64 has room for 44 tokens"},
		{hello(t), "--tokens 1,x", `"x" is no token id`},
		{hello(t), "--tokens 99", "token 0 is 99: ids are 0 to 31"},
		{silent, "--prompt a", "has no tokenizer: give --tokens"},
		{plain, "--prompt a", "does not generate text: toy call"},
		{plain, "bench", "is no language model"},
		{toyProgram(), "bench -d 100000", "-d 100000: nothing can be measured"},
		{toyProgram(), "bench -d 3,100000", "-d 100000: nothing can be measured"},
		{toyProgram(), "bench -p 16,0", "-p 16,0: write whole numbers, at least 1, with commas between them"},
		{toyProgram(), "bench -p 16,", "-p 16,: write whole numbers"},
		{hello(t), "plan x", `unexpected argument "x"`},
		{hello(t), "--threads 1 verify", "verify comes after flags: write the command first"},
		{hello(t), "call", "call which function? There are:"},
		{hello(t), "call nothing -o d", `no function "nothing": there are:`},
		{hello(t), "call nothing", `no function "nothing": there are:`},
		{hello(t), "call decode", "-o DIR is missing"},
		{hello(t), "call decode -o -", "-o -: the outputs are files of their own"},
		{hello(t), "call decode -o d x=y tokens", `decode has no input "x": it takes tokens, pos`},
		{hello(t), "call decode -o d x=y tokens", `"tokens": inputs are given as name=file.npy`},
		{hello(t), "call decode -o d", "input pos of decode is missing"},
	}
	for _, c := range cases {
		status, out, errs := invoke(c.p, strings.Fields(c.args)...)
		line := strings.HasPrefix(errs, "toy: ") != strings.Contains(c.args+" ", "--json ") // or an object
		if status != exitUsage || !line || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%q: status %d, output %q, errors %q, want %q", c.args, status, out, errs, c.want)
		}
	}
}

func TestHelpListsCommandsAndFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-h":              "toy: toy, compiled by ggmlc test\n\n  toy --prompt TEXT",
		"--help":          "--ignore-eos ",
		"bench -h":        "-r REPEATS",
		"call -h":         "tokens: i32 [tokens]",
		"version -h":      "toy version",
		"help":            "toy: toy, compiled by ggmlc test\n\n  toy --prompt TEXT",
		"help bench":      "-r REPEATS",
		"help help":       "toy: toy, compiled by ggmlc test\n\n  toy --prompt TEXT",
		"--version":       "toy\ncompiler ggmlc test\nplan 0123456789abcdef\n",
		"bench --version": "compiler ggmlc test",
	} {
		status, out, errs := invoke(hello(t), strings.Fields(args)...)
		if status != 0 || errs != "" || !strings.Contains(out, want) {
			t.Errorf("%s: status %d, %q, no %q in:\n%s", args, status, errs, want, out)
		}
	}
}

func TestPlanVerifyAndVersionPrintWhatWasEmitted(t *testing.T) {
	p := hello(t)
	for args, want := range map[string]string{
		"plan":        "split 0 @cpu\n",
		"plan --json": "{\"splits\":1}\n",
		"verify":      "ok: 32 bytes of weights, sha256 " + p.Weights.SHA256 + "\n",
	} {
		if status, out, errs := invoke(p, strings.Fields(args)...); status != 0 || out != want || errs != "" {
			t.Errorf("%s: status %d, %q, %q", args, status, out, errs)
		}
	}
	if status, out, _ := invoke(p, "version"); status != 0 || !strings.HasPrefix(out, "toy\ncompiler ggmlc test\nplan 0123456789abcdef\n") {
		t.Errorf("version: status %d, %q", status, out)
	}
	p.Weights.SHA256 = strings.Repeat("0", 64)
	if status, _, errs := invoke(p, "verify"); status != 1 || !strings.Contains(errs, "was compiled with 0000") {
		t.Errorf("verify of wrong weights: status %d, %q", status, errs)
	}
}

// TestVerifyNamesWeightsThatAreNotFinite has NaN and infinite numbers of each type.
func TestVerifyNamesWeightsThatAreNotFinite(t *testing.T) {
	p := hello(t)
	b := []byte("\x00\x00\x80\x3f\x00\x00\xc0\x7f\x00\x00\x80\xff\x00\x00\x80\x7f" + // f32: 1, NaN and two infinities
		"\x00\x7c\x01\xfc\xff\x7b\x00\x3c" + // f16: infinity, NaN, 65504, 1
		"\x80\x7f\x81\xff\x7f\x7f\x80\x3f") // bf16: infinity, NaN, the largest, 1
	sum := sha256.Sum256(b)
	p.Weights = WeightsInfo{Size: int64(len(b)), SHA256: hex.EncodeToString(sum[:]), Embedded: string(b), Floats: []Floats{
		{"fine", dtype.F32, 0, 4}, {"single", dtype.F32, 0, 16}, {"half", dtype.F16, 16, 8}, {"brain", dtype.BF16, 24, 8},
	}}
	status, out, errs := invoke(p, "verify")
	if want := "single has 3, half has 2, brain has 2: take another file"; status != 1 || out != "" || !strings.Contains(errs, want) || strings.Contains(errs, "fine") {
		t.Errorf("status %d, %q, %q, want %q", status, out, errs, want)
	}
	p.Weights.Floats = p.Weights.Floats[:1]
	if status, out, errs := invoke(p, "verify"); status != 0 || !strings.HasPrefix(out, "ok: 32 bytes") {
		t.Errorf("finite numbers: status %d, %q, %q", status, out, errs)
	}
}

func TestThreadsAreLimitedAndReported(t *testing.T) {
	procs(t, 2)
	status, out, errs := invoke(hello(t), "--prompt", "a", "--threads", "5")
	if status != 0 || out != "héc" || !strings.Contains(errs, "--threads 5: cut to 2: there are 2 processors (GOMAXPROCS)") {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}

// TestThreadsAreLimitedByThePlan: no more workers run than the plan is proved for, even by default.
func TestThreadsAreLimitedByThePlan(t *testing.T) {
	procs(t, 4)
	for most := 1; most <= 3; most++ {
		p := hello(t)
		p.MaxThreads = most
		status, out, errs := invoke(p, "--prompt", "a", "--threads", "8")
		said := fmt.Sprintf("--threads 8: cut to %d: there are 4 processors (GOMAXPROCS), and the plan is for at most %s\n", most, threadsText(most))
		if status != 0 || out != "héc" || !strings.Contains(errs, said) || !strings.Contains(errs, fmt.Sprintf("; threads %d\n", most)) {
			t.Errorf("status %d, %q, %q", status, out, errs)
		}
		for _, wanted := range []int{0, most, most + 1, MaxThreads} {
			if m, _ := openProgram(t, p, Options{Threads: wanted}); m.Threads() > most || wanted > 0 && m.Threads() != most {
				t.Errorf("a plan for %d workers, %d wanted: %d run", most, wanted, m.Threads())
			}
		}
	}
}

// TestThreadsZeroIsTheDefault passes the default explicitly.
func TestThreadsZeroIsTheDefault(t *testing.T) {
	procs(t, 2)
	_, _, usual := invoke(hello(t), "--prompt", "a")
	status, out, errs := invoke(hello(t), "--prompt", "a", "--threads", "0")
	_, want, _ := strings.Cut(usual, "; threads ")
	if _, got, found := strings.Cut(errs, "; threads "); status != 0 || out != "héc" || !found || got != want {
		t.Errorf("status %d, %q, %q; without the flag %q", status, out, errs, usual)
	}
}

func TestSeedRepeats(t *testing.T) {
	args := []string{"--prompt", "a", "--temp", "1.5", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--seed", "7", "-n", "30", "--ignore-eos"}
	_, first, errs := invoke(script(t, 3), args...)
	_, second, _ := invoke(script(t, 3), args...)
	if first != second || len(first) < 20 || !strings.Contains(errs, "; seed 7\n") {
		t.Errorf("%q and %q; %s", first, second, errs)
	}
	args[len(args)-4] = "8"
	if _, third, _ := invoke(script(t, 3), args...); third == first {
		t.Errorf("another seed gives the same text")
	}
}

func TestBrokenOutputIsAnError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("skip: no /dev/full")
	}
	defer full.Close()
	var errs bytes.Buffer
	status := run(context.Background(), hello(t), []string{"toy", "--prompt", "a"}, full, &errs)
	if status != 1 || !strings.Contains(errs.String(), "no space left") {
		t.Errorf("status %d, %s", status, &errs)
	}
}

func TestInterruptStopsWithASummary(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p := hello(t)
	inner := p.Funcs[1].Run
	p.Funcs[1].Run = func(w *Worker, a *Args) {
		if a.Dims[1] == 5 && w.Part == 0 {
			cancel()
		}
		inner(w, a)
	}
	var out, errs bytes.Buffer
	status := run(ctx, p, []string{"toy", "--prompt", "a", "--json"}, &out, &errs)
	if status != exitFailed || !strings.Contains(out.String(), `"generated":4`) || !strings.Contains(errs.String(), `{"code":"interrupted","message":"cancelled: `) {
		t.Errorf("status %d, %q, %q", status, &out, &errs)
	}
}

func TestBenchReportsAllRates(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: measures the machine")
	}
	status, out, errs := invoke(toyProgram(), "bench", "-p", "20", "-n", "5", "-d", "3", "-r", "1", "--json", "--threads", "2")
	var got map[string]float64
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 || errs != "" && goruntime.GOMAXPROCS(0) > 1 {
		t.Fatalf("%v, status %d, %s\n%s", err, status, errs, out)
	}
	for _, key := range []string{"prefill_tok_s", "decode_tok_s", "peak_gop_s", "read_gb_s"} {
		if got[key] <= 0 {
			t.Errorf("%s is %v", key, got[key])
		}
	}
	if _, ok := got["prefill_share"]; !ok || len(got) != 6 {
		t.Errorf("members %v", got)
	}
	t.Log(out)
}

// TestBenchTakesTurns has lengths and depths that do not divide each other.
func TestBenchTakesTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: measures the machine")
	}
	args := []string{"bench", "-p", "5,20", "-n", "5", "-d", "3,1,40", "-r", "2", "--threads", "1"}
	status, out, errs := invoke(toyProgram(), append(args, "--json")...)
	type contender struct {
		Tokens, Depth                         int
		Tok_s, Ratio, Ratio_least, Ratio_most float64
	}
	var got struct {
		Prefill_tok_s   float64
		Decode_tok_s    float64
		Prompts, Depths []contender
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 || len(got.Prompts) != 2 || len(got.Depths) != 3 {
		t.Fatalf("%v, status %d, %s\n%s", err, status, errs, out)
	}
	if p, d := got.Prompts, got.Depths; p[0].Tokens != 5 || p[1].Tokens != 20 || d[0].Depth != 3 || d[1].Depth != 1 || d[2].Depth != 40 {
		t.Errorf("%+v: other lengths and depths than were asked for", got)
	}
	if got.Prompts[0].Tok_s != got.Prefill_tok_s || got.Depths[0].Tok_s != got.Decode_tok_s || got.Depths[0].Ratio != 1 {
		t.Errorf("%+v: the first length and depth are not those that stand alone", got)
	}
	for _, c := range append(got.Prompts, got.Depths...) {
		if c.Tok_s <= 0 || c.Ratio_least <= 0 || c.Ratio < c.Ratio_least || c.Ratio > c.Ratio_most {
			t.Errorf("%+v: no rate, or a median beside its extremes", c)
		}
	}
	status, out, _ = invoke(toyProgram(), args...)
	if lines := strings.Split(out, "\n"); status != 0 || len(lines) != 8 || !strings.Contains(lines[2], "of the rate of 5 tokens") || !strings.Contains(lines[5], ", after 40, ") {
		t.Errorf("status %d, text\n%s", status, out)
	}
}

// TestBenchPromptsRunWholeAndInTurns records the steps of prompts that take turns: steps of 8 tokens, with the
// shorter prompt repeated, each of them whole, starting at the depth.
func TestBenchPromptsRunWholeAndInTurns(t *testing.T) {
	p := toyProgram()
	var steps []string
	inner := p.Funcs[p.LM.Prefill.Func].Run
	p.Funcs[p.LM.Prefill.Func].Run = func(w *Worker, a *Args) {
		steps = append(steps, fmt.Sprint(a.Dims[1]-a.Dims[0], "+", a.Dims[0]))
		inner(w, a)
	}
	m, err := Open(p, Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	b := &benchCommand{cli: &cli{program: p}, prompts: []int{12, 20}, depths: []int{3}}
	at, _, err := b.sessions(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := b.promptOnce(t.Context(), at)
	want := "0+3 0+3 3+8 3+8 11+4 11+8 3+8 19+4 11+4"
	if got := strings.Join(steps, " "); err != nil || got != want {
		t.Errorf("steps %s, want %s (%v)", got, want, err)
	}
	if sums[0].tokens != 24 || sums[1].tokens != 20 {
		t.Errorf("%d and %d tokens, want 24 and 20", sums[0].tokens, sums[1].tokens)
	}

	// The first length is the longest, and is done before the others have begun.
	b.prompts = []int{8, 3, 8}
	if at, _, err = b.sessions(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	steps = nil
	if _, err = b.promptOnce(t.Context(), at); err != nil || strings.Join(steps, " ") != "3+8 3+3 3+8" {
		t.Errorf("steps %v (%v), want each length once", steps, err)
	}
}

func TestProfileWritesATrace(t *testing.T) {
	p := hello(t)
	p.Profile = NewProfile("step")
	inner := p.Funcs[1].Run
	p.Funcs[1].Run = func(w *Worker, a *Args) {
		w.Mark(0)
		inner(w, a)
		w.Mark(MarkEnd)
	}
	file := filepath.Join(t.TempDir(), "trace.json")
	if status, _, errs := invoke(p, "--prompt", "a", "--profile", file, "--threads", "1"); status != 0 {
		t.Fatalf("status %d, %s", status, errs)
	}
	b, _ := os.ReadFile(file)
	var events []struct {
		Name string
		Ph   string
		Ts   float64
	}
	if err := json.Unmarshal(b, &events); err != nil || len(events) != 4 || events[0].Name != "step" || events[0].Ph != "X" {
		t.Errorf("%v: %s", err, b)
	}
	if status, _, _ := invoke(hello(t), "--prompt", "a", "--profile", file); status != exitUsage {
		t.Error("--profile is accepted by a program without a profile")
	}
}

// TestTracesAreOpenedAtStart has files that cannot be written, and programs that fail before they write.
func TestTracesAreOpenedAtStart(t *testing.T) {
	dir := t.TempDir()
	ran := false
	p := hello(t)
	p.Profile = NewProfile("step")
	inner := p.Funcs[1].Run
	p.Funcs[1].Run = func(w *Worker, a *Args) {
		if w.Part == 0 {
			ran = true
		}
		inner(w, a)
	}
	missing := filepath.Join(dir, "none", "trace.json")
	if status, out, errs := invoke(p, "--prompt", "a", "--profile", missing); status != exitFailed || out != "" || ran || !strings.Contains(errs, missing) {
		t.Errorf("status %d, output %q, a step ran: %v, errors %q", status, out, ran, errs)
	}
	made, old := filepath.Join(dir, "made.json"), filepath.Join(dir, "old.json")
	if err := os.WriteFile(old, []byte("what was there before and is longer than a trace of one step can be "+strings.Repeat("x", 10000)), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{made, old} {
		if status, _, errs := invoke(p, "--prompt", "a", "--profile", file, "--weights", missing); status != exitFailed {
			t.Errorf("status %d, errors %q", status, errs)
		}
	}
	if _, err := os.Stat(made); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that did not start leaves %s: %v", made, err)
	}
	if b, err := os.ReadFile(old); err != nil || !strings.HasPrefix(string(b), "what was") {
		t.Errorf("a program that did not start changes the old file: %q, %v", b, err)
	}
	if status, _, errs := invoke(p, "--prompt", "a", "--profile", old); status != 0 {
		t.Errorf("status %d, errors %q", status, errs)
	}
	if b, err := os.ReadFile(old); err != nil || !json.Valid(b) {
		t.Errorf("the old file is not replaced: %q, %v", b, err)
	}
}

func TestInternalErrorIsStatus4(t *testing.T) {
	p := hello(t)
	p.ScratchBytes = 3
	if status, _, errs := invoke(p, "--prompt", "a"); status != exitBug || !strings.Contains(errs, "internal error") {
		t.Errorf("status %d, %s", status, errs)
	}
	p = hello(t)
	p.Funcs[0].Run = func(*Worker, *Args) { panic("broken kernel") }
	if status, _, errs := invoke(p, "--prompt", "a"); status != exitBug || !strings.Contains(errs, "broken kernel: this is a bug of ggmlc") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// lost is the value of a fault that the program is not the reason of.
type lost struct{}

func (lost) Surroundings() bool { return true }

func TestExitStatusFollowsTheError(t *testing.T) {
	c := &cli{name: "toy", err: new(bytes.Buffer)}
	for err, want := range map[error]int{
		usagef("x"):                               exitUsage,
		errors.Join(errors.New("a"), usagef("")):  exitUsage,
		&ContextError{}:                           exitFailed,
		&WeightsError{}:                           exitFailed,
		&FaultError{Weights: "file"}:              exitFailed,
		&FaultError{}:                             exitBug,
		&FaultError{Device: "gpu", Value: lost{}}: exitFailed,
	} {
		if got := c.exit(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}

// TestNamesDoNotReachTheTerminal prints names that would clear the screen, and checks that they are escaped.
func TestNamesDoNotReachTheTerminal(t *testing.T) {
	const evil = "a\x1b[2J\u202e\nb"
	p := hello(t)
	p.Name, p.Compiler = evil, evil
	for i := range p.Funcs {
		p.Funcs[i].Name += evil
		p.Funcs[i].Outputs[0].Name += evil
	}
	p.LM = nil
	for _, args := range []string{"--help", "version", "call --help", "call", "call x -o d", "call decode" + evil + " -o d", "--prompt x", "bench"} {
		_, out, errs := invoke(p, strings.Split(args, " ")...)
		if text := out + errs; strings.ContainsAny(text, "\x1b\u202e") || !strings.Contains(text, `a\x1b[2J\u202e`) {
			t.Errorf("%s prints %q", args, text)
		}
	}
	if _, out, _ := invoke(p, "call", "--help"); !strings.Contains(out, `  decodea\x1b[2J\u202e\nb`+"\n") {
		t.Errorf("a name is not one line: %q", out)
	}
}
