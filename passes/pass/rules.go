package pass

const (
	RuleCopyIn      = "c.in"
	RuleCopyLate    = "c.late"
	RuleCopyOut     = "c.out"
	RuleCopyWhole   = "c.whole"
	RuleCopyAhead   = "c.ahead"
	RuleCopyExperts = "c.experts"
	RuleCopyIdx     = "c.idx"
)

const RuleApart = "c.apart"
