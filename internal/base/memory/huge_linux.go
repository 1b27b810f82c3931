// Huge pages of Linux.

package memory

import (
	"syscall"
	"unsafe"
)

const (
	hugePage   = 2 << 20
	adviceHuge = 14 // MADV_HUGEPAGE
)

// PreferHuge asks the kernel to back the memory of s with huge pages, which large
// matrices want that are read or written a few rows at a time: they need far fewer
// address translations, and the hardware fetches ahead across what would be page
// boundaries. The elements are not touched, and a kernel that refuses does no harm.
func PreferHuge[T any](s []T) {
	var v T
	start := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	skip := -start & (hugePage - 1)
	size := uintptr(len(s))*unsafe.Sizeof(v) - skip
	if uintptr(len(s))*unsafe.Sizeof(v) < skip+hugePage {
		return
	}
	whole := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), skip)), size&^(hugePage-1))
	_ = syscall.Madvise(whole, adviceHuge)
}
