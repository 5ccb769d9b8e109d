/* A check for test programs in C and C++: says what failed and where, and ends
 * the program with failure. */

#ifndef KVSWAP_TESTS_ENGINE_CHECK_H_
#define KVSWAP_TESTS_ENGINE_CHECK_H_

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                               \
  do {                                                                 \
    if (!(condition)) {                                                \
      fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, \
              #condition);                                             \
      exit(1);                                                         \
    }                                                                  \
  } while (0)

#endif /* KVSWAP_TESTS_ENGINE_CHECK_H_ */
