package gpu

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// Attention. A unit of work has a few rows: query heads that read the same key head, of one or more tokens. The
// workgroup goes through the positions in chunks, so that each key and each value is loaded once for all rows:
//
//  1. A thread computes the scores of its positions, for every row.
//  2. The threads of a row find the largest score so far, m, and turn scores into weights e^(score-m). What was summed
//     relative to a smaller m is scaled by a factor.
//  3. A thread sums a few elements of the values, times the weights, for every row, over a share of the positions.
//
// At the end the sums over shares are added. For the scores 1, 3 and 2 in chunks of one:
//
//	score  m  sum of weights    sum of values
//	1      1  1                 v0
//	3      3  1/e² + 1          v0/e² + v1
//	2      3  1/e² + 1 + 1/e    v0/e² + v1 + v2/e
//
// This is the algorithm of Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018, with the rows of
// Dao et al., "FlashAttention", 2022.

// fewTokens is the number of tokens up to which a unit has one token, so that there are more units. Their speed is that
// of memory, so a unit has many threads.
const fewTokens = 8

// unitRows is the largest number of rows of a unit.
const unitRows = 8

// sharedBudget is the shared memory, in bytes, that every device has (Vulkan's required limits).
const sharedBudget = 16 << 10

// attentionPlan is how an attention is divided.
type attentionPlan struct {
	deep, wide int // elements of a key, and of a value
	share      int // query heads that read one key head
	tokens     int // of a unit
	heads      int // of a unit
	blocks     int // units for the heads of one key head
	threads    int
	each       int // positions of a thread in a chunk, 1 or 4
	weighers   int // threads that compute the weights of a row
	queryLanes int // 4, or 1 if a key is no multiple of that; valueLanes alike
	valueLanes int
	keyRun     int // elements of a key that are loaded at once
	together   int // values that a thread loads at once
}

// rows returns the number of rows of a unit.
func (p *attentionPlan) rows() int { return p.tokens * p.heads }

// chunkLen returns the number of positions of a chunk.
func (p *attentionPlan) chunkLen() int { return p.threads * p.each }

// slices returns how many loads of valueLanes elements a value has.
func (p *attentionPlan) slices() int { return p.wide / p.valueLanes }

// shares returns how many threads sum the same elements of the values.
func (p *attentionPlan) shares() int { return max(p.threads/p.slices(), 1) }

// sums returns how many loads of a value a thread has.
func (p *attentionPlan) sums() int { return (p.slices() + p.threads - 1) / p.threads }

// bytes returns the shared memory that a unit takes.
func (p *attentionPlan) bytes() int {
	return 4 * (p.rows()*(p.deep+p.chunkLen()+2) + p.threads*(2+p.valueLanes))
}

// planAttention divides an attention.
func (l *lowering) planAttention() (*attentionPlan, bool) {
	q, k, v := l.n.Args[0].Type, l.n.Args[1].Type, l.n.Args[2].Type
	var consts [4]int
	for i, d := range []ir.Dim{k.Shape[3], v.Shape[3], q.Shape[1], k.Shape[1]} {
		n, ok := d.IsConst()
		if !ok || n > 512 && i < 2 {
			l.refuse("heads of %v elements", d)
			return nil, false
		}
		consts[i] = int(n)
	}
	p := &attentionPlan{deep: consts[0], wide: consts[1], share: consts[2] / consts[3], tokens: 1, threads: 64, each: 4, together: 4}
	p.queryLanes, p.valueLanes, p.keyRun = lanesOf(p.deep, 4), lanesOf(p.wide, 4), lanesOf(p.deep, 8)
	p.blocks = (p.share + unitRows - 1) / unitRows
	p.heads = (p.share + p.blocks - 1) / p.blocks
	if q.Shape[0].Upper() <= fewTokens {
		p.each, p.keyRun, p.together = 1, lanesOf(p.deep, 16), 8 // a thread has one key, and loads more of it at once
		for p.threads < 256 && int64(p.threads) < k.Shape[2].Upper() {
			p.threads *= 2
		}
	} else {
		p.tokens = max(unitRows/p.heads, 1)
	}
	for p.bytes() > sharedBudget && p.tokens > 1 {
		p.tokens /= 2
	}
	for p.bytes() > sharedBudget && p.heads > 1 {
		p.heads = (p.heads + 1) / 2
		p.blocks = (p.share + p.heads - 1) / p.heads
	}
	p.weighers = l.weighersOf(p)
	return p, true
}

// lanesOf returns the largest power of two from 4 to most that divides n, else 1.
func lanesOf(n, most int) int {
	for ; most > 4; most /= 2 {
		if n%most == 0 {
			return most
		}
	}
	if n%4 == 0 {
		return 4
	}
	return 1
}

// weighersOf returns the number of threads that compute the weights of a row: a subgroup if that is enough, or so many
// that as little is read of shared memory as possible.
func (l *lowering) weighersOf(p *attentionPlan) int {
	rows := 1
	for rows < p.rows() {
		rows *= 2
	}
	if n := l.on.Lanes; l.on.has(kir.CapSubgroup) && n > 0 && n <= p.threads/rows {
		return n
	}
	return min(p.threads/rows, 16)
}

// attention computes attention, or the sums of its segments. A unit has a few rows, and a segment.
func attention(l *lowering) {
	if around := ir.ScoringOf(l.n).Around; around > 0 {
		l.refuse("around is %d", around)
		return
	}
	p, ok := l.planAttention()
	if !ok {
		return
	}
	l.begin(l.n.Op.String(), p.threads)
	a := newAttending(l, p)
	count := a.q.Shape[0].CeilDiv(int64(p.tokens)).Mul(a.k.Shape[1]).Mul(ir.Const(int64(p.blocks)))
	if s, ok := l.n.Attr.(*ir.AttentionSegmentsAttr); ok {
		a.length, a.segments = int(s.Len), l.size(s.Segments)
		count = count.Mul(s.Segments)
	}
	l.perGroup(l.size(count), a.unit)
	l.end(count)
}

// attending is the kernel of an attention.
type attending struct {
	*lowering
	*attentionPlan
	q, k, v, slot, pos, lengths, y *tensor
	sinks                          *tensor // nil without sinks
	queryRuns, keyRuns, valueRuns  bool
	scoring                        ir.Scoring
	length                         int        // positions of a segment
	segments                       *kir.Value // nil without segments

	queries *kir.Shared // of all rows, times scale
	scores  *kir.Shared // then weights: of each row, those of the positions of a chunk
	part    [2]*kir.Shared
	factors *kir.Shared // of all rows
	tops    *kir.Shared
	scratch *kir.Shared // sums of several threads
	joint   int         // rows whose sums scratch holds at once
}

func newAttending(l *lowering, p *attentionPlan) *attending {
	a := &attending{lowering: l, attentionPlan: p,
		q: l.operand(0), k: l.operand(1), v: l.operand(2),
		slot: l.operand(3), pos: l.operand(4), lengths: l.operand(5), y: l.result(), scoring: ir.ScoringOf(l.n)}
	if l.n.Op == ir.OpAttention && l.n.Arg(6) != nil {
		a.sinks = l.operand(6)
	}
	a.queryRuns = p.queryLanes > 1 && l.prepareRuns(a.q, p.queryLanes)
	a.keyRuns = p.keyRun > 1 && l.prepareRuns(a.k, p.keyRun)
	a.valueRuns = p.valueLanes > 1 && l.prepareRuns(a.v, p.valueLanes)
	f32 := kir.Scalar(kir.F32)
	a.queries = l.NewShared("queries", kir.Type{Kind: kir.F32, Lanes: p.queryLanes}, p.rows()*p.deep/p.queryLanes)
	a.scores = l.NewShared("scores", kir.Type{Kind: kir.F32, Lanes: p.each}, p.rows()*p.threads)
	a.factors, a.tops = l.NewShared("factors", f32, p.rows()), l.NewShared("tops", f32, p.rows())
	if !a.inSubgroup() {
		a.part = [2]*kir.Shared{l.NewShared("most", f32, p.threads), l.NewShared("sum", f32, p.threads)}
	}
	switch {
	case p.each == p.valueLanes: // what has the weights of a chunk has room for all rows
		a.scratch, a.joint = a.scores, p.rows()
	case p.shares() > 1:
		a.scratch, a.joint = l.NewShared("scratch", kir.Type{Kind: kir.F32, Lanes: p.valueLanes}, p.threads), 1
	default:
		a.joint = p.rows()
	}
	return a
}

// inSubgroup reports whether the weights of a row are computed by one subgroup.
func (a *attending) inSubgroup() bool { return a.on.has(kir.CapSubgroup) && a.weighers == a.on.Lanes }

// uniformI32 loads an element of an index, which no thread writes.
func (l *lowering) uniformI32(t *tensor, at *kir.Value) *kir.Value {
	return l.LoadUniform(kir.Scalar(kir.I32), l.At(t.base, l.Mul(at, l.innerStride(t)), 4))
}

// loadSome returns n elements from element e on along the innermost axis.
func (l *lowering) loadSome(t *tensor, e *kir.Value, n int, runs bool) []*kir.Value {
	if runs {
		return l.loadRun(t, e, n)
	}
	list := make([]*kir.Value, n)
	for i := range list {
		list[i] = l.load(t, l.Add(e, l.Mul(l.Int(i), l.innerStride(t))))
	}
	return list
}

// least is below all scores: the score of a position that a row does not read.
const least = -math.MaxFloat32

// block is a unit while it is computed.
type block struct {
	*attending
	segment *kir.Value
	group   *kir.Value   // key head
	first   *kir.Value   // the first of its heads among those of the key head
	token   []*kir.Value // of each row of tokens; the last ones may be beyond the tokens
	slots   []*kir.Value // of each token
	places  []*kir.Value // position of each token in its sequence
	counts  []*kir.Value // end of the positions that each token reads; 0 beyond the tokens
	slopes  []*kir.Value // of each row; see [block.slopesOf]
}

// unit computes unit u.
func (a *attending) unit(u *kir.Value) {
	b := &block{attending: a}
	if a.segments != nil {
		u, b.segment = a.Div(u, a.segments), a.Rem(u, a.segments)
	}
	b.first = a.Mul(a.Rem(u, a.Int(a.blocks)), a.Int(a.heads))
	u = a.Div(u, a.Int(a.blocks))
	b.group = a.Rem(u, a.k.shape[1])
	b.tokensOf(a.Mul(a.Div(u, a.k.shape[1]), a.Int(a.tokens)))
	b.loadQueries()
	b.slopes = b.slopesOf()
	a.Barrier()
	b.finish(b.sequences())
}
