// Package simplify holds the passes that change which nodes a function has, such as cse, dce, chain and fuse. In the
// order of the pipeline:
//
//	shape          types of all values
//	inline         calls and repeats become the nodes that they run
//	fold           nodes that read constants only become constants
//	cse            nodes that compute the same become one
//	dce            nodes that nothing needs are removed; again after fuse, pack and elide-copy
//	narrow         rows of values that nothing reads are not computed
//	canonicalize   views and operands get one spelling, which the patterns of fuse are written in
//	fuse           nodes become one, if some target runs it
//	unfuse         fused nodes become several again, if the chosen backend does not run them; after assign
//	fuse-late      norms join the conversions of their results; long contexts are cut into segments; after pack
//	chain          elementwise nodes become one, if their backend computes them in one pass over memory; after roll
package simplify
