// Command stories trains the demo model of ggmlc: a small llama that tells
// tiny stories, on text of a grammar of its own.
//
//	stories -o stories.gguf -greedy stories.greedy.json   train, write the model and a reference
//	stories -model stories.gguf -sample "Once upon a time" let a model continue with a text
//	stories -print 3                                      show stories it is trained on
//
// The same flags give the same bytes on every amd64 processor.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

// options are the command line.
type options struct {
	out, greedy   string
	model, sample string
	temperature   float64
	n, print      int
	recipe        Recipe
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "stories:", err)
		os.Exit(1)
	}
}

func run(args []string, out, progress io.Writer) error {
	o := options{recipe: demoRecipe}
	flags := flag.NewFlagSet("stories", flag.ContinueOnError)
	flags.StringVar(&o.out, "o", "", "train and write the model to this `file`")
	flags.StringVar(&o.greedy, "greedy", "", "write what the model says at temperature 0 to this `file`")
	flags.StringVar(&o.model, "model", "", "read this `file` instead of training")
	flags.StringVar(&o.sample, "sample", "", "go on with this `text`")
	flags.Float64Var(&o.temperature, "temp", 0, "temperature of -sample; 0 takes the best token")
	flags.IntVar(&o.n, "n", 200, "tokens of -sample")
	flags.IntVar(&o.print, "print", 0, "print this many stories of the training")
	flags.Uint64Var(&o.recipe.Seed, "seed", demoRecipe.Seed, "seed of training and of -sample")
	flags.IntVar(&o.recipe.Steps, "steps", demoRecipe.Steps, "training steps")
	flags.SetOutput(progress)
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	for i := range o.print {
		fmt.Fprintln(out, Story(o.recipe.Seed, uint64(i)))
	}
	if o.print > 0 {
		return nil
	}
	m, err := o.obtain(progress)
	if err != nil {
		return err
	}
	return o.use(m, out)
}

// obtain reads the model, or trains and writes it.
func (o *options) obtain(progress io.Writer) (*Model, error) {
	switch {
	case o.model != "":
		return readModel(o.model)
	case o.out == "":
		return nil, errors.New("give -o to train a model, -model to use one, or -print to see the training's text")
	}
	start := time.Now()
	t := train(o.recipe, progress)
	m := newModel(o.recipe.Model, t.vocab, t.params)
	fmt.Fprintf(progress, "loss on stories not trained on, in nats per token: %.4f\n", t.evaluate())
	fmt.Fprintf(progress, "took %.0f s\n", time.Since(start).Seconds())
	return m, m.write(o.out)
}

// use does what is asked of a model at hand.
func (o *options) use(m *Model, out io.Writer) error {
	if o.greedy != "" {
		if err := m.writeGreedy(o.greedy); err != nil {
			return err
		}
	}
	if o.sample == "" {
		return nil
	}
	prompt := m.Vocab.Encode(o.sample)
	if len(prompt) > m.Config.Context {
		return fmt.Errorf("the text of -sample is %d tokens long, the model takes %d", len(prompt), m.Config.Context)
	}
	fmt.Fprint(out, o.sample)
	for id := range m.generate(prompt, o.n, o.temperature, o.recipe.Seed) {
		fmt.Fprint(out, m.Vocab.Decode([]int32{id}))
	}
	_, err := fmt.Fprintln(out)
	return err
}
