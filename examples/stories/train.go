package main

import (
	"fmt"
	"io"
	"sync"
)

// lanes is how many sequences are computed at the same time. It is fixed: the
// order in which gradients are summed, and so every bit of the result, must
// not depend on the machine.
const lanes = 2

// evalStories is how many stories, never trained on, the loss is measured on.
const evalStories = 64

// firstEval is the number of the first of them.
const firstEval = 1 << 32

// vocabStories is how many of the first stories the vocabulary is learned from.
const vocabStories = 4000

// Recipe is everything that decides the bytes of a model.
type Recipe struct {
	Model Config
	Seed  uint64
	Steps int
	Batch int     // stories per step
	Rate  float64 // peak of the learning rate
	Warm  int     // steps until that
	Clip  float64 // limit of the gradient's norm
}

// demoRecipe is that of the model inside ggmlc. Every width is a multiple of
// 32, so that block formats such as Q4_0 fit.
var demoRecipe = Recipe{
	Model: Config{
		Vocab: 704, Dim: 128, Layers: 4, Heads: 4, KVHeads: 2, FF: 352, Context: 256,
		Eps: 1e-5, RopeBase: 10000,
	},
	Seed: 1, Steps: 2000, Batch: 16, Rate: 3e-3, Warm: 60, Clip: 1,
}

// trainer is the state of a training.
type trainer struct {
	recipe        Recipe
	vocab         *Vocab
	params, trans []float32
	lanes         [lanes]*lane
	opt           *adam
}

func newTrainer(r Recipe) *trainer {
	texts := make([]string, vocabStories)
	for i := range texts {
		texts[i] = Story(r.Seed, uint64(i))
	}
	c := r.Model
	t := &trainer{
		recipe: r, vocab: learnVocab(texts, c.Vocab),
		params: make([]float32, c.size()), trans: make([]float32, c.size()),
	}
	w := c.bind(t.params)
	c.initialize(w, r.Seed)
	t.opt = newAdam(c, w)
	for i := range t.lanes {
		t.lanes[i] = newLane(c, t.params, t.trans)
	}
	return t
}

// tokens returns story n as the ids that the model learns: begin, text, end.
func (t *trainer) tokens(n uint64) []int32 {
	ids := append(t.vocab.Encode(Story(t.recipe.Seed, n)), endID)
	return ids[:min(len(ids), t.recipe.Model.Context+1)]
}

// batch returns count stories from number first on, and how many tokens they predict.
func (t *trainer) batch(first uint64, count int) (stories [][]int32, predicted int) {
	for i := range count {
		ids := t.tokens(first + uint64(i))
		stories = append(stories, ids)
		predicted += len(ids) - 1
	}
	return stories, predicted
}

// inLanes calls f for each story, in parallel over lanes, and returns the sum
// of what it returned. A lane has its stories in a fixed order.
func (t *trainer) inLanes(stories [][]int32, f func(l *lane, inputs, targets []int32) float64) float64 {
	var sums [lanes]float64
	var wait sync.WaitGroup
	for i, l := range t.lanes {
		wait.Go(func() {
			for j := i; j < len(stories); j += lanes {
				ids := stories[j]
				sums[i] += f(l, ids[:len(ids)-1], ids[1:])
			}
		})
	}
	wait.Wait()
	var sum float64
	for _, s := range sums {
		sum += s
	}
	return sum
}

// step trains on one batch and returns its mean loss before that, in nats per token.
func (t *trainer) step(n int) float64 {
	r := t.recipe
	stories, predicted := t.batch(uint64(n*r.Batch), r.Batch)
	r.Model.transpose(t.trans, t.params)
	sum := t.inLanes(stories, func(l *lane, inputs, targets []int32) float64 {
		l.forward(inputs)
		loss := l.loss(targets, 1/float32(predicted))
		l.backward(inputs)
		return loss
	})
	grad := t.sumGradients()
	t.opt.step(t.params, grad, learningRate(n, r.Steps, r.Warm, r.Rate), clipFactor(grad, r.Clip))
	for _, l := range t.lanes {
		clear(l.back.flat)
	}
	return sum / float64(predicted)
}

// sumGradients adds the lanes' gradients to the first one's, lane by lane.
func (t *trainer) sumGradients() []float32 {
	total := t.lanes[0].back.flat
	for _, l := range t.lanes[1:] {
		for i, g := range l.back.flat {
			total[i] += g
		}
	}
	return total
}

// evaluate returns the mean loss in nats per token on stories not trained on.
func (t *trainer) evaluate() float64 {
	stories, predicted := t.batch(firstEval, evalStories)
	t.recipe.Model.transpose(t.trans, t.params)
	sum := t.inLanes(stories, func(l *lane, inputs, targets []int32) float64 {
		l.forward(inputs)
		return l.loss(targets, 0)
	})
	return sum / float64(predicted)
}

// train follows the recipe and writes a line of progress now and then.
func train(r Recipe, progress io.Writer) *trainer {
	t := newTrainer(r)
	fmt.Fprintf(progress, "%d parameters\n", r.Model.size())
	for n := range r.Steps {
		loss := t.step(n)
		if n%50 == 0 {
			fmt.Fprintf(progress, "step %d of %d: loss %.4f\n", n, r.Steps, loss)
		}
	}
	return t
}
