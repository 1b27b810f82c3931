package vmath

// Exp computes dst_i = exp(a·x_i).
func Exp(dst, x []float64, a float64) {
	dst = dst[:len(x)]
	expGeneric(dst, x, a)
}

// SqDist turns inner products into squared Euclidean distances in place:
// g_j = max(0, ni + nj_j − 2·g_j), where ni and nj are squared norms.
func SqDist(g []float64, ni float64, nj []float64) {
	sqDistGeneric(g, ni, nj[:len(g)])
}

// Matern computes dst_i = p(t)·exp(−t) at t = s·√x_i, x_i ≥ 0, with p(t) = 1,
// 1 + t or 1 + t + t²/3 for order 0, 1 or 2.
func Matern(dst, x []float64, s float64, order int) {
	dst = dst[:len(x)]
	if order < 0 || order > 2 {
		panic("vmath: Matern of an order other than 0, 1, 2")
	}
	maternGeneric(dst, x, s, order)
}

// L1Row computes dst_j = Σ_f |x_f − z_fj|, where row f of zt, of stride ld,
// holds feature f of the samples j.
func L1Row(dst, x, zt []float64, ld int) {
	checkRow(dst, x, zt, ld)
	l1RowGeneric(dst, x, zt, ld)
}

// SqRow computes dst_j = Σ_f (x_f − z_fj)², laid out as in L1Row.
func SqRow(dst, x, zt []float64, ld int) {
	checkRow(dst, x, zt, ld)
	sqRowGeneric(dst, x, zt, ld)
}

// Chi2Row computes dst_j = Σ_f (x_f − z_fj)²/(x_f + z_fj) for non-negative
// features, 0/0 counting as 0, laid out as in L1Row.
func Chi2Row(dst, x, zt []float64, ld int) {
	checkRow(dst, x, zt, ld)
	chi2RowGeneric(dst, x, zt, ld)
}

// LorentzRow computes dst_j = Π_f (1 + (x_f − z_fj)²), laid out as in L1Row.
func LorentzRow(dst, x, zt []float64, ld int) {
	checkRow(dst, x, zt, ld)
	lorentzRowGeneric(dst, x, zt, ld)
}

func checkRow(dst, x, zt []float64, ld int) {
	if len(dst) > ld && len(x) > 1 || len(x) > 0 && len(zt) < (len(x)-1)*ld+len(dst) {
		panic("vmath: features do not cover the destination")
	}
}
