package pass

// RuleName names a reason for which a pass decides something: PASS.WORD. Causes, --disable and statistics show it.
// The causes of ggml's schedulers have the names that ggml prints. Each rule is declared, with a sentence, by its pass.
type RuleName string

const (
	RuleInlineCall   RuleName = "inline.call"
	RuleInlineRepeat RuleName = "inline.repeat"

	RuleFoldConstant RuleName = "fold.constant"

	RuleCseEqual RuleName = "cse.equal"

	RuleCanonicalizeNoop    RuleName = "canon.noop"
	RuleCanonicalizeReshape RuleName = "canon.reshape"
	RuleCanonicalizePermute RuleName = "canon.permute"
	RuleCanonicalizeSlice   RuleName = "canon.slice"
	RuleCanonicalizeUnit    RuleName = "canon.unit"
	RuleCanonicalizeOrder   RuleName = "canon.order"

	RuleFuseSwiglu   RuleName = "fuse.swiglu"
	RuleFuseGateUp   RuleName = "fuse.gate-up"
	RuleFuseResidual RuleName = "fuse.residual"
	RuleFuseQKV      RuleName = "fuse.qkv"

	RuleAssignPin      RuleName = "assign.pin"
	RuleAssignBody     RuleName = "assign.body"
	RuleAssignPieces   RuleName = "assign.pieces"
	RuleAssignCost     RuleName = "assign.cost"
	RuleAssignOnly     RuleName = "assign.only"
	RuleAssignMemory   RuleName = "assign.memory"
	RuleAssignWhole    RuleName = "assign.whole"
	RuleAssignFlow     RuleName = "assign.flow"
	RuleAssignPlace    RuleName = "assign.place"
	RuleAssignStep     RuleName = "assign.step"
	RuleAssignState    RuleName = "assign.state"
	RuleAssignFirst    RuleName = "assign.first"
	RuleAssignFallback RuleName = "assign.fallback"
	RuleGGMLUsr        RuleName = "usr"
	RuleGGMLLoad       RuleName = "0.load"
	RuleGGMLDst        RuleName = "1.dst"
	RuleGGMLViewSrc1   RuleName = "1.vsrc"
	RuleGGMLInp        RuleName = "1.inp"
	RuleGGMLOff        RuleName = "1.off"
	RuleGGMLWgt        RuleName = "1.wgt"
	RuleGGML22         RuleName = "2.2"
	RuleGGML21         RuleName = "2.1"
	RuleGGML24         RuleName = "2.4"
	RuleGGML23         RuleName = "2.3"
	RuleGGMLViewSrc3   RuleName = "3.vsrc"
	RuleGGMLCur3       RuleName = "3.cur"
	RuleGGMLCpy        RuleName = "4.cpy"
	RuleGGMLSup        RuleName = "2.sup"
	RuleGGMLBest       RuleName = "3.best"
	RuleGGMLUpg        RuleName = "3.upg"
	RuleGGMLViewSrc4   RuleName = "4.vsrc"
	RuleGGMLCur4       RuleName = "4.cur"

	RuleUnfuseLower RuleName = "unfuse.lower"

	RulePackBF16   RuleName = "pack.bf16"
	RulePackLayout RuleName = "pack.layout"
	RulePackCost   RuleName = "pack.cost"
	RulePackState  RuleName = "pack.state"
	RulePackSecond RuleName = "pack.second"
	RulePackAct    RuleName = "pack.act"
	RulePackDense  RuleName = "pack.dense"
	RulePackNode   RuleName = "pack.node"
	RulePackResult RuleName = "pack.result"

	RuleFuseLateNorm          RuleName = "late.norm"
	RuleFuseLateNormBF16      RuleName = "late.norm-bf16"
	RuleFuseLateSwigluBF16    RuleName = "late.swiglu-bf16"
	RuleFuseLateAttentionBF16 RuleName = "late.attention-bf16"
	RuleFuseLateSegments      RuleName = "late.segments"

	RuleSplitFirst RuleName = "s.first"
	RuleSplitDev   RuleName = "s.dev"
	RuleSplitWgt   RuleName = "s.wgt"
	RuleSplitIdx   RuleName = "s.idx"
	RuleSplitMax   RuleName = "s.max"

	RuleCopyIn      RuleName = "c.in"
	RuleCopyLate    RuleName = "c.late"
	RuleCopyOut     RuleName = "c.out"
	RuleCopyWhole   RuleName = "c.whole"
	RuleCopyAhead   RuleName = "c.ahead"
	RuleCopyExperts RuleName = "c.experts"
	RuleCopyIdx     RuleName = "c.idx"

	RuleCopyShared RuleName = "c.shared"
	RuleCopyAgain  RuleName = "c.again"
	RuleCopyApart  RuleName = "c.apart"

	RulePipelineSource RuleName = "q.source"
	RulePipelineIn     RuleName = "q.in"
	RulePipelineSlots  RuleName = "q.slots"

	RuleRollRepeat RuleName = "roll.repeat"
	RuleRollInit   RuleName = "roll.init"
	RuleRollNext   RuleName = "roll.next"

	RuleOrderPeak    RuleName = "order.peak"
	RuleOrderOverlap RuleName = "order.overlap"

	RulePartitionSplit  RuleName = "part.split"
	RulePartitionOwn    RuleName = "part.own"
	RulePartitionTail   RuleName = "part.tail"
	RulePartitionEach   RuleName = "part.each"
	RulePartitionOne    RuleName = "part.one"
	RulePartitionRAW    RuleName = "part.raw"
	RulePartitionWAR    RuleName = "part.war"
	RulePartitionWAW    RuleName = "part.waw"
	RulePartitionHead   RuleName = "part.head"
	RulePartitionWait   RuleName = "part.wait"
	RulePartitionResult RuleName = "part.result"

	RulePlanInplace RuleName = "plan.inplace"
	RulePlanCarried RuleName = "plan.carried"

	RuleSyncRAW RuleName = "q.raw"
	RuleSyncWAR RuleName = "q.war"
	RuleSyncWAW RuleName = "q.waw"

	RuleCheckNeedless RuleName = "check.needless"
)
