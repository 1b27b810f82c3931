package native

import (
	"syscall"
	"testing"
	"unsafe"
)

// atPageEnd returns n elements, the last of which is the last before a page that
// cannot be touched, and the first of which follows another such page as closely
// as n allows.
func atPageEnd[T element](t *testing.T, n int) []T {
	t.Helper()
	var v T
	page := syscall.Getpagesize()
	size := n * int(unsafe.Sizeof(v))
	inner := (size + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, inner+2*page, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(mem) })
	if inner == 0 {
		return nil
	}
	if err := syscall.Mprotect(mem[page:page+inner], syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
		t.Fatal(err)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&mem[page+inner-size])), n)
}
