package target

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

func TestSelectAppliesParameters(t *testing.T) {
	l, err := Select("fake:0:queues=2, fake:1:memory=2GiB:events=false,cpu:threads=8")
	if err != nil {
		t.Fatal(err)
	}
	if l.Names() != "fake:0, fake:1, cpu" {
		t.Fatalf("names %s", l.Names())
	}
	a, b, c := l.Get("fake:0"), l.Get("fake:1"), l.Get("cpu")
	if a.Queues != 2 || !a.Events || a.Home() != "fake:0" || !a.Asynchronous() {
		t.Errorf("fake:0 is %v", a)
	}
	if b.Memory != 2<<30 || b.Events || b.Home() != "fake:1" || b.Queues != 1 {
		t.Errorf("fake:1 is %v", b)
	}
	if c.Threads != 8 || c.Asynchronous() {
		t.Errorf("cpu is %v", c)
	}
	for _, d := range l.All() {
		again, err := ParseDescriptor(d.String())
		if err != nil || again.String() != d.String() {
			t.Errorf("%v is read back as %v, %v", d, again, err)
		}
	}
}

func TestSelectRefusesWrongParameters(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"tpu", `unknown target "tpu": the built-in ones are cuda, vulkan, gpusim, fake, cpugroup, cpu`},
		{"cpu:0", "there is one cpu"},
		{"cpu:fast", `"fast" is not a parameter`},
		{"fake:0:1", `"1" is not a parameter`},
		{"fake:speed=3", `unknown field "speed": ggmlc targets lists them`},
		{"fake:queues=many", "queues: "},
		{"fake:kind=cpu", "kind is decided by the name"},
		{"fake:0,fake:0", "listed twice"},
		{"cpu:threads=0", "threads: 0 is not a number of threads: write 1 to 64"},
		{"fake:x", `"x" is not a parameter: write fake:NUMBER for one of several, or fake:FIELD=VALUE; ggmlc targets lists the fields`},
		{"fake:quues=1", `did you mean queues?`},
		{"cpu:queues=2", "queues: nodes of cpu are shared by the program's threads"},
		{"cpu:threads=65", "threads: 65 is not a number of threads: write 1 to 64"},
		{"cpu:cores=0-1,cpu:cores=1", "core 1 belongs to both cpu:0 and cpu:1: give each target cores of its own"},
		{"cpu:cores=0,cpu:cores=0,cpu:cores=1", "core 0 belongs to both cpu:0 and cpu:1"},
		{"cpu,cpu:cores=1", "target cpu:0: of several cpu targets each but the last needs cores of its own"},
		{"cpu:1:cores=0,cpu:cores=1", `target "cpu:1" is listed twice`},
		{"cpu:cores=", "cores has no value: write cores=VALUE"},
		{"cpu:cores=3-1", "cores: the range 3-1 is empty"},
		{"cpu:cores=x", `cores: "x" is no core and no range of cores: write numbers and ranges with + between them, such as 0-3+8`},
		{"cpu:cores=-1", `cores: "-1" is no core`},
		{"cpu:cores=0-", `cores: "0-" is no core`},
		{"cpu:cores=0+", `cores: "" is no core`},
		{"cpu:cores=0-2+1", "cores: core 1 is listed twice"},
		{"cpu:cores=0-64", "cores: 0-64 has more than 64 cores"},
		{"cpu:cores=9000", "cores: core 9000: the largest number of a core is 8191"},
		{"cpu:cores=99999999999999999999", `cores: "99999999999999999999" is no core`},
		{"cpu:cores=0-1:threads=3", "threads: cpu has 3 threads and 2 cores: each thread needs one"},
		{"cpugroup:cores=0:queues=2,cpu", "queues: the threads of cpugroup have one queue"},
		{"cpugroup:cores=0:queues=0,cpu", "queues: the threads of cpugroup have one queue"},
		{"cpu:threads=x,tpu", `unknown target "tpu"`},
	} {
		_, err := Select(tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Select(%q): %v, want %q", tt.text, err, tt.want)
		}
	}
}

// TestSelectMakesGroups: of several cpu targets all but the last become groups.
func TestSelectMakesGroups(t *testing.T) {
	l, err := Select("cpu:cores=0-2+8:memory=1GiB:ops=*,fake,cpu:7:cores=3:space=host,cpu:cores=4-5:threads=1")
	if err != nil {
		t.Fatal(err)
	}
	if l.Names() != "cpu:0, fake, cpu:7, cpu:2" {
		t.Fatalf("names %s", l.Names())
	}
	for _, tt := range []struct{ name, want string }{
		{"cpu:0", "cpu:0 like=cpugroup space=cpu:0 cores=0-2+8 threads=4 hint=4 memory=1073741824"},
		{"cpu:7", "cpu:7 like=cpugroup space=host cores=3"},
		{"cpu:2", "cpu:2 like=cpu cores=4-5 threads=1 hint=2"},
	} {
		d := l.Get(tt.name)
		if d.String() != tt.want {
			t.Errorf("%s is %v, want %s", tt.name, d, tt.want)
		}
		again, err := ParseDescriptor(d.String())
		if err != nil || again.String() != d.String() {
			t.Errorf("%v is read back as %v, %v", d, again, err)
		}
	}
	if g := l.Get("cpu:0"); !g.IsGroup() || g.Threads != 4 || g.Queues != 1 || g.Workers || l.MaxWorkers() != 1 {
		t.Errorf("cpu:0 has %d threads, %d queues; the host has %d threads", g.Threads, g.Queues, l.MaxWorkers())
	}
}

func TestSpacesHaveTheLimitsOfTheirTargets(t *testing.T) {
	l, err := Parse("t", "target gpu space=dev,host memory=1GiB extra=100\n"+
		"target npu space=host extra=8\ntarget cpu like=cpu memory=4GiB")
	if err != nil {
		t.Fatal(err)
	}
	dev, host := l.Space("dev"), l.Space("host")
	if dev.Memory != 1<<30 || dev.Host || host.Memory != 4<<30 || !host.Host {
		t.Errorf("dev %+v, host %+v", dev, host)
	}
	if got := dev.Room(1); got != 128 {
		t.Errorf("a byte takes %d bytes with 100 after it, aligned to 64, want 128", got)
	}
}

func TestTransfersTakeTheSlowerLink(t *testing.T) {
	gpu := &Descriptor{Rates: Rates{Link: 4e9, LinkOut: 2e9, LinkDelay: 1e-3}}
	host := &Descriptor{Rates: Rates{Link: 1e10, LinkDelay: 1e-6}}
	for _, tt := range []struct {
		what      string
		got, want float64
	}{
		{"in", gpu.TransferSeconds(host, 4e9), 1.001},
		{"out", host.TransferSeconds(gpu, 4e9), 2.001},
		{"no source", gpu.TransferSeconds(nil, 4e9), 1.001},
		{"no rates", (&Descriptor{}).TransferSeconds(nil, 4e9), 0},
	} {
		if d := tt.got - tt.want; d > 1e-9 || d < -1e-9 {
			t.Errorf("%s: %v s, want %v", tt.what, tt.got, tt.want)
		}
	}
}

func TestRefusalNamesTheOpAndTheOperand(t *testing.T) {
	gpu, err := ParseDescriptor("gpu0 space=dev ops=matmul(f32,f32),add(f32,f32)")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		n    *ir.Node
		want string
	}{
		{node(ir.OpMatMul, typ(dtype.F32, 4, 32), typ(dtype.F32, 16, 32)), ""},
		{node(ir.OpExp, typ(dtype.F32, 4)), "gpu0: no exp"},
		{node(ir.OpMatMul, typ(dtype.F32, 4, 32), typ(dtype.Q4_0, 16, 32)), "gpu0: no f32 x q4_0 matmul (operand 1 is q4_0, which it does not read)"},
		{node(ir.OpMatMul, typ(dtype.F32, 4, 32), typ(dtype.F32, 16, 32), typ(dtype.F32, 4, 16)), "gpu0: no such matmul: it takes no operand residual"},
	} {
		if got := gpu.Refusal(tt.n); got != tt.want {
			t.Errorf("Refusal(%v) = %q, want %q", tt.n.Op, got, tt.want)
		}
	}
}

// TestGPUsAreStaged: the loaders of GPUs copy to and from the processor's memory only.
func TestGPUsAreStaged(t *testing.T) {
	for _, d := range Builtins() {
		if gpu := d.Kind != "cpu" && d.Kind != "fake" && !d.IsGroup(); d.Staged != gpu {
			t.Errorf("%s: staged=%v, want %v", d.Name, d.Staged, gpu)
		}
	}
}
