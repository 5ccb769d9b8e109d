/* Loops that a program in C would run, for comparison: a loop in Python would
 * measure Python. Compiled by the benchmark when it runs. */

#include <stddef.h>
#include <stdint.h>

/* cuMemcpyAsync: destination, source, size, stream. */
typedef int (*copy_function)(uint64_t, uint64_t, size_t, void*);

/* A copy for each block; the first error, or 0. */
int copy_each(copy_function copy, const uint64_t* destinations,
              const uint64_t* sources, const size_t* sizes, size_t count,
              void* stream) {
  for (size_t i = 0; i < count; ++i) {
    int code = copy(destinations[i], sources[i], sizes[i], stream);
    if (code != 0) return code;
  }
  return 0;
}
