package native

import (
	"os"
	"testing"

	"github.com/iokl/iokl/internal/base/instructions"
)

// What the environment names is the level in use: a misspelt name, or one this machine lacks, tests something else.
func TestForced(t *testing.T) {
	name := os.Getenv(instructions.Variable)
	if got := New().Level().String(); name != "" && got != name {
		t.Errorf("%s=%s runs %s", instructions.Variable, name, got)
	}
}
