package driver

import (
	"os"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
)

// Result describes an executable or package that was written.
type Result struct {
	Path   string // the executable, or the folder of the package
	Bytes  int64  // size of the executable, or of the package's files; without a weights file beside them
	PlanID string
	Memory []SpaceBytes // what the plan needs, in the order of its arenas

	WeightsFile  string // the file that has the weights, if neither executable nor code contain them
	WeightsBytes int64  // its size
}

// SpaceBytes is what a program allocates or maps in one memory space, in bytes, at the bounds of all symbols.
type SpaceBytes struct {
	Space   string `json:"space"`
	Weights int64  `json:"weights"`
	State   int64  `json:"state"`  // of one session
	Arenas  int64  `json:"arenas"` // inputs, outputs and activations of one session
}

// Total returns the sum in bytes.
func (s SpaceBytes) Total() int64 { return s.Weights + s.State + s.Arenas }

// Memory returns what the plan of a placed module needs in each space.
func Memory(m *ir.Module) []SpaceBytes {
	var list []SpaceBytes
	index := make(map[string]int)
	for i := range m.Plan.Arenas {
		a := &m.Plan.Arenas[i]
		at, known := index[a.Space]
		if !known {
			at = len(list)
			index[a.Space] = at
			list = append(list, SpaceBytes{Space: a.Space})
		}
		switch s := &list[at]; a.Class {
		case ir.ClassWeights:
			s.Weights += a.Bytes()
		case ir.ClassState:
			s.State += a.Bytes()
		default:
			s.Arenas += a.Bytes()
		}
	}
	return list
}

// done tells the caller what was written. bytes is the size of the output, or 0 for that of the file o.Out.
func (o *OutputOptions) done(md *Model, planID string, where codegen.Where, bytes int64) error {
	if o.Done == nil {
		return nil
	}
	r := Result{Path: o.Out, PlanID: planID, Memory: Memory(md.Module)}
	if where == codegen.File {
		info, err := os.Stat(o.WeightsFile)
		if err != nil {
			return err
		}
		r.WeightsFile, r.WeightsBytes = o.WeightsFile, info.Size()
	}
	if bytes == 0 {
		info, err := os.Stat(o.Out)
		if err != nil {
			return err
		}
		bytes = info.Size()
	}
	r.Bytes = bytes
	o.Done(r)
	return nil
}
