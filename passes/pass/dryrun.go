package pass

// DryRun are the instructions of a dry run. A dry run makes a plan to find out how much memory it needs, not to keep
// it: plan does not check limits of memory.
type DryRun struct {
	Keep CopySet // the copies that elide-copy has to keep; nil lets it decide
}

// CopySet is a set of copies, named by their places in the module before elide-copy, which elide-copy keeps although an
// earlier copy has the same bytes. An empty set keeps none; nil is not a decision.
type CopySet map[NodeAt]bool

// NodeAt is the place of a node: the position of its function in ir.Module.AllFuncs, and its position in there.
type NodeAt struct{ Fn, Node int }
