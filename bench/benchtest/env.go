// Package benchtest serves the tests of cases.
package benchtest

import "github.com/iokl/iokl/bench"

// Quick is the environment of a quick run.
func Quick() *bench.Env {
	env := bench.NewEnv()
	env.Quick = true
	return env
}
