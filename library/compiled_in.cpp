// xxHash, of which the library needs one function, from the header that has it all: it loads no library for that.
#define XXH_STATIC_LINKING_ONLY
#define XXH_IMPLEMENTATION
#include <xxhash.h>
