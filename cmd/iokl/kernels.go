// This file is the page of help about SPECs of kernels.

package main

import (
	"github.com/spf13/cobra"

	"github.com/iokl/iokl/kernel"
)

// newKernelsTopic is the page of help about SPECs, with every kernel of the library.
func newKernelsTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "kernels",
		Short: "Kernels and how --kernel names them",
		Long: `--kernel takes a SPEC, with r = ‖x−z‖:

` + kernel.Usage() + `
FEATURES  all (default), each, groups, the name of a group, ranks, relevant, directions, ard, or columns as 0-3,7
WIDTHS    σ: median (default), median*0.5,1,2, numbers as 0.5,1, or powers as 2^-6..2^6
ard       all columns, each divided by a length that is learned, for gaussian, laplacian, matern12, matern32 and matern52;
          median takes the lengths as they are, median*0.5,1,2 multiplies them
:unit     after a SPEC: k(x,z)/√(k(x,x)·k(z,z))
:center   after a SPEC: inner products of centred features

rff:SPEC:COUNT approximates a kernel of x−z by COUNT random Fourier features, nystrom:SPEC:COUNT any by COUNT landmarks.`,
	}
}
