package devices

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// sumMachines are groups of 2, 3, 4 and 8 simulated devices and of threads. One has a device without a share.
func sumMachines() (list []e2etest.Machine) {
	for _, n := range []int{2, 3, 4, 8} {
		var names, cores []string
		for i := range n {
			names, cores = append(names, fmt.Sprint("fake:", i)), append(cores, fmt.Sprint("cpu:cores=", i))
		}
		list = append(list, e2etest.Machine{Name: fmt.Sprint(n, " devices"), Targets: strings.Join(names, ",") + ",cpu",
			Flags: []string{"--group", "tp=" + strings.Join(names, ",")}})
		for i := range names {
			names[i] = fmt.Sprintf("cpu:%d*%d", i, 1+i%2)
		}
		list = append(list, e2etest.Machine{Name: fmt.Sprint(n, " groups of threads"), Targets: strings.Join(cores, ","),
			Flags: []string{"--group", "tp=" + strings.Join(names, ",")}})
	}
	return append(list, e2etest.Machine{Name: "a device without a share", Targets: "fake:0,fake:1,fake:2,cpu",
		Flags: []string{"--group", "tp=fake:0*3,fake:1*0,fake:2*1"}})
}

// TestSumsInAllOrdersTellTheSame runs the model on groups that add up in each order.
func TestSumsInAllOrdersTellTheSame(t *testing.T) {
	refs := e2etest.AIDreamsReferences(t)
	for i, m := range sumMachines() {
		for k, order := range ir.SumOrders() {
			t.Run(fmt.Sprint(m.Name, ", ", order), func(t *testing.T) {
				if i > 0 || order != ir.SumRing {
					needtest.Slow(t, "e2e")
				}
				exe := buildGroups(t, m, "--debug", fmt.Sprint("shard/collective=", order), "--pipeline", fmt.Sprint(1+k%2))
				e2etest.Executable(exe).Tells(t, refs[i%len(refs)])
			})
		}
	}
}
