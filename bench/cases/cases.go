// Package cases links every topic, a folder beside this file, into a program. Each
// case registers itself when the program starts.
package cases

import (
	_ "github.com/iokl/iokl/bench/cases/algebra"    // dense kernels and factorizations
	_ "github.com/iokl/iokl/bench/cases/causality"  // causal graphs
	_ "github.com/iokl/iokl/bench/cases/features"   // random features, streams
	_ "github.com/iokl/iokl/bench/cases/learning"   // classification, and how objectives fall
	_ "github.com/iokl/iokl/bench/cases/missing"    // targets with missing cells
	_ "github.com/iokl/iokl/bench/cases/peers"      // beside other programs
	_ "github.com/iokl/iokl/bench/cases/regression" // forecasts and multi-target regression
	_ "github.com/iokl/iokl/bench/cases/systems"    // the linear system K·C·L + λl·C = Y
)
