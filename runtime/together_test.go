package runtime

import (
	"fmt"
	"strings"
	"testing"
)

// located is a device that only reports its hardware.
type located struct {
	Device
	at Location
}

func (l located) Locate() (Location, error) { return l.at, nil }

// TestTargetsOnOneDeviceShareItsMemory has three targets, of which two or three are on one device.
func TestTargetsOnOneDeviceShareItsMemory(t *testing.T) {
	first, second := Location{"vulkan", 0, "First", 100}, Location{"vulkan", 1, "Second", 100}
	other := Location{"cuda", 0, "First", 100}
	for _, c := range []struct {
		sites []Location
		bytes []int64
		want  string // "" if they fit
	}{
		{[]Location{first, first, first}, []int64{50, 20, 30}, ""},
		{[]Location{first, second, other}, []int64{100, 100, 100}, ""},
		{[]Location{first, second, first}, []int64{60, 100, 41}, "gpu:0, gpu:2 run on one device, First, which has 100 bytes left, and they need 60 and 41, together 101: choose another device for one of them (--vulkan-device), "},
		{[]Location{other, other, first}, []int64{60, 60, 1}, "gpu:0, gpu:1 run on one device, First, which has 100 bytes left, and they need 60 and 60, together 120: choose another device for one of them (--cuda-device), "},
		{[]Location{first, first, first}, []int64{40, 40, 40}, "they need 40 and 40 and 40, together 120"},
	} {
		o := &openDevices{layout: &Layout{Memory: []Chunk{{Device: -1, Bytes: 1 << 40}}}}
		for i, at := range c.sites {
			o.layout.Devices = append(o.layout.Devices, DeviceInfo{Name: fmt.Sprintf("gpu:%d", i)})
			o.layout.Memory = append(o.layout.Memory, Chunk{Device: i, Bytes: c.bytes[i] - 1}, Chunk{Device: i, Bytes: 1})
			o.devices = append(o.devices, located{at: at})
		}
		err := o.surveyTogether()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.bytes, err, c.want)
		}
	}
}
