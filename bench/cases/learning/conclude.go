// This file puts the accuracies and times of the learning cases into sentences.

package learning

import "github.com/iokl/iokl/bench"

// concludeLearning says what learning brings, and the fast solver against the exact one.
var concludeLearning = bench.Say(`
{{$all := .}}{{with named "IOKL (both)" . | ordered "accuracy"}}{{$both := last .}}
{{with named "uniform kernels, L = I" $all | ordered "accuracy"}}Learning kernels and outputs together classifies
{{value "accuracy" $both | mul 100.0 | printf "%.2f"}} % of the test samples rightly with
{{value "active_kernels" $both | printf "%.0f"}} of {{$both.Param "m"}} kernels; uniform kernels and independent
outputs,
which use all, {{last . | value "accuracy" | mul 100.0 | printf "%.2f"}} %.
{{end}}{{end}}{{$fast := named "IOKL, fast" .}}{{if not $fast}}{{$fast = named "IOKL (both)" .}}{{end}}
{{if having "seconds" $fast}}{{$fast = (index $fast 0).Seconds}}{{range $all}}
{{if or (eq .Name "IOKL, plain CG") (eq .Name "IOKL, eigendecomposition")}}The fast solver of the linear systems ends
the
same fit {{if .Stopped}}more than {{end}}{{div .Seconds $fast | times}} faster than {{slice .Name 6}}
({{printf "%.3g" $fast}} s and {{printf "%.3g" .Seconds}} s).
{{end}}{{end}}{{end}}`)

// concludeTarget compares the times to within 0.1 % of the best objective.
var concludeTarget = bench.Say(`
{{with ordered "seconds_to" .}}{{$fast := index . 0}}{{$best := value "seconds_to" $fast}}{{printf "%q" $fast.Name}} is
first to come within 0.1 % of the best objective, after {{printf "%.3g" $best}} s.
{{range without "solver" "okl" $}}{{if eq .Name $fast.Name}}{{else if .SecondsTo}}{{printf "%q" .Name}} takes
{{div (value "seconds_to" .) $best | times}} as long.
{{else}}{{printf "%q" .Name}} was not there when it stopped after {{printf "%.3g" .Seconds}} s: more than
{{div .Seconds $best | times}} as long.
{{end}}{{end}}{{end}}`)
