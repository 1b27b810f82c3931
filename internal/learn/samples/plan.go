package samples

import (
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/dictionary"
	"github.com/iokl/iokl/kernel"
)

// plan is the memory of a fit of the dictionary to l samples and n outputs.
func (opt *Options) plan(d kernel.Dictionary, l, n int) (learn.Plan, error) {
	features, err := dictionary.InFeatures(d, l)
	if err != nil || !features {
		return opt.gramPlan(len(d), l, n), err
	}
	D := dictionary.Width(d)
	return learn.Plan{What: fmt.Sprintf("sums of %d features", D), Instead: "fewer features", Bytes: FeatureBytes(D, n)}, nil
}

// gramPlan is the memory of m Gram matrices of l samples, K_η, and some l×n blocks.
func (opt *Options) gramPlan(m, l, n int) learn.Plan {
	return learn.Plan{
		What:    fmt.Sprintf("%d Gram matrices of %d samples in %v", m, l, opt.Precision),
		Instead: "float32, fewer kernels, or explicit features (linear, rff:…, nystrom:…)",
		Bytes: float64(m)*float64(blas.SymBytes(l, opt.Precision)) +
			float64(l)*float64(l)*float64(opt.Precision.Bytes()) + 12*8*float64(l)*float64(n),
	}
}

// FeatureBytes is the memory of one fit with D features: ΓᵀΓ as accumulated and
// as packed, and D×n blocks.
func FeatureBytes(D, n int) float64 {
	return 8 * (2*float64(D)*float64(D) + 12*float64(D)*float64(n) + 1024*float64(D))
}
