package par

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// processors is GOMAXPROCS as the runtime found it, from the processors and the quota of the control group that the
// process may use; 0 where the environment sets it.
var processors = func() int {
	if os.Getenv("GOMAXPROCS") != "" {
		return 0
	}
	return runtime.GOMAXPROCS(0)
}()

// fallback is the number of threads where the program sets none: one for each physical core, of which two hardware
// threads share the units that multiply. GOMAXPROCS is taken as it is where the environment or the program sets it.
func fallback() int {
	n := runtime.GOMAXPROCS(0)
	if c := Cores(); n == processors && c > 0 {
		return min(n, c)
	}
	return n
}

// Cores is the number of physical cores that the process may run on; 0 where the system does not tell.
var Cores = sync.OnceValue(func() int { return countCores(allowed(), siblings) })

// countCores counts the groups of hardware threads that these processors belong to.
func countCores(processors []int, siblings func(processor int) string) int {
	cores := map[string]bool{}
	for _, p := range processors {
		s := strings.TrimSpace(siblings(p))
		if s == "" {
			return 0
		}
		cores[s] = true
	}
	return len(cores)
}

// siblings lists the hardware threads that share a core with the processor, as Linux writes them: 0,4 or 0-1. It is
// "" where the system does not tell.
func siblings(processor int) string {
	text, err := os.ReadFile("/sys/devices/system/cpu/cpu" + strconv.Itoa(processor) + "/topology/thread_siblings_list")
	if err != nil {
		return ""
	}
	return string(text)
}
