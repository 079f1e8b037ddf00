// Package devices runs programs that are divided between the processor and simulated devices with queues.
package devices

import (
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
