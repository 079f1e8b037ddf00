package jinja

// expr is an expression.
type expr interface {
	eval(m *machine) any
}

// stmt is a statement, or text between statements.
type stmt interface {
	exec(m *machine) flow
}

// flow is where execution continues after a statement.
type flow uint8

const (
	flowNext flow = iota
	flowBreak
	flowContinue
)

// The expressions. A field at is the place for messages, a byte of the source.
type (
	constant struct{ value any }

	nameExpr struct {
		at   int
		name string
	}
	listExpr  []expr
	tupleExpr []expr
	dictExpr  struct {
		at   int
		keys []expr
		vals []expr
	}
	attrExpr struct { // of.name
		at   int
		of   expr
		name string
	}
	itemExpr struct { // of[index]
		at        int
		of, index expr
	}
	sliceExpr struct{ start, stop, step expr } // as an index; nil where it is left out
	callExpr  struct {
		at   int
		fn   expr
		args argList
	}
	filterExpr struct {
		at   int
		name string
		of   expr // nil in a filter block
		args argList
	}
	testExpr struct {
		at   int
		name string
		of   expr
		args argList
	}
	signExpr struct { // -of, +of
		at int
		op string
		of expr
	}
	binaryExpr struct {
		at          int
		op          string
		left, right expr
	}
	notExpr   struct{ of expr }
	logicExpr struct { // and, or
		or          bool
		left, right expr
	}
	compareExpr struct { // first op of op of ..., as in 1 < x < 5
		first expr
		rest  []comparand
	}
	concatExpr []expr // a ~ b ~ c
	condExpr   struct {
		at            int
		test, yes, no expr // no is nil without else
	}
)

type comparand struct {
	at int
	op string
	of expr
}

// argList is the arguments of a call.
type argList struct {
	pos           []expr
	named         []namedExpr
	spread, dicts expr // *spread, **dicts; nil without
}

type namedExpr struct {
	name string
	of   expr
}

// The statements.
type (
	textStmt  string
	printStmt struct {
		at int
		of []expr
	}
	ifStmt struct {
		branches []branch
		other    []stmt
	}
	forStmt struct {
		at        int
		target    target
		over      expr
		only      expr // nil without a condition
		body      []stmt
		other     []stmt
		recursive bool
	}
	setStmt struct {
		at     int
		target target
		value  expr
	}
	setBlockStmt struct {
		target  target
		filters []filterExpr
		body    []stmt
	}
	macroStmt struct {
		name   string
		params []param
		body   []stmt
		macroUses
	}
	callStmt struct {
		at    int
		macro *macroStmt // the body of the block
		call  *callExpr
	}
	filterStmt struct {
		filters []filterExpr
		body    []stmt
	}
	withStmt struct {
		targets []target
		values  []expr
		body    []stmt
	}
	breakStmt    struct{}
	continueStmt struct{}
)

// macroUses is which names that only macros have the body of one uses.
type macroUses struct{ varargs, kwargs, caller bool }

type branch struct {
	test expr
	body []stmt
}

// param is a parameter of a macro. Its fallback is nil if it has none.
type param struct {
	name     string
	fallback expr
}

// target is what a value is assigned to: a name, an attribute of a namespace, or several targets that share the
// elements of a value.
type target struct {
	at    int
	name  string
	attr  string
	parts []target // not nil: several
}
