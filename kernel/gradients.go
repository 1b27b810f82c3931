// Gradients of functions that are sums of Gaussian kernels.

package kernel

import "github.com/iokl/iokl/blas"

// Gradients are the rows σ⁻²·Σ_j K_ij·α_j·(z_j − z_i) for the rows z_i of Z (l×d), the Gram matrix K (l×l) and α (l×1).
// For K_ij = exp(−‖z_i − z_j‖²/2σ²) these are ∇f(z_i), f(z) = Σ_j α_j·k(z, z_j). K is overwritten by K·diag(α)/σ². 2l²d
// flops.
func Gradients(be blas.Backend, K, Z, alpha blas.General, sigma float64) blas.General {
	sums := make([]float64, Z.Rows)
	for i := range sums {
		for j, v := range blas.Row(K, i) {
			v = v * alpha.Data[j*alpha.Stride] / sigma / sigma
			K.Data[i*K.Stride+j] = v
			sums[i] += v
		}
	}
	G := blas.Product(be, false, false, K, Z)
	for i, sum := range sums {
		blas.Axpy(-sum, blas.Row(Z, i), blas.Row(G, i))
	}
	return G
}
