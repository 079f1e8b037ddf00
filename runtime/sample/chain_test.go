package sample

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// direct computes the distribution of the next token as the papers and llama.cpp's documentation define it: each filter
// is a function of a list of tokens in descending order, with probabilities in float64.
type direct struct {
	o      Options
	recent []int32
	ids    []int32
	logit  map[int32]float64
}

func newDirect(o Options, logits []float32, recent []int32) *direct {
	d := &direct{o: o, recent: recent, logit: make(map[int32]float64)}
	for id, l := range logits {
		d.ids = append(d.ids, int32(id))
		d.logit[int32(id)] = float64(l)
	}
	for _, b := range o.Bias {
		d.logit[b.Token] += float64(b.Add)
	}
	return d
}

func (d *direct) sort() {
	slices.SortFunc(d.ids, func(a, b int32) int { return cmp.Or(cmp.Compare(d.logit[b], d.logit[a]), cmp.Compare(a, b)) })
}

// shares returns the probabilities of d.ids at a temperature.
func (d *direct) shares(temperature float64) []float64 {
	best := math.Inf(-1)
	for _, id := range d.ids {
		best = max(best, d.logit[id])
	}
	p, total := make([]float64, len(d.ids)), 0.0
	for i, id := range d.ids {
		p[i] = math.Exp((d.logit[id] - best) / temperature)
		total += p[i]
	}
	for i := range p {
		p[i] /= total
	}
	return p
}

func entropyOf(p []float64) float64 {
	sum := 0.0
	for _, x := range p {
		if x > 0 {
			sum -= x * math.Log(x)
		}
	}
	return sum
}

func (d *direct) penalties() {
	last := d.recent[max(0, len(d.recent)-d.o.RepeatLast):]
	counts := make(map[int32]float64)
	for _, id := range last {
		counts[id]++
	}
	for id, n := range counts {
		l := d.logit[id]
		if l > 0 {
			l /= float64(d.o.RepeatPenalty)
		} else {
			l *= float64(d.o.RepeatPenalty)
		}
		d.logit[id] = l - n*float64(d.o.FrequencyPenalty) - float64(d.o.PresencePenalty)
	}
}

// dry looks for every token t at the longest suffix of the text that is followed by t somewhere in the text, by trying
// all places and lengths.
func (d *direct) dry() {
	text := d.recent[max(0, len(d.recent)-d.o.DRY.Last):]
	limit := len(text) - d.lastBreaker(text)
	longest := make(map[int32]int)
	for at := 1; at < len(text); at++ { // text[at] is the token that follows
		n := 0
		for n < limit && n < at && text[at-1-n] == text[len(text)-1-n] {
			n++
		}
		longest[text[at]] = max(longest[text[at]], n)
	}
	for id, n := range longest {
		if n >= d.o.DRY.Allowed && !slices.ContainsFunc(d.o.DRY.Breakers, func(b Breaker) bool { return b.Head == id && b.Tail == nil }) {
			d.logit[id] -= float64(d.o.DRY.Multiplier) * math.Pow(float64(d.o.DRY.Base), float64(n-d.o.DRY.Allowed))
		}
	}
}

// lastBreaker returns the index after the last breaker in the text: that whose head is last, and of those with the same
// head the longest.
func (d *direct) lastBreaker(text []int32) int {
	for at := len(text) - 1; at >= 0; at-- {
		end := 0
		for _, b := range d.o.DRY.Breakers {
			whole := append([]int32{b.Head}, b.Tail...)
			if at+len(whole) <= len(text) && slices.Equal(text[at:at+len(whole)], whole) {
				end = max(end, at+len(whole))
			}
		}
		if end > 0 {
			return end
		}
	}
	return 0
}

func (d *direct) topNSigma() {
	mean, n := 0.0, 0.0
	for _, id := range d.ids {
		if !math.IsInf(d.logit[id], -1) {
			mean, n = mean+d.logit[id], n+1
		}
	}
	mean /= n
	variance := 0.0
	for _, id := range d.ids {
		if !math.IsInf(d.logit[id], -1) {
			variance += (d.logit[id] - mean) * (d.logit[id] - mean) / n
		}
	}
	d.sort()
	least := d.logit[d.ids[0]] - float64(d.o.TopNSigma)*math.Sqrt(variance)
	d.ids = slices.DeleteFunc(d.ids, func(id int32) bool { return d.logit[id] < least-1e-6 })
}

func (d *direct) typical() {
	d.sort()
	p := d.shares(1)
	h := entropyOf(p)
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(math.Abs(-math.Log(p[a])-h), math.Abs(-math.Log(p[b])-h))
	})
	var kept []int32
	for sum, i := 0.0, 0; i < len(order) && sum <= float64(d.o.Typical); i++ {
		kept = append(kept, d.ids[order[i]])
		sum += p[order[i]]
	}
	d.ids = kept
}

func (d *direct) topP() {
	d.sort()
	sum, n := 0.0, 0
	for p := d.shares(1); n < len(p) && (n == 0 || sum < float64(d.o.TopP)); n++ {
		sum += p[n]
	}
	d.ids = d.ids[:n]
}

// xtc drops candidates as if the draw of the probability had succeeded.
func (d *direct) xtc() {
	d.sort()
	n := 0
	for _, p := range d.shares(1) {
		if p >= float64(d.o.XTCThreshold) {
			n++
		}
	}
	d.ids = d.ids[max(0, n-1):]
}

func (d *direct) heat() float64 {
	t, r := float64(d.o.Temperature), float64(d.o.DynamicRange)
	if r == 0 || len(d.ids) < 2 {
		return t
	}
	share := entropyOf(d.shares(1)) / math.Log(float64(len(d.ids)))
	low := max(0, t-r)
	return low + (t+r-low)*math.Pow(share, float64(d.o.DynamicExponent))
}

// run applies all stages and returns the probabilities by token. With xtc, its draw succeeds.
func (d *direct) run() map[int32]float64 {
	d.penalties()
	if d.o.DRY.Multiplier != 0 {
		d.dry()
	}
	if d.o.TopNSigma != 0 {
		d.topNSigma()
	}
	d.sort()
	if d.o.TopK > 0 {
		d.ids = d.ids[:min(len(d.ids), d.o.TopK)]
	}
	if d.o.Typical != 1 {
		d.typical()
	}
	if d.o.TopP != 1 {
		d.topP()
	}
	d.sort()
	best := d.logit[d.ids[0]]
	d.ids = slices.DeleteFunc(d.ids, func(id int32) bool {
		return math.Exp(d.logit[id]-best) < float64(d.o.MinP)*(1-1e-6)
	})
	if d.o.XTCProbability > 0 {
		d.xtc()
	}
	shares := make(map[int32]float64)
	for i, p := range d.shares(d.heat()) {
		shares[d.ids[i]] = p
	}
	return shares
}

// recentText returns tokens that repeat parts of themselves.
func recentText(n, vocab int, seed uint64) []int32 {
	r := rand.New(rand.NewPCG(seed, 7))
	var text []int32
	for len(text) < n {
		if at := r.IntN(len(text) + 1); len(text) > 4 && r.IntN(2) == 0 {
			text = append(text, text[at:min(len(text), at+1+r.IntN(6))]...)
			continue
		}
		text = append(text, int32(r.IntN(vocab)))
	}
	return text[:n]
}

var chains = map[string]Options{
	"frequency":   {FrequencyPenalty: 0.7, RepeatLast: 30},
	"presence":    {PresencePenalty: 1.5},
	"penalties":   {RepeatPenalty: 1.3, FrequencyPenalty: -0.2, PresencePenalty: 0.5},
	"bias":        {Bias: []Bias{{3, 4}, {5, float32(math.Inf(-1))}, {3, 1}}},
	"dry":         {DRY: DRY{Multiplier: 0.8}},
	"dry, broken": {DRY: DRY{Multiplier: 2, Base: 1.2, Allowed: 1, Last: 50, Breakers: []Breaker{{Head: 3}, {Head: 4, Tail: []int32{5}}, {Head: 4, Tail: []int32{5, 6}}}}},
	"dry, short":  {RepeatPenalty: 1.2, RepeatLast: 70, DRY: DRY{Multiplier: 1, Last: 20}},
	"n-sigma":     {TopNSigma: 1},
	"typical":     {Typical: 0.7},
	"typical, k":  {Typical: 0.95, TopK: 20},
	"dynamic":     {DynamicRange: 0.5, DynamicExponent: 1.7},
	"xtc":         {XTCProbability: 1, XTCThreshold: 0.05},
	"xtc, none":   {XTCProbability: 1, XTCThreshold: 0.9},
	"all": {
		RepeatPenalty: 1.1, FrequencyPenalty: 0.1, DRY: DRY{Multiplier: 0.5}, TopNSigma: 2, TopK: 30, Typical: 0.99, TopP: 0.95, MinP: 0.01,
		XTCProbability: 1, DynamicRange: 0.3, Bias: []Bias{{1, 2}},
	},
}

func TestEachStageKeepsWhatItsDefinitionKeeps(t *testing.T) {
	for name, o := range chains {
		t.Run(name, func(t *testing.T) { checkStages(t, filled(o)) })
	}
}

// checkStages compares the candidates that a sampler leaves, and their shares, with the definition.
func checkStages(t *testing.T, o Options) {
	o.Temperature = 0.8
	for seed := range uint64(50) {
		l := logits(60, seed)
		s, err := New(o, len(l))
		if err != nil {
			t.Fatal(err)
		}
		text := recentText(80, 9, seed)
		s.Accept(text...)
		id := next(t, s, l)
		want := newDirect(o, l, text).run()
		got := make(map[int32]float64)
		total, heat, best := 0.0, s.temperature(), s.best().logit
		for _, c := range s.top {
			got[c.id] = weight(c.logit, best, heat)
			total += got[c.id]
		}
		for id := range got {
			got[id] /= total
		}
		if !sameShares(got, want) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
		if want[id] == 0 {
			t.Fatalf("seed %d: token %d was drawn, which was dropped", seed, id)
		}
	}
}

// TestZeroIsZero: no default takes the place of an option that is 0.
func TestZeroIsZero(t *testing.T) {
	for name, set := range map[string]func(*Options){
		"top-p":              func(o *Options) { o.TopP = 0 },
		"top-p after top-k":  func(o *Options) { o.TopK, o.TopP = 5, 0 },
		"typical":            func(o *Options) { o.Typical = 0 },
		"xtc threshold":      func(o *Options) { o.XTCProbability, o.XTCThreshold, o.TopK = 1, 0, 7 },
		"dynamic exponent":   func(o *Options) { o.DynamicRange, o.DynamicExponent = 0.5, 0 },
		"no recent tokens":   func(o *Options) { o.RepeatPenalty, o.PresencePenalty, o.RepeatLast = 2, 3, 0 },
		"dry for all tokens": func(o *Options) { o.DRY.Multiplier, o.DRY.Allowed = 0.7, 0 },
		"dry, broken":        func(o *Options) { o.DRY.Multiplier, o.DRY.Allowed, o.DRY.Breakers = 0.7, 0, []Breaker{{Head: 3}} },
		"dry without tokens": func(o *Options) { o.DRY.Multiplier, o.DRY.Last = 0.7, 0 },
	} {
		o := Defaults()
		set(&o)
		t.Run(name, func(t *testing.T) { checkStages(t, o) })
	}
	if _, err := New(Options{}, 3); err == nil {
		t.Error("zero options, which have a repeat penalty of 0, are accepted")
	}
}

// TestZeroOfMirostatIsZero: an entropy of 0 leaves the most probable token, and a rate of 0 never changes the limit.
func TestZeroOfMirostatIsZero(t *testing.T) {
	for version := 1; version <= 2; version++ {
		o := Defaults()
		o.Temperature, o.Mirostat, o.MirostatTau = 1, version, 0
		sure, _ := New(o, 50)
		o.MirostatTau, o.MirostatEta = 3, 0
		still, _ := New(o, 50)
		for seed := range uint64(20) {
			l := logits(50, seed)
			best, _ := argmax(l)
			if id := next(t, sure, l); id != best {
				t.Errorf("version %d, entropy 0: token %d, not %d", version, id, best)
			}
			if next(t, still, l); still.mu != 6 {
				t.Errorf("version %d, rate 0: the limit is %v", version, still.mu)
			}
		}
	}
}

// TestXTCKeepsNoExcludedToken: a token without any probability does not have the threshold 0.
func TestXTCKeepsNoExcludedToken(t *testing.T) {
	o := Defaults()
	o.XTCProbability, o.XTCThreshold, o.Bias = 1, 0, []Bias{{2, float32(math.Inf(-1))}}
	s, _ := New(o, 3)
	if id := next(t, s, []float32{1, 2, 3}); id != 0 {
		t.Errorf("token %d", id)
	}
}

func sameShares(a, b map[int32]float64) bool {
	return maps.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) < 1e-5 })
}

// TestDrawsOfEachChainFollowItsDistribution draws with all filters. The counts of tokens are compared with the shares
// that the definition gives.
func TestDrawsOfEachChainFollowItsDistribution(t *testing.T) {
	const draws = 6000
	for name, o := range chains {
		o.Temperature = 0.9
		l := logits(40, 77)
		text := recentText(80, 9, 5)
		s := must(t, o, len(l))
		s.Accept(text...)
		counts := make(map[int32]float64)
		for range draws {
			counts[next(t, s, l)]++
		}
		for id, p := range newDirect(s.o, l, text).run() {
			if sd := math.Sqrt(draws*p*(1-p)) + 1; math.Abs(counts[id]-draws*p) > 5*sd {
				t.Errorf("%s: token %d drawn %v times, want %v ± %v", name, id, counts[id], draws*p, sd)
			}
		}
	}
}

func TestXTCActsWithItsProbability(t *testing.T) {
	l := []float32{3, 3, 3, 0}
	s := must(t, Options{Temperature: 0, XTCProbability: 0.3, XTCThreshold: 0.1}, len(l))
	counts := make([]float64, 4)
	const draws = 10000
	for range draws {
		counts[next(t, s, l)]++
	}
	// Tokens 0 to 2 are above the threshold. The greedy choice is 0, or 2 if XTC acts.
	if sd := math.Sqrt(draws * 0.3 * 0.7); math.Abs(counts[2]-0.3*draws) > 4*sd || counts[0]+counts[2] != draws {
		t.Errorf("chosen %v times", counts)
	}
}

// TestMirostatKeepsWhatItsDefinitionKeeps follows the state through draws.
func TestMirostatKeepsWhatItsDefinitionKeeps(t *testing.T) {
	for version := 1; version <= 2; version++ {
		o := Options{Temperature: 0.8, Mirostat: version, MirostatTau: 3, MirostatEta: 0.2, Bias: []Bias{{2, 1}}}
		s := must(t, o, 300)
		mu := 6.0
		for step := range uint64(200) {
			l := logits(300, step%7)
			d := newDirect(o, l, nil)
			d.sort()
			p := d.shares(0.8)
			n := 0
			if version == 2 {
				for n = 1; n < len(p) && -math.Log2(p[n]) <= mu; n++ {
				}
			} else {
				var num, den float64
				for i := range 99 {
					ratio := math.Log(float64(i+2)) - math.Log(float64(i+1))
					num += ratio * math.Log(p[i]/p[i+1])
					den += ratio * ratio
				}
				e := num/den - 1
				k := math.Pow(e*math.Pow(2, mu)/(1-math.Pow(300, -e)), 1/(e+1))
				n = int(min(300, max(1, k)))
			}
			d.ids = d.ids[:n]
			id := next(t, s, l)
			at := slices.Index(d.ids, id)
			if at < 0 || len(s.top) != n {
				t.Fatalf("version %d, step %d: %d of %d candidates, token %d is number %d", version, step, len(s.top), n, id, at)
			}
			mu -= 0.2 * (-math.Log2(d.shares(0.8)[at]) - 3)
		}
	}
}

func TestMirostatReachesItsEntropy(t *testing.T) {
	for version := 1; version <= 2; version++ {
		s := must(t, Options{Temperature: 1, Mirostat: version, MirostatTau: 4}, 5000)
		l, bits := logits(5000, 3), 0.0
		const draws = 3000
		for range draws {
			id := next(t, s, l)
			i := slices.IndexFunc(s.top, func(c candidate) bool { return c.id == id })
			bits += s.information(1)[i]
		}
		if mean := bits / draws; math.Abs(mean-4) > 0.2 {
			t.Errorf("version %d: %.2f bits on average, want 4", version, mean)
		}
	}
}

func TestPenaltiesOfALongRepetitionAreFinite(t *testing.T) {
	text := slices.Repeat([]int32{1}, 3000)
	s := must(t, Options{DRY: DRY{Multiplier: 1}}, 3)
	s.Accept(text...)
	if id := next(t, s, []float32{0, 30, -5}); id != 0 {
		t.Errorf("got %d", id)
	}
}

func TestNewReportsEachNewOption(t *testing.T) {
	inf := float32(math.Inf(1))
	o := Options{
		FrequencyPenalty: inf, PresencePenalty: inf, TopNSigma: -1, Typical: 2, XTCProbability: -1, XTCThreshold: 3, DynamicRange: -1,
		DynamicExponent: -1, Mirostat: 3, MirostatTau: -1, MirostatEta: 2, Bias: []Bias{{9, 0}, {-1, inf}},
		DRY: DRY{Multiplier: -1, Base: 0.5, Allowed: -1, Last: -1},
	}
	_, err := New(o, 9)
	for _, want := range []string{
		"frequency", "presence", "sigma", "typical", "xtc probability", "xtc threshold", "range", "exponent", "mirostat 3", "mirostat entropy",
		"mirostat rate", "token 9", "token -1", "dry multiplier", "dry base", "dry allowed", "dry window", "temperature above 0",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not report %q", err, want)
		}
	}
}

// TestAdjustedLogitsWithoutAChoice tells options that leave no token from logits that are damaged.
func TestAdjustedLogitsWithoutAChoice(t *testing.T) {
	inf := float32(math.Inf(1))
	none := Options{Bias: []Bias{{0, -inf}, {1, -inf}}}
	large := Options{Bias: []Bias{{0, math.MaxFloat32}, {0, math.MaxFloat32}}}
	for _, c := range []struct {
		o      Options
		logits []float32
		want   error
	}{
		{none, []float32{1, 2}, ErrAdjusted},
		{none, []float32{1, float32(math.NaN())}, ErrNumerics},
		{none, []float32{-inf, -inf}, ErrNumerics},
		{large, []float32{1, 2}, ErrAdjusted},
		{large, []float32{1, inf}, ErrNumerics},
		{Options{Temperature: 1, Bias: large.Bias}, []float32{1, 2}, ErrAdjusted},
	} {
		if _, err := must(t, c.o, 2).Next(c.logits); err != c.want {
			t.Errorf("%v, %v: %v, want %v", c.o.Bias, c.logits, err, c.want)
		}
	}
}
