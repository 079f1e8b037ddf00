package ptx

import (
	"fmt"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// Target is the architecture that a module is printed for.
type Target uint8

// The targets. A module runs on its own and all later architectures, except that one for SM90a runs on 9.0 only
// (11.1.2).
const (
	SM70 Target = iota
	SM80
	SM90a
	numTargets
)

// targets has what the directives .target and .version name. The version is the first one that has the target (11.1.2,
// and the release notes of version 8.0 for sm_90a): a driver refuses a later version than its own. The instructions
// that Emit prints for a target exist in that version.
var targets = [numTargets]struct{ name, version string }{
	SM70:  {"sm_70", "6.0"},
	SM80:  {"sm_80", "7.0"},
	SM90a: {"sm_90a", "8.0"},
}

// Targets returns all targets, lower ones first.
func Targets() []Target { return []Target{SM70, SM80, SM90a} }

// String returns the name in the directive .target.
func (t Target) String() string {
	if t >= numTargets {
		return fmt.Sprintf("Target(%d)", uint8(t))
	}
	return targets[t].name
}

// hasRedux reports whether redux.sync exists: from sm_80 on (9.7.12.10).
func (t Target) hasRedux() bool { return t >= SM80 }

// caps returns the capabilities that kernels may need. cp.async (9.7.8.22) and mma.m16n8k16 (9.7.13.4) exist from sm_80
// on, wgmma for sm_90a only (9.7.15 of version 8.7).
func (t Target) caps() kir.Caps {
	caps := kir.CapSubgroup | kir.CapF16 | kir.CapDot4
	if t >= SM80 {
		caps |= kir.CapAsync | kir.CapTile
	}
	if t == SM90a {
		caps |= kir.CapSlab
	}
	return caps
}

// hasMinF16 reports whether min.f16 and max.f16 exist: from sm_80 on (9.7.4.7).
func (t Target) hasMinF16() bool { return t >= SM80 }
