/* Loses memory, which LeakSanitizer must find beside the library. */
#include <iokl.h>
#include <stdlib.h>

int main(void) {
	char *volatile lost = malloc(iokl_abi_version());
	lost = NULL;
	return lost != NULL;
}
