// The memory that the machine, control groups and resource limits leave to the process.

package memory

import (
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// allowed is how many bytes more the process can take: the least of what the machine
// has available, what the control groups of the process allow, and what its resource
// limits do. It is the largest int64 where the system tells none of them.
func allowed() int64 {
	return min(available("/proc/meminfo"), ofGroups("/proc/self/cgroup", "/sys/fs/cgroup"), ofProcess("/proc/self"))
}

// field reads the number after a name at the start of a line, of a file as /proc/meminfo;
// numbers that are followed by kB are of units of 1024.
func field(file, name string) (int64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 || strings.TrimSuffix(f[0], ":") != name {
			continue
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		if len(f) > 2 && f[2] == "kB" {
			if n > math.MaxInt64/1024 {
				return 0, false
			}
			n *= 1024
		}
		return n, err == nil
	}
	return 0, false
}

// available reads the line "MemAvailable: N kB" of Linux.
func available(file string) int64 {
	if n, ok := field(file, "MemAvailable"); ok {
		return n
	}
	return math.MaxInt64
}

// ofGroups is what is left of the least limit of the control groups, of version 2 or 1,
// that the process is in, by the files list and those under root. What the files of a
// group that were read last occupy can be taken back.
func ofGroups(list, root string) int64 {
	least := int64(math.MaxInt64)
	text, err := os.ReadFile(list)
	if err != nil {
		return least
	}
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 {
			continue
		}
		files := [3]string{"memory.max", "memory.current", "inactive_file"}
		dir := root
		if f[1] != "" {
			if f[1] != "memory" {
				continue
			}
			files = [3]string{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
			dir = path.Join(root, "memory")
		}
		for at := path.Clean("/" + f[2]); ; at = path.Dir(at) {
			group := path.Join(dir, at)
			limit, ok := number(path.Join(group, files[0]))
			used, known := number(path.Join(group, files[1]))
			if ok && known {
				cache, _ := field(path.Join(group, "memory.stat"), files[2])
				least = min(least, max(limit-used+cache, 0))
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}

// number reads a file that holds one.
func number(file string) (int64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

// What the runtime may take beside what is counted: data, and addresses, which it reserves by
// 64 MiB with as much again to align them.
const (
	runtimeData      = 32 << 20
	runtimeAddresses = runtimeData + 160<<20
)

// ofProcess is what is left of the limits of the process on its addresses and its data,
// as the files limits and status of its folder tell, beside what the runtime takes for stacks, its
// collector and steps of the heap. A quarter is for gaps between large matrices, which take addresses but no memory.
func ofProcess(dir string) int64 {
	least := int64(math.MaxInt64)
	text, err := os.ReadFile(path.Join(dir, "limits"))
	if err != nil {
		return least
	}
	for line := range strings.Lines(string(text)) {
		for _, c := range []struct {
			name, used string
			beside     int64
		}{{"Max address space", "VmSize", runtimeAddresses}, {"Max data size", "VmData", runtimeData}} {
			rest, ok := strings.CutPrefix(line, c.name)
			if !ok {
				continue
			}
			f := strings.Fields(rest)
			if len(f) == 0 {
				continue
			}
			limit, err := strconv.ParseInt(f[0], 10, 64)
			taken, ok := field(path.Join(dir, "status"), c.used)
			if err == nil && ok {
				least = min(least, max(limit-taken-c.beside, 0)/4*3)
			}
		}
	}
	return least
}
