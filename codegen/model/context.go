package model

//api:if language encoder

// ContextLength returns how many tokens a sequence can have.
func (m *Model) ContextLength() int { return program.ContextLength() }

//api:end
