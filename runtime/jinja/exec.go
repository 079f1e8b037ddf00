package jinja

func (s textStmt) exec(m *machine) flow {
	m.print(string(s))
	return flowNext
}

func (s printStmt) exec(m *machine) flow {
	for _, e := range s.of {
		v := m.eval(e)
		m.at = s.at
		m.print(m.str(v))
	}
	return flowNext
}

func (s ifStmt) exec(m *machine) flow {
	for _, b := range s.branches {
		if truth(m.eval(b.test)) {
			return m.run(b.body)
		}
	}
	return m.run(s.other)
}

func (s setStmt) exec(m *machine) flow {
	v := m.eval(s.value)
	m.assign(s.target, v)
	return flowNext
}

func (s setBlockStmt) exec(m *machine) flow {
	v, f := m.filtered(s.filters, s.body)
	if f == flowNext {
		m.assign(s.target, v)
	}
	return f
}

func (s filterStmt) exec(m *machine) flow {
	v, f := m.filtered(s.filters, s.body)
	if f == flowNext {
		m.print(m.str(v))
	}
	return f
}

// filtered returns what statements print, after some filters. If they break or continue a loop around them,
// there is no value.
func (m *machine) filtered(filters []filterExpr, body []stmt) (v any, f flow) {
	m.within(m.scope, func() {
		v = m.capture(func() { f = m.run(body) })
	})
	if f != flowNext {
		return nil, f
	}
	for i := range filters {
		v = m.filter(&filters[i], v)
	}
	return v, flowNext
}

func (s withStmt) exec(m *machine) flow {
	values := make([]any, len(s.values))
	for i, e := range s.values {
		values[i] = m.eval(e)
	}
	var f flow
	m.within(m.scope, func() {
		for i, t := range s.targets {
			m.assign(t, values[i])
		}
		f = m.run(s.body)
	})
	return f
}

func (breakStmt) exec(*machine) flow    { return flowBreak }
func (continueStmt) exec(*machine) flow { return flowContinue }

// assign sets a variable of a template, an attribute of a namespace, or several of them.
func (m *machine) assign(t target, v any) {
	m.at = t.at
	switch {
	case t.parts != nil:
		list := m.elements(m.use(v))
		m.at = t.at
		if len(list) != len(t.parts) {
			m.fail("%d values are assigned to %d names", len(list), len(t.parts))
		}
		for i, part := range t.parts {
			m.assign(part, list[i])
		}
	case t.attr != "":
		of, _, _ := m.scope.find(t.name)
		ns, ok := of.(*namespace)
		if !ok {
			m.fail("%s.%s cannot be set: %s is no namespace", t.name, t.attr, t.name)
		}
		ns.attrs.set(t.attr, v)
	default:
		m.set(t.name, v)
	}
}

func (s *macroStmt) exec(m *machine) flow {
	m.set(s.name, &macro{s, m.scope})
	return flowNext
}

// macro is the value of a macro: its statements, and the scope that they see.
type macro struct {
	*macroStmt
	scope *scope
}

func (c *macro) attr(m *machine, name string) (any, bool) {
	switch name {
	case "name":
		return c.name, true
	case "arguments":
		m.step(2 * len(c.params))
		m.made(2 * elementBytes * len(c.params))
		names := make(tuple, len(c.params))
		for i, p := range c.params {
			names[i] = p.name
		}
		return names, true
	case "catch_varargs":
		return c.varargs, true
	case "catch_kwargs":
		return c.kwargs, true
	case "caller":
		return c.caller, true
	}
	return nil, false
}

// call returns what the macro prints.
func (c *macro) call(m *machine, a *args) (s string) {
	at := m.at
	caller, hasCaller := m.takeNamed(a, "caller")
	was := m.scope
	m.scope = &scope{parent: c.scope, vars: map[string]any{}}
	if c.caller {
		m.scope.vars["caller"] = m.undefined("no caller is defined: the macro %[1]s is not used in a call block", c.name, nil)
	}
	if hasCaller {
		if !c.caller {
			m.fail("the macro %s has no use for a caller", c.name)
		}
		m.scope.vars["caller"] = caller
	}
	s = m.capture(func() {
		m.bindParams(c, a)
		m.at = at
		m.run(c.body)
	})
	m.scope, m.at = was, at
	return s
}

// bindParams sets the parameters of a macro, and varargs and kwargs if the macro uses them.
func (m *machine) bindParams(c *macro, a *args) {
	given := a.pos
	m.step(4 * len(c.params))
	for _, p := range c.params {
		v, named := m.takeNamed(a, p.name)
		switch {
		case len(given) > 0 && named:
			m.fail("the macro %s gets its parameter %s twice", c.name, p.name)
		case len(given) > 0:
			v, given = given[0], given[1:]
		case named:
		case p.fallback != nil:
			v = m.eval(p.fallback)
		default:
			v = m.undefined("the parameter %[1]s was not given", p.name, nil)
		}
		m.set(p.name, v)
	}
	if len(given) > 0 && !c.varargs {
		m.fail("the macro %s takes %d arguments, not %d", c.name, len(c.params), len(a.pos))
	}
	if len(a.named) > 0 && !c.kwargs {
		m.fail("the macro %s has no parameter %s", c.name, a.named[0].name)
	}
	if c.varargs {
		m.set("varargs", tuple(given))
	}
	if c.kwargs {
		d := &Dict{}
		for _, n := range a.named {
			d.set(n.name, n.value)
		}
		m.set("kwargs", d)
	}
}

func (s callStmt) exec(m *machine) flow {
	fn := m.eval(s.call.fn)
	a := m.args(s.call.args)
	a.named = append(a.named, namedArg{"caller", &macro{s.macro, m.scope}})
	m.at = s.call.at
	m.print(m.str(m.call(fn, a)))
	return flowNext
}
