package devices

import (
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
)

// shardedMachines divide each product of the small model, which has 4 heads and 4 heads of keys, among backends.
var shardedMachines = []e2etest.Machine{
	{Name: "two devices", Targets: "fake:0,fake:1,cpu", Flags: []string{"--group", "tp=fake:0*1,fake:1*1"}},
	{Name: "groups of threads, the host among them", Targets: "cpu:cores=0,cpu:cores=1", Flags: []string{"--group", "tp=cpu:0*3,cpu:1*1"}},
	{Name: "a device without a share", Targets: "fake:0,fake:1,fake:2,cpu", Flags: []string{"--group", "tp=fake:0*1,fake:1*0,fake:2*1"}},
	{Name: "more devices than heads", Targets: "fake:0,fake:1,fake:2,fake:3,fake:4,fake:5,fake:6,fake:7,cpu",
		Flags: []string{"--group", "tp=fake:0,fake:1,fake:2,fake:3,fake:4,fake:5,fake:6,fake:7"}},
	{Name: "a device and threads", Targets: "gpusim,cpu:cores=0,cpu:cores=1", Flags: []string{"--group", "tp=gpusim*1,cpu:0*1"}},
}

// TestShardedModelsTellTheSame runs the model on groups of backends, one step at a time and two.
func TestShardedModelsTellTheSame(t *testing.T) { tellTheSame(t, shardedMachines) }
