package runtime

import (
	"fmt"
	"strings"
)

// site is the hardware that several devices may have in common.
type site struct {
	kind   string
	number int
}

// surveyTogether compares what devices on the same hardware need in sum with what it has left. Each of them alone fits.
func (o *openDevices) surveyTogether() error {
	together := make(map[site][]int)
	for i, d := range o.devices {
		l, ok := d.(Located)
		if !ok {
			continue
		}
		at, err := l.Locate()
		if err != nil {
			return fmt.Errorf("%s: %w", o.layout.Devices[i].Name, err)
		}
		s := site{at.Kind, at.Number}
		if together[s] = append(together[s], i); len(together[s]) < 2 {
			continue
		}
		if err := o.fitTogether(together[s], at); err != nil {
			return err
		}
	}
	return nil
}

// fitTogether returns an error if some devices need more in sum than their hardware has left.
func (o *openDevices) fitTogether(devices []int, at Location) error {
	var names, parts []string
	sum := int64(0)
	for _, i := range devices {
		n := o.ownBytes(i)
		sum += n
		names, parts = append(names, o.layout.Devices[i].Name), append(parts, fmt.Sprint(n))
	}
	if sum <= at.Left {
		return nil
	}
	return fmt.Errorf("%s run on one device, %s, which has %d bytes left, and they need %s, together %d: choose another device for one of them (--%s-device), end other programs, or build again with limits (--max-memory), which leave more to the CPU",
		strings.Join(names, ", "), at.Name, at.Left, strings.Join(parts, " and "), sum, at.Kind)
}

// ownBytes returns the bytes that device i allocates for the model and a session.
func (o *openDevices) ownBytes(i int) (n int64) {
	for _, c := range o.layout.Memory {
		if c.Device == i {
			n += c.Bytes
		}
	}
	return n
}
