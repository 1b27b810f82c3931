// The choice between the implementations of the package.

package vmath

// set is one implementation of the package's functions. Row functions get at
// least one feature; slices have been cut to equal lengths.
type set struct {
	name         string
	exp          func(dst, x []float64, a float64)
	expStream    func(dst, x []float64, a float64) // dst at a multiple of 64 bytes, and as long as one
	sqDist       func(g []float64, ni float64, nj []float64)
	matern       func(dst, x []float64, s, c1, c2 float64)
	power        func(dst, x []float64, gamma, c float64, q int)
	sinCos       func(sin, cos, x []float64, amp float64) int // elements done before one out of range
	cos          func(dst, x []float64, amp float64) int      // the same
	narrow       func(dst []float32, x []float64)
	stream       func(dst, x []float64)
	streamNarrow func(dst []float32, x []float64)
	radix2       func(x []float64, h int)
	radix4       func(x []float64, h int)
	l1Row        func(dst, x, zt []float64, ld int)
	sqRow        func(dst, x, zt []float64, ld int)
	chi2Row      func(dst, x, zt []float64, ld int)
	lorentzRow   func(dst, x, zt []float64, ld int)
	harmonicRow  func(dst, x, zt []float64, ld int)
	secular      func(d, z []float64, mu float64) (sum, slope float64)
	reflect3     func(x, y, z []float64, tau, v1, v2 float64)
	rotate       func(c, s, a []float64, ld, n int) // of one rotation and one column at least
	sqDistBelow  func(g []float64, ni float64, nj []float64, s, c float64) bool
}

var generic = set{
	name: "generic", exp: expGeneric, expStream: expGeneric, sqDist: sqDistGeneric, matern: maternGeneric,
	power: powerGeneric, sinCos: sinCosGeneric, cos: cosGeneric, narrow: narrowGeneric, stream: streamGeneric,
	streamNarrow: narrowGeneric, radix2: radix2Generic, radix4: radix4Generic, l1Row: l1RowGeneric, sqRow: sqRowGeneric,
	chi2Row: chi2RowGeneric, harmonicRow: harmonicRowGeneric, sqDistBelow: sqDistBelowGeneric,
	lorentzRow: lorentzRowGeneric, secular: secularGeneric, reflect3: reflect3Generic, rotate: rotateGeneric,
}

// sets lists what this machine can run, the best first; use is the one in use. It is chosen when the program starts.
// Only tests change it, so that the exported functions, with their cuts and their ends of slices, run on every set.
var (
	sets = append(vectorSets(), generic)
	use  = sets[0]
)
