// This file says how fast the native backend is beside the others.

package algebra

import "github.com/iokl/iokl/bench"

// concludeSpeed compares native with each other backend, and Gram matrices with products.
func concludeSpeed(what string) func(group []bench.Result) []string {
	return bench.Say(`
{{$all := without "kernel" "product" .}}
		{{range $other := names .}}{{$r := ratios "native" $other "seconds" $all}}{{if and $r (ne $other "native")}}
		{{$g := geomean $r}}The native backend is
		{{if ge $g 1.0}}{{times $g}} faster{{else}}{{div 1.0 $g | times}} slower{{end}} than {{$other}} on average in
		` + what + ` (its speed is from {{printf "%.2g" (least $r)}} to {{printf "%.2g" (most $r)}} times over
		{{plural (len $r) "shape"}}).
		{{end}}{{end}}{{with named "native" $all | where "memory" "new" | values "of_product"}}
		Native Gram matrices, made in new memory, take shape at {{least . | printf "%.2f"}} to {{most . | printf
"%.2f"}}
		of the speed of the product X·Xᵀ alone, which goes to old memory.
		{{end}}{{with named "native" $all | ordered "of_peak"}}
		At best native computes at {{last . | value "of_peak" | mul 100.0 | printf "%.0f"}} % of this machine's peak.
		{{end}}`)
}

// againstOpenBLAS adds to the native results how many times as long OpenBLAS took, as the
// median over the rounds: what slows the machine for a while slows both runs of a round.
func againstOpenBLAS(results []bench.Result) {
	for _, other := range results {
		for i := range results {
			if r := &results[i]; r.Name == "native" && other.Name == "openblas" &&
				r.Without("backend") == other.Without("backend") {
				ratios := make([]float64, min(len(r.Samples), len(other.Samples)))
				for round := range ratios {
					ratios[round] = other.Samples[round] / r.Samples[round]
				}
				r.Metric("openblas_over_native", bench.Median(ratios))
			}
		}
	}
}
