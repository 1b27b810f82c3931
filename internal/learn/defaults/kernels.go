// This file has the dictionaries of kernels to choose from.

package defaults

// What SPECs call the columns by what the training data tell about them: where their values lie among those of all
// samples, as in gaussian:ranks:median; all, scaled by how much the targets vary with each, and the linear combinations
// of them along which the targets vary.
const (
	Ranks              = "ranks"
	RelevantColumns    = "relevant"
	RelevantDirections = "directions"
)

// LinearKernel is xᵀz/d, of the size of the others.
const LinearKernel = "poly:1:all:0"

const eachKernels = "gaussian:each:median*1,2"

// Kernels is the dictionary of a fit that names neither kernels nor a way to choose
// them: Gaussians on all columns at several widths, a linear kernel, and Gaussians on
// each column where there are not too many.
func Kernels(cols int) []string {
	specs := []string{"gaussian:all:median*0.5,1,2,4", LinearKernel}
	if HasEach(cols) {
		specs = append(specs, eachKernels)
	}
	return specs
}

// HasEach reports whether each of so many columns gets kernels of its own.
func HasEach(cols int) bool { return cols > 1 && cols <= OwnColumns }

// StreamKernels is the dictionary of a streamed fit that names no kernels.
func StreamKernels() []string {
	return []string{"rff:gaussian:all:median*0.25,0.5,1,2:500", "linear:all"}
}
