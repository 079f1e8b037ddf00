package vulkan

import (
	"strings"
	"testing"
	"time"
)

// made returns a device of a kind, with a heap of so many bytes.
func made(name string, kind int32, bytes uint64) *physical {
	p := new(physical)
	copy(p.properties.properties.deviceName[:], name)
	p.properties.properties.deviceType = kind
	p.memory.memoryHeapCount = 2
	p.memory.memoryHeaps[0] = vkMemoryHeap{size: 1 << 50} // of the host
	p.memory.memoryHeaps[1] = vkMemoryHeap{size: bytes, flags: memoryDeviceLocal}
	return p
}

func TestPickPrefersTheGPUWithTheMostMemory(t *testing.T) {
	cpu, weak := made("llvmpipe", kindCPU, 1<<40), made("Weak Card", kindDiscrete, 2<<30)
	strong, inside := made("Strong Card", kindDiscrete, 24<<30), made("Inside", kindIntegrated, 64<<30)
	for _, c := range []struct {
		target string
		want   string
		among  []*physical
		is     *physical
	}{
		{"vulkan", "", []*physical{cpu}, cpu},
		{"vulkan", "", []*physical{cpu, inside}, inside},
		{"vulkan", "", []*physical{cpu, weak, strong, inside}, strong},
		{"vulkan:0", "", []*physical{cpu, weak, strong, inside}, strong},
		{"vulkan:1", "", []*physical{cpu, weak, strong, inside}, weak},
		{"vulkan:2", "", []*physical{cpu, weak, strong, inside}, inside},
		{"vulkan:3", "", []*physical{cpu, weak, strong, inside}, strong},
		{"vulkan:1", "", []*physical{cpu}, cpu},
		{"vulkan:x", "", []*physical{cpu, weak, strong}, strong},
		{"vulkan", "1", []*physical{cpu, weak, strong, inside}, weak},
		{"vulkan:1", "1", []*physical{cpu, weak, strong, inside}, weak},
		{"vulkan:1", "1,0", []*physical{cpu, weak, strong, inside}, cpu},
		{"vulkan:0", "strong,0", []*physical{cpu, weak, strong, inside}, strong},
		{"vulkan", "card", []*physical{cpu, weak, strong, inside}, weak},
		{"vulkan", "strong", []*physical{cpu, weak, strong, inside}, strong},
		{"vulkan", "4", []*physical{cpu, weak, strong, inside}, nil},
		{"vulkan", "-1", []*physical{cpu}, nil},
		{"vulkan:1", "0,9", []*physical{cpu}, nil},
	} {
		p, err := pick(c.among, c.want, instanceOf(c.target))
		if p != c.is || (err == nil) != (c.is != nil) {
			t.Errorf("%s, %q: %v, error %v", c.target, c.want, p, err)
		}
	}
}

// TestMissingFeaturesAreNamed turns each basic feature and property off.
func TestMissingFeaturesAreNamed(t *testing.T) {
	p := made("Old Card", kindDiscrete, 1<<30)
	p.floats.shaderSignedZeroInfNanPreserveFloat32 = 1
	p.subgroups = vkPhysicalDeviceSubgroupProperties{subgroupSize: 32, supportedStages: shaderCompute, supportedOperations: subgroupArithmetic}
	have := newFeatures(version12)
	for _, f := range basic {
		*f.at(have) = 1
	}
	on, err := have.enable(version12, nil, p)
	if err != nil || on.v12.shaderFloat16 != 0 {
		t.Fatalf("%+v, error %v", on, err)
	}
	check := func(name string, needs ...string) {
		t.Helper()
		if _, err := have.enable(version12, needs, p); err == nil || !strings.Contains(err.Error(), "Old Card (driver  ) lacks the feature "+name+":") {
			t.Errorf("without %s: error %v", name, err)
		}
	}
	for _, f := range basic {
		*f.at(have) = 0
		check(f.name)
		*f.at(have) = 1
	}
	check("shaderFloat16", "shaderFloat16")
	check("VK_SUBGROUP_FEATURE_SHUFFLE_BIT", "VK_SUBGROUP_FEATURE_SHUFFLE_BIT")
	complete := *p
	for name, drop := range map[string]func(){
		"shaderSignedZeroInfNanPreserveFloat32": func() { p.floats.shaderSignedZeroInfNanPreserveFloat32 = 0 },
		"VK_SUBGROUP_FEATURE_ARITHMETIC_BIT":    func() { p.subgroups.supportedOperations = subgroupShuffle },
		"subgroupSize from 4 to 128":            func() { p.subgroups.subgroupSize = 1 },
	} {
		drop()
		check(name)
		*p = complete
	}
}

func TestDriversOnTheProcessorAreGivenMoreTime(t *testing.T) {
	for kind, want := range map[int32]time.Duration{kindCPU: time.Minute, kindIntegrated: 10 * time.Second, kindDiscrete: 10 * time.Second, kindVirtual: 10 * time.Second} {
		if got := made("x", kind, 1).patience(); got != want {
			t.Errorf("kind %d: %v, want %v", kind, got, want)
		}
	}
}
