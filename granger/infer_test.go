package granger_test

import (
	"context"
	"testing"

	"github.com/iokl/iokl/granger"
)

var bg = context.Background()

// One default setting finds the graphs of three kinds of systems.
func TestKnownSystems(t *testing.T) {
	for _, c := range []struct {
		name             string
		g                granger.Generated
		auroc, auprAll   float64
		aurocAll         float64
		rmseBelowOwnPart bool
	}{
		{"Lorenz-96, F = 10", granger.Lorenz96(20, 500, 10, 0.1, 0.1, 0), .98, .98, .99, true},
		{"Lorenz-96, F = 40", granger.Lorenz96(20, 500, 40, 0.1, 0.1, 0), .96, .93, .97, true},
		{"Lotka-Volterra", granger.LotkaVolterra(4, 2, 600, 1), .95, .95, .95, true},
		{"linear VAR", granger.LinearVAR(10, 400, 1, 2, 1, 3), .95, .93, .95, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := granger.Infer(bg, &c.g.Data, granger.Options{})
			if err != nil {
				t.Fatal(err)
			}
			s := granger.Score(res.Graph, c.g.Truth)
			if !(s.AUROC >= c.auroc) || !(s.AUROCAll >= c.aurocAll) || !(s.AUPRAll >= c.auprAll) {
				t.Errorf("%+v", s)
			}
			var rmse, own float64
			for _, f := range res.Fits {
				if f.RelativeGap > 0.005 && f.Iter < 50 {
					t.Errorf("node %s: gap %g after %d iterations", f.Node, f.RelativeGap, f.Iter)
				}
				rmse, own = rmse+f.RMSE, own+f.RMSEOwn
			}
			if c.rmseBelowOwnPart && !(rmse < own) {
				t.Errorf("mean RMSE %g, of the own past alone %g", rmse/float64(len(res.Fits)), own/float64(len(res.Fits)))
			}
			t.Logf("%+v, RMSE %.3f, own past alone %.3f", s, rmse/float64(len(res.Fits)), own/float64(len(res.Fits)))
		})
	}
}
