package readback

import "fmt"

// startFace is the method that starts a function of the module, and the type of its result.
const startFace = `
type %[1]sStep struct {
	step *runtime.Step
	out %[1]sOutputs
}
func (s *Session) %[3]s(ctx context.Context, in %[1]sInputs) (*%[1]sStep, error) {
	st := new(%[1]sStep)
	step, err := s.s.Start(ctx, %[2]d, []any{%[4]s}, []any{%[5]s})
	if err != nil { return nil, err }
	st.step = step
	return st, nil
}
func (st *%[1]sStep) Wait() (%[1]sOutputs, error) {
	if err := st.step.Wait(); err != nil { return %[1]sOutputs{}, err }
	return st.out, nil
}
`

// startOf returns the name of the method that starts the i-th function, which the method run calls.
func (c *checker) startOf(p *program, i int, run string) string {
	id := p.methodThat(fmt.Sprintf("s.s.Start(ctx, %d,", i))
	if id == "" {
		fail("no method starts @%s", c.m.Funcs[i].Name)
	}
	if !spells(id, "Start"+run) {
		fail("the method %s starts @%s", id, c.m.Funcs[i].Name)
	}
	return id
}
