// Model files: their format, and how they are written.

package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/npy"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/rff"
)

// A model file is a .npz archive that numpy opens: float64 arrays, and the
// member meta.json with all else and a checksum of every array.
//
//	eta                   m      kernel weights, those of 0 too
//	L_vectors, L_values   n×r, r output kernel L = V diag(s) Vᵀ over the outputs that were learned
//	X                     l×d    training inputs as the kernels see them (kind samples)
//	CL                    l×n    C·L (kinds samples and gram);
//	                             the C·L_j of the kernels of weight, side by side (kinds sum and gram-sum)
//	Ls_vectors, Ls_values n×r, r the L_j = V_j diag(s_j) V_jᵀ of the kernels of weight, side by side
//	                             (kinds sum and gram-sum, and features with an L_j each)
//	Ls_ranks              a      their ranks, which add up to r
//	WL                    D×n    √η_j·W·L, the weights of the features of kernels of positive weight,
//	                             or (ZᵀC)_j·L_j (kind features)
//	Y                     l×n    targets as they were learned, NaN where missing (kinds samples and sum, optional);
//	                             in the units of the data for losses other than the squared one
//	W                     l×n, l×1 their weights, of cells or of rows (where they have any)
//	gamma1, gamma2, …     D(D+1)/2 the lower triangle, row by row, of ZᵀZ over the rows of one pattern
//	                             of observed targets (kind features, optional)
//	H1, H2, …             D×n    ZᵀY over them (kind features, optional)
//	residuals             s×n    those of s random rows, each in a model without it (kind samples of many rows)
//	residual_deviations   s×n    their deviations for noise 1
//	noise                 n      standard deviations of the noise
//	variance_share        r      part of the variances by neighbours that all rows leave
//	held_observed,
//	held_predicted        s×N    targets of s held-out rows, in the units of the data, NaN where missing, and what
//	                             was predicted for them without them (optional)
//	held_weights          s×N, s×1 their weights, of cells or of rows (where they have any)
//	held_deviations       s×N    deviations of the noise there, where it was learned
//	held_inputs           s×d    their inputs as the kernels see them (kind features)
//
// A model without the samples of fold k, from 1, has the same arrays with the prefix
// fold<k>/, and beside them
//
//	observed, predicted   s×N    targets of the s samples left out, in the units of the data, and
//
// its predictions for them, and where the targets have any
//
//	weights               s×N, s×1 their weights, of cells or of rows
//
// A model that learned the noise has the model of the logarithm of its variance, with the
// same folds, behind the prefix noise/.
const (
	fileFormat = "iokl model"
	// 2: kernels may scale columns; 3: each may have an L_j of its own; 4: cells of Y may be missing, 5: have weights;
	// 6: kernels may see columns beside ranks, probabilities may be calibrated; 7: outputs may be points of an axis;
	// 8: samples left out of folds may have weights; 9: held-out predictions are kept without models of folds
	fileVersion = 9
	metaName    = "meta.json"
)

// Names of the arrays of an [Estimate].
const (
	residualsName  = "residuals"
	deviationsName = "residual_deviations"
	noiseName      = "noise"
	shareName      = "variance_share"
)

// Names of the arrays of a [HeldOut].
const (
	heldObserved   = "held_observed"
	heldPredicted  = "held_predicted"
	heldWeights    = "held_weights"
	heldDeviations = "held_deviations"
	heldInputs     = "held_inputs"
)

// meta is the JSON entry of a model file.
type meta struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	wholeMeta
	Certificate json.RawMessage   `json:"certificate"`
	Spread      *wholeMeta        `json:"noise,omitempty"`
	Origin      json.RawMessage   `json:"origin,omitempty"`
	Checksums   map[string]string `json:"checksums"` // SHA-256 of shape and elements
}

// wholeMeta is what meta says about a learned function and those without some of the samples.
type wholeMeta struct {
	part
	Folds []foldMeta `json:"folds,omitempty"`
}

// part is what meta says about one learned function.
type part struct {
	Kind       string            `json:"kind"` // samples, gram, features, sum or gram-sum
	Kernels    []string          `json:"kernels"`
	Dictionary kernel.Dictionary `json:"dictionary,omitempty"` // the kernels of positive weight
	Maps       rff.Maps          `json:"maps,omitempty"`       // their feature maps (kind features)
	Inputs     *columns.Inputs   `json:"inputs,omitempty"`
	Outputs    *columns.Outputs  `json:"outputs"`
	Mu         float64           `json:"mu,omitempty"`
	Noise      []float64         `json:"noise_variances,omitempty"` // in place of μ, by likelihood
	Held       *heldMeta         `json:"held_out,omitempty"`
	Warnings   []string          `json:"warnings,omitempty"`
	// what Source keeps: kernels and maps of weight 0, and the sums
	Idle     kernel.Dictionary `json:"idle,omitempty"`
	IdleMaps rff.Maps          `json:"idle_maps,omitempty"`
	Sums     []patternMeta     `json:"sums,omitempty"`
}

// heldMeta is what meta says about held-out predictions.
type heldMeta struct {
	Rows  []int `json:"rows"`  // their numbers
	Folds int   `json:"folds"` // 0 for refits without each row
}

// foldMeta is what meta says about a model without some of the samples.
type foldMeta struct {
	part
	Rows []int `json:"rows"` // samples left out
}

// member is a named array of a model file.
type member struct {
	name  string
	array npy.Array
}

func matrixMember(name string, a blas.General) member {
	if a.Stride != a.Cols {
		a = blas.Clone(a)
	}
	return member{name, npy.Array{Shape: []int{a.Rows, a.Cols}, Data: a.Data[:a.Rows*a.Cols]}}
}

func vectorMember(name string, v []float64) member {
	return member{name, npy.Array{Shape: []int{len(v)}, Data: v}}
}

// leastVersion is that of the format that knows all that is in the file.
func (m *Model) leastVersion() int {
	besideRanks := func(k kernel.Kernel) bool {
		return slices.ContainsFunc(k.Knots, func(knots []float64) bool { return knots == nil })
	}
	switch {
	case m.Held != nil || m.Noise != nil:
		return fileVersion
	case slices.ContainsFunc(m.Folds, func(f Fold) bool { return f.W.Data != nil }):
		return 8
	case m.Out.Axis != nil:
		return 7
	case m.Out.Calibration != nil || slices.ContainsFunc(m.Basis.kernels(), besideRanks):
		return 6
	case m.W.Data != nil:
		return 5
	case m.Y.Rows > 0 && !m.AllTargets():
		return 4
	case m.OutputKernels() != nil:
		return 3
	}
	return 2
}

// Encode writes a model file. certificate says how the fit ended, in JSON.
func (m *Model) Encode(w io.Writer, certificate any) error {
	cert, err := json.Marshal(certificate)
	if err != nil {
		return fmt.Errorf("model: %w", err)
	}
	head := meta{
		Format: fileFormat, Version: m.leastVersion(), Certificate: cert, Origin: m.Origin,
		Checksums: map[string]string{},
	}
	var members []member
	head.wholeMeta, members = m.describeWhole("")
	if m.Spread != nil {
		p, own := m.Spread.describeWhole(spreadPrefix)
		head.Spread, members = &p, append(members, own...)
	}
	z := npy.NewArchiveWriter(w)
	for _, a := range members {
		head.Checksums[a.name] = checksum(&a.array)
		if err := z.Array(a.name, a.array); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(head, "", " ")
	if err != nil {
		return fmt.Errorf("model: %w", err)
	}
	if err := z.Raw(metaName, append(text, '\n')); err != nil {
		return err
	}
	return z.Close()
}

// spreadPrefix is that of the arrays of Model.Spread.
const spreadPrefix = "noise/"

// foldPrefix is that of the arrays of fold k, from 0.
func foldPrefix(k int) string { return fmt.Sprintf("fold%d/", k+1) }

// describeWhole is what a file keeps of the model and its folds.
func (m *Model) describeWhole(prefix string) (w wholeMeta, members []member) {
	w.part, members = m.describe(prefix)
	for k, f := range m.Folds {
		at := prefix + foldPrefix(k)
		p, own := f.describe(at)
		w.Folds = append(w.Folds, foldMeta{p, f.Rows})
		members = append(append(members, own...), matrixMember(at+"observed", f.Y), matrixMember(at+"predicted", f.F))
		if f.W.Data != nil {
			members = append(members, matrixMember(at+"weights", f.W))
		}
	}
	return w, members
}

// describe is what a file keeps of the model, without its folds.
func (m *Model) describe(prefix string) (part, []member) {
	p := part{
		Kind: m.Basis.kind(), Kernels: m.Names, Inputs: m.In, Outputs: m.Out, Mu: m.Mu, Noise: m.Noise,
		Warnings: m.Warnings,
	}
	members := []member{vectorMember("eta", m.Eta), matrixMember("L_vectors", m.L.V), vectorMember("L_values", m.L.S)}
	members = append(members, m.Basis.members(&p)...)
	members = append(members, m.Source.members(&p)...)
	if e := m.Estimate; e != nil {
		members = append(members, matrixMember(residualsName, e.R), matrixMember(deviationsName, e.D),
			vectorMember(noiseName, e.Sigma), vectorMember(shareName, e.Share))
	}
	if h := m.Held; h != nil {
		p.Held = &heldMeta{h.Rows, h.Folds}
		members = append(members, matrixMember(heldObserved, h.Y), matrixMember(heldPredicted, h.F))
		for k, a := range []blas.General{h.W, h.D, h.X} {
			if a.Data != nil {
				members = append(members, matrixMember([]string{heldWeights, heldDeviations, heldInputs}[k], a))
			}
		}
	}
	for i := range members {
		members[i].name = prefix + members[i].name
	}
	return p, members
}

func (b *Features) members(head *part) []member {
	head.Maps = b.maps
	return append([]member{matrixMember("WL", b.WL)}, spectra(b.L)...)
}

// checksum is the SHA-256 of the shape and the elements, little-endian.
func checksum(a *npy.Array) string {
	h := sha256.New()
	for _, s := range a.Shape {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(s)))
	}
	_ = npy.WriteElements(h, a.Data) // no hash fails
	return hex.EncodeToString(h.Sum(nil))
}
