package pass

import (
	"regexp"
	"time"
)

// Options are the user's decisions about a compilation. The zero value is the default of every option.
type Options struct {
	Rules     string           // cost (the default), ggml-2024 or ggml-2026
	Pins      []Pin            // backends for nodes that the user names; the first match wins
	Deny      []string         // targets not to use; the last target still runs the nodes that no other one runs
	MaxMemory map[string]int64 // bytes, by backend or space
	Threads   int              // limit of the number of workers; 0 is that of the target
	Pipeline  int              // steps that may be under way at once; 0 is 1
	AllowBF16 bool             // weights of f16 may be rounded to bf16 where that makes products faster
	CPU       []string         // the implementations for processors that the program is limited to; empty is all
	PlanSteps int              // budget of the planner's search; 0 is its default
	PlanTime  time.Duration    // time limit of the planner's search; 0 is none
	Seed      uint64           // of Context.Rand
	Disable   []string         // passes and rules to leave out
	Debug     []Setting        // of --debug
	Observe   *regexp.Regexp   // of the values that programs hand out; nil for none
	Group     *Group           // of targets that compute nodes together; nil for none
	Shard     []ShardRule      // states of weights for the group; the first match wins
}
