package runtime

import (
	"errors"
	"fmt"
	"slices"
)

// fit returns the tokens of the messages. If there are more than the context has room for, the oldest turns are
// forgotten. A newest message that does not fit by itself is left out, and there are no tokens to answer.
func (c *conversation) fit() (prompt []int32, err error) {
	prompt, err = c.template.tokens(c.messages)
	if err != nil || len(prompt) <= c.program.LM.Context {
		return prompt, err
	}
	most := c.program.LM.Context
	alone, err := c.template.tokens(c.newest())
	if err != nil {
		return nil, err
	}
	if len(alone) > most {
		if err := c.checkSystem(most); err != nil {
			return nil, err
		}
		c.messages = c.messages[:len(c.messages)-1]
		c.tooLong++
		fmt.Fprintf(c.err, "%s: %sthe message is left out: it is %d tokens long, with those that are always there, and the context has room for %d: write a shorter one, or compile with a larger --ctx\n",
			c.name, c.place(), len(alone), most)
		return nil, nil
	}
	full := &ContextError{Used: c.session.length, Wanted: len(prompt) - c.session.length, Limit: most}
	prompt, err = c.shift(full, 0)
	return prompt, c.full(err)
}

// place is where the newest message is, for a note about it; "" for a user who has just written it.
func (c *conversation) place() string {
	switch {
	case !c.fromFile:
		return ""
	case c.begin == 0:
		return "--prompt: "
	}
	return fmt.Sprintf("line %d: ", c.begin)
}

// checkSystem reports a message of the system that leaves no room for any message of the user.
func (c *conversation) checkSystem(most int) error {
	if c.system() == 0 {
		return nil
	}
	empty := c.newest()
	empty[len(empty)-1].Content = ""
	ids, err := c.template.tokens(empty)
	if err != nil || len(ids) < most {
		return nil // a template may refuse an empty message
	}
	return fmt.Errorf("the message of the system is too long: an empty message after it makes %d tokens, and the context has room for %d: give a shorter --system, or compile with a larger --ctx",
		len(ids), most)
}

// system returns how many messages are before the first turn.
func (c *conversation) system() int {
	return max(0, slices.IndexFunc(c.messages, isUser))
}

func isUser(m Message) bool { return m.Role == "user" }

// newest returns the messages without all turns but the newest, which has no answer yet.
func (c *conversation) newest() []Message {
	return append(slices.Clone(c.messages[:c.system()]), c.messages[len(c.messages)-1])
}

// shift forgets the oldest turns until half of the context is free, or the newest turn alone is left, and returns the
// tokens of the other messages. There are more tokens, which were generated after them. It returns the error that the
// context is full if that is not enough, or the user does not want it.
//
// The keys of a cache are rotated by their positions, so that what is kept is computed again.
func (c *conversation) shift(full error, more int) (prompt []int32, err error) {
	if c.chat.keepAll {
		return nil, full
	}
	forgotten := 0
	for prompt == nil || len(prompt)+more > c.program.LM.Context/2 {
		if !c.forgetTurn() {
			break
		}
		forgotten++
		if prompt, err = c.template.tokens(c.messages); err != nil {
			return nil, err
		}
	}
	if forgotten == 0 || len(prompt)+more > c.program.LM.Context {
		return nil, full
	}
	fmt.Fprintf(c.err, "%s: the context is full: the oldest %s forgotten, %d of %d tokens are kept\n", c.name, turnsText(forgotten), len(prompt)+more, c.program.LM.Context)
	return prompt, nil
}

// turnsText is a number of turns in a sentence.
func turnsText(n int) string {
	if n == 1 {
		return "turn is"
	}
	return fmt.Sprintf("%d turns are", n)
}

// forgetTurn removes the oldest turn: a message of the user and what follows it up to the next one. It reports false if
// that is the newest one.
func (c *conversation) forgetTurn() bool {
	first := c.system()
	n := slices.IndexFunc(c.messages[first+1:], isUser)
	if n < 0 {
		return false
	}
	c.messages = slices.Delete(c.messages, first, first+1+n)
	return true
}

// full explains that the context is full, which ends the conversation.
func (c *conversation) full(err error) error {
	if !errors.Is(err, ErrContextFull) {
		return err
	}
	return fmt.Errorf("the conversation ends here: %w; or leave --context-shift=off out", err)
}
