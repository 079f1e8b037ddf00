package assign

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// shortage reports which limits no assignment was found to keep, by how much, and which limits would be enough. These
// are what the best assignment found takes; another one may take less. It returns no error if the plan of the best
// assignment keeps the limits after all.
func (s *search) shortage(best *solution) []error {
	defer func(stay bool) { s.Stay = stay }(s.Stay)
	d, err := s.dryRun(best.Labels)
	need := d.need
	if err != nil || sumOf(best.Over) == 0 {
		if need, err = s.raised(); err != nil || !s.limits.exceededBy(need) {
			return s.impossible(best.Labels)
		}
	}
	return s.limitErrors(s.enough(need))
}

// higherLimits are limits, none lower than those of the search.
type higherLimits struct {
	memoryLimits
	kept bool // an assignment was found that keeps them
}

// limitErrors returns an error for each limit of the search that is below the higher one.
func (s *search) limitErrors(higher higherLimits) []error {
	enough := higher.memoryLimits
	var errs []*pass.BudgetError
	var options, short []string
	for i, limit := range s.limits {
		if enough[i] == limit {
			continue
		}
		short = append(short, s.spaces[i].Name)
		for _, l := range s.limitsBelow(i, enough[i]) {
			option := fmt.Sprintf("--max-memory %s=%d", l.Name, enough[i])
			if l.Own {
				option = fmt.Sprintf("memory=%d of %s", enough[i], l.Name)
			}
			options = append(options, option)
			l.Enough = true
			errs = append(errs, l)
		}
	}
	advice := strings.Join(options, " ") + " would be enough"
	if !higher.kept {
		advice = "try " + strings.Join(options, " ") + " or more"
	}
	var list []error
	for _, e := range errs {
		e.Advice = advice + "; " + s.split(short) + "or lower --ctx or --batch, or quantize"
		list = append(list, e)
	}
	return list
}

// split returns the advice to let the last target take what does not fit in the spaces that are short, if options keep
// nodes off it, and its memory is another one.
func (s *search) split(short []string) string {
	last := s.c.Targets.Last().Name
	switch {
	case len(s.c.Targets.All()) == 1 || slices.Contains(short, s.c.Targets.Last().Home()):
		return ""
	case slices.Contains(s.c.Options.Deny, last):
		return "or leave out --deny " + last + ", so that it takes the rest; "
	case slices.ContainsFunc(s.c.Options.Pins, func(p pass.Pin) bool { return p.Backend != last }):
		return "or pin less, so that " + last + " takes the rest; "
	}
	return ""
}

// maxRaises is the number of times that limits are raised to what a plan needs until an assignment keeps them.
const maxRaises = 4

// enough returns limits with which an assignment is found that keeps them. It begins with what a plan needs. With these
// limits the search may find another assignment, which needs more: then the limits are raised to that, a few times.
func (s *search) enough(need []int64) higherLimits {
	before := s.limits
	defer s.setLimits(before)
	need = slices.Clone(need)
	var limits memoryLimits
	for range maxRaises {
		limits = slices.Clone(before)
		for i := range limits {
			if before[i] >= 0 {
				limits[i] = max(before[i], need[i])
			}
		}
		s.setLimits(limits)
		s.Stay = false
		found := s.solve()
		if found.Fits() {
			return higherLimits{limits, true}
		}
		more, err := s.dryRun(found.Labels)
		if err != nil {
			break
		}
		for i := range need {
			need[i] = max(need[i], more.need[i])
		}
	}
	return higherLimits{limits, false}
}

// maxFactors is the number of times that raised multiplies limits by limitFactor.
const (
	maxFactors  = 8
	limitFactor = 8
	leastLimit  = 1 << 10 // a limit is raised from at least this: 0 stays 0 otherwise
	mostLimit   = 1 << 50
)

// raised returns what a plan needs that is found when all limits are multiplied by the same factor: the least power
// of limitFactor that is enough.
func (s *search) raised() (need []int64, err error) {
	before := s.limits
	defer s.setLimits(before)
	s.Stay = false
	limits := slices.Clone(before)
	for range maxFactors {
		for i, limit := range limits {
			if limit >= 0 {
				limits[i] = min(max(limit, leastLimit), mostLimit/limitFactor) * limitFactor
			}
		}
		s.setLimits(slices.Clone(limits))
		if found := s.solve(); found.Fits() {
			d, err := s.dryRun(found.Labels)
			return d.need, err
		}
	}
	return nil, errors.New("no assignment keeps even much higher limits")
}

// limitsBelow returns an error for each limit of a space that is less than what is needed there. Limits are set by the
// user, for the space and its backends, and by the memory of the targets. Backends that share a memory have a limit
// each.
func (p *problem) limitsBelow(s int, need int64) []*pass.BudgetError {
	var list []*pass.BudgetError
	home := func(d *target.Descriptor) bool { return d != nil && d.Home() == p.spaces[s].Name }
	for _, name := range slices.Sorted(maps.Keys(p.c.Options.MaxMemory)) {
		if n := p.c.Options.MaxMemory[name]; n < need && (name == p.spaces[s].Name || home(p.c.Targets.Get(name))) {
			list = append(list, &pass.BudgetError{Name: name, Need: need, Limit: n})
		}
	}
	for _, d := range p.c.Targets.All() {
		if home(d) && d.Memory > 0 && d.Memory < need {
			list = append(list, &pass.BudgetError{Name: d.Name, Need: need, Limit: d.Memory, Own: true})
		}
	}
	return list
}
