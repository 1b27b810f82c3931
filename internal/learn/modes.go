// Types of what a fit learns, and of the model that it learns it in.

package learn

import (
	"slices"
	"strings"

	"github.com/iokl/iokl/internal/learn/fault"
)

// Learned says what is learned beside C. "" leaves that open, which means Both where nothing chooses.
type Learned string

// What can be learned beside C.
const (
	Both         Learned = "eta,l"
	Weights      Learned = "eta"
	OutputKernel Learned = "l"
	Nothing      Learned = "none"
	Likelihood   Learned = "likelihood" // variance components of a mixed model
)

// Weights reports whether η is learned.
func (w Learned) Weights() bool { return w == "" || w == Both || w == Weights || w == Likelihood }

// OutputKernel reports whether L is learned.
func (w Learned) OutputKernel() bool {
	return w == "" || w == Both || w == OutputKernel || w == Likelihood
}

// Check refuses unknown words and puts known ones in their order.
func (w *Learned) Check() error {
	words := strings.Split(string(*w), ",")
	slices.Sort(words)
	text := strings.Join(words, ",")
	have := []string{"", string(Both), string(Weights), string(OutputKernel), string(Nothing), string(Likelihood)}
	err := fault.Choice("choice of what to learn", &text, have)
	if err == nil {
		*w = Learned(text)
	}
	return err
}

// Model is how kernels and output kernels go together. "" leaves that open, which means Product where nothing chooses.
type Model string

// The models.
const (
	Product Model = "product" // K_η ⊗ L
	Sum     Model = "sum"     // Σ_j K_j ⊗ L_j
)

// Check refuses unknown models.
func (m *Model) Check() error {
	text := string(*m)
	return fault.Choice("model", &text, []string{"", string(Product), string(Sum)})
}
