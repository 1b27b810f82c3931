// Package benchtest runs cases of mklbench quickly in their tests.
package benchtest

import "github.com/iokl/iokl/bench"

// Quick is the environment of a quick run.
func Quick() *bench.Env {
	env := bench.NewEnv()
	env.Quick = true
	return env
}
