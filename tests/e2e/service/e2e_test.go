// Package service runs what programs offer besides a prompt: chats, grammars, several sequences, tools and tokenizers.
package service

import (
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
