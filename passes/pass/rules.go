package pass

// RuleName is the name of a [Rule], PASS.WORD. Causes, --disable and statistics show it. The rules of ggml's schedulers
// have the names that ggml prints.
type RuleName string

// The names of all rules, by pass in the order of the pipeline.
const (
	RuleInlineCall   RuleName = "inline.call"
	RuleInlineRepeat RuleName = "inline.repeat"

	RuleFoldConstant RuleName = "fold.constant"

	RuleCSEEqual RuleName = "cse.equal"

	RuleNarrowRows RuleName = "narrow.rows"

	RuleCanonicalizeNoop    RuleName = "canonicalize.noop"
	RuleCanonicalizeReshape RuleName = "canonicalize.reshape"
	RuleCanonicalizePermute RuleName = "canonicalize.permute"
	RuleCanonicalizeSlice   RuleName = "canonicalize.slice"
	RuleCanonicalizeUnit    RuleName = "canonicalize.unit"
	RuleCanonicalizeOrder   RuleName = "canonicalize.order"

	RuleShardReduce  RuleName = "shard.reduce"
	RuleShardOrder   RuleName = "shard.order"
	RuleShardGather  RuleName = "shard.gather"
	RuleShardScatter RuleName = "shard.scatter"
	RuleShardPart    RuleName = "shard.part"
	RuleShardCost    RuleName = "shard.cost"
	RuleShardGGML    RuleName = "shard.ggml"

	RuleSpreadMember   RuleName = "spread.member"
	RuleSpreadOnce     RuleName = "spread.once"
	RuleSpreadPin      RuleName = "spread.pin"
	RuleSpreadFallback RuleName = "spread.fallback"

	RuleFuseSwiGLU   RuleName = "fuse.swiglu"
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

	RuleFuseLateNorm          RuleName = "fuse-late.norm"
	RuleFuseLateNormBF16      RuleName = "fuse-late.norm-bf16"
	RuleFuseLateSwiGLUBF16    RuleName = "fuse-late.swiglu-bf16"
	RuleFuseLateAttentionBF16 RuleName = "fuse-late.attention-bf16"
	RuleFuseLateSegments      RuleName = "fuse-late.segments"

	RuleSplitFirst RuleName = "split.first"
	RuleSplitDev   RuleName = "split.dev"
	RuleSplitWgt   RuleName = "split.wgt"
	RuleSplitIdx   RuleName = "split.idx"
	RuleSplitMax   RuleName = "split.max"

	RuleCopyIn      RuleName = "copy.in"
	RuleCopyLate    RuleName = "copy.late"
	RuleCopyOut     RuleName = "copy.out"
	RuleCopyWhole   RuleName = "copy.whole"
	RuleCopyAhead   RuleName = "copy.ahead"
	RuleCopyExperts RuleName = "copy.experts"
	RuleCopyIdx     RuleName = "copy.idx"
	RuleCopyVia     RuleName = "copy.via"

	RuleCopyShared RuleName = "copy.shared"
	RuleCopyAgain  RuleName = "copy.again"
	RuleCopyApart  RuleName = "copy.apart"

	RulePipelineSource RuleName = "pipeline.source"
	RulePipelineIn     RuleName = "pipeline.in"
	RulePipelineSlots  RuleName = "pipeline.slots"

	RuleRollRepeat RuleName = "roll.repeat"
	RuleRollInit   RuleName = "roll.init"
	RuleRollNext   RuleName = "roll.next"

	RuleChainJoin RuleName = "chain.join"

	RuleOrderPeak     RuleName = "order.peak"
	RuleOrderOverlap  RuleName = "order.overlap"
	RuleOrderTogether RuleName = "order.together"

	RulePartitionSplit      RuleName = "partition.split"
	RulePartitionOwn        RuleName = "partition.own"
	RulePartitionDynamic    RuleName = "partition.dynamic"
	RulePartitionReplicated RuleName = "partition.replicated"
	RulePartitionWithin     RuleName = "partition.within"
	RulePartitionOne        RuleName = "partition.one"
	RulePartitionRAW        RuleName = "partition.raw"
	RulePartitionWAR        RuleName = "partition.war"
	RulePartitionWAW        RuleName = "partition.waw"
	RulePartitionHead       RuleName = "partition.head"
	RulePartitionWait       RuleName = "partition.wait"
	RulePartitionResult     RuleName = "partition.result"

	RulePlanInplace RuleName = "plan.inplace"
	RulePlanCarried RuleName = "plan.carried"

	RuleSyncRAW      RuleName = "sync.raw"
	RuleSyncWAR      RuleName = "sync.war"
	RuleSyncWAW      RuleName = "sync.waw"
	RuleSyncTogether RuleName = "sync.together"

	RuleCheckNeedless RuleName = "check.needless"
)
