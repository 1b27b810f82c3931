// Package linop holds the symmetric operators of the module: weighted sums of
// Gram matrices and of factors, their Kronecker products with output kernels,
// sums of these, their restriction to observed cells, and the spectral form that
// output kernels are kept in.
//
// Symbols, throughout the module:
//
//	symbol  Go name   shape   meaning
//	l d n m                   samples, inputs, outputs, kernels
//	X, Y    X, Y      l×d l×n inputs and targets, a row per sample
//	K_j     Terms     l×l     Gram matrix of the scalar kernel k_j
//	η       eta       m       kernel weights, ≥ 0; K_η = Σ_j η_j K_j
//	L       L         n×n     output kernel matrix, PSD, tr L ≤ τ
//	C       C         l×n     coefficients; fitted values F = K_η C L
//	Ω       Cells     l×n     observed cells of Y; P_Ω keeps them and zeroes the others
//	λ, τ    Lambda    scalar  regularization; Tau the trace bound
//	μ       Mu        scalar  λ·l, the shift of every linear system
//	Z_j     Factors   l×d_j   factor of K_j = Z_j Z_jᵀ
//	Γ, H    Gamma, H  D×D D×n ZᵀZ and ZᵀY
//	c_j     c         m       tr(Cᵀ K_j C L), the derivative of −h/λ along η_j
//	G       G         n×n     Cᵀ K_η C, the derivative of −h/λ along L
package linop
