package par

import "golang.org/x/sys/unix"

// allowed lists the processors that the process may run on.
func allowed() (processors []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	for p := range len(set) * 64 {
		if set.IsSet(p) {
			processors = append(processors, p)
		}
	}
	return processors
}
