// This file has the dictionaries of kernels to choose from.

package defaults

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// What SPECs call the columns by what the training data tell about them: where their values lie among those of all samples,
// as in gaussian:ranks:median; all, scaled by how much the targets vary with each,
// and the linear combinations of them along which the targets vary.
const (
	Ranks              = "ranks"
	RelevantColumns    = "relevant"
	RelevantDirections = "directions"
)

// OneKernel is what a fit learns on that has no time to choose.
const OneKernel = "gaussian:all:median"

const (
	linearKernel = "poly:1:all:0" // xᵀz/d: of the size of the others
	squareKernel = "poly:2:all:1" // (1 + xᵀz/d)²
	eachKernels  = "gaussian:each:median*1,2"
)

// Kernels is the dictionary of a fit that names neither kernels nor a way to choose
// them: Gaussians on all columns at several widths, a linear kernel, and Gaussians on
// each column where there are not too many.
func Kernels(cols int) []string {
	specs := []string{"gaussian:all:median*0.5,1,2,4", linearKernel}
	if hasEach(cols) {
		specs = append(specs, eachKernels)
	}
	return specs
}

func hasEach(cols int) bool { return cols > 1 && cols <= OwnColumns }

// StreamKernels is the dictionary of a streamed fit that names no kernels.
func StreamKernels() []string {
	return []string{"rff:gaussian:all:median*0.25,0.5,1,2:500", "linear:all"}
}

// Bases are the dictionaries that screening compares: functions of all columns of
// several smoothnesses, as they are, scaled by relevance, and along the relevant
// directions, sums of functions of single columns, and both, with and without a
// linear part.
func Bases(cols int) [][]string {
	all := [][]string{{linearKernel}, {squareKernel}, {squareKernel, "gaussian:all:median*2"}}
	for _, w := range []string{"0.25", "0.5", "1", "2", "4"} {
		for _, kind := range []string{"gaussian:all:median*", "laplacian:all:median*"} {
			all = append(all, []string{kind + w}, []string{kind + w, linearKernel})
		}
	}
	if cols > 1 {
		for _, w := range []string{"0.5", "1", "2"} {
			for _, kind := range []string{"gaussian", "laplacian"} {
				k := kind + ":" + RelevantColumns + ":median*" + w
				all = append(all, []string{k}, []string{k, linearKernel})
				if cols <= OwnColumns {
					all = append(all, []string{kind + ":" + RelevantDirections + ":median*" + w})
				}
			}
		}
	}
	if !hasEach(cols) {
		return all
	}
	for _, w := range []string{"0.25", "0.5", "1", "2"} {
		all = append(all, []string{"gaussian:" + Ranks + ":median*" + w}, []string{"laplacian:" + Ranks + ":median*" + w})
	}
	for _, w := range []string{"0.5", "1", "2"} {
		for _, kind := range []string{"gaussian", "laplacian"} {
			all = append(all, []string{kind + ":each:median*" + w, linearKernel})
		}
	}
	for _, pair := range [][2]string{
		{"gaussian:each:median*1", "gaussian:all:median*2"},
		{"gaussian:each:median*1", "laplacian:all:median*2"},
		{"laplacian:each:median*1", "gaussian:all:median*1"},
		{"laplacian:each:median*1", "laplacian:all:median*1"},
	} {
		all = append(all, []string{pair[0], pair[1], linearKernel})
	}
	return all
}

// Subspaces are kernels of two shapes on random sets of the columns, of a third and of two
// thirds of them in turn. A sparse fit keeps
// the sets that serve it, as a forest does with its splits, and so finds which
// columns matter together.
func Subspaces(columns []int, seed uint64) []string {
	cols := len(columns)
	if cols < 4 || cols > OwnColumns {
		return nil
	}
	rng := rand.New(rand.NewPCG(seed, Subsets))
	var specs []string
	for k := range Subsets {
		set := rng.Perm(cols)[:max(2, (1+k%2)*cols/3)]
		slices.Sort(set)
		text := make([]string, len(set))
		for k, c := range set {
			text[k] = strconv.Itoa(columns[c])
		}
		list := strings.Join(text, ",")
		if spec := "laplacian:" + list + ":median*0.5"; !slices.Contains(specs, spec) {
			specs = append(specs, spec, "gaussian:"+list+":median")
		}
	}
	return specs
}
