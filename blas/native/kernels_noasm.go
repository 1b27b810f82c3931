//go:build !(amd64 || arm64) || purego

// The kernels of builds without assembly.

package native

func assemblyLevels() []Level { return nil }

func kernels64(Level) kernels[float64] { return generic[float64]() }

func kernels32(Level) kernels[float32] { return generic[float32]() }

func vectors64(Level) vectors { return genericVectors }

func fewKernelsOf(Level, bool) (fewKernels, bool) { return fewKernels{}, false }
