// Allocations that fail on demand, in a program that is linked with
// failing_allocations.cc: malloc of the C library and all that is built on it,
// in every library of the process, operator new and the loader included.

#ifndef KVSWAP_TESTS_ENGINE_FAILING_ALLOCATIONS_H_
#define KVSWAP_TESTS_ENGINE_FAILING_ALLOCATIONS_H_

#include <cstdint>

namespace kvswap::tests {

enum class Failing {
  kOne,   // one allocation
  kRest,  // all from one on
};

// Fails allocation `number` (the next is 1) of this thread, until EndFailures.
// Allocations in the driver (ungated_driver.cc) are left alone and not counted.
void BeginFailures(std::uint64_t number, Failing failing);

// How many allocations have failed since.
std::uint64_t EndFailures();

// Allocations of this thread outside the driver, less what it freed there.
std::int64_t LiveAllocations();

}  // namespace kvswap::tests

// Called by the driver at the begin and the end of each of its functions.
extern "C" {
__attribute__((visibility("default"))) void kvswap_tests_enter_driver();
__attribute__((visibility("default"))) void kvswap_tests_leave_driver();
}

#endif  // KVSWAP_TESTS_ENGINE_FAILING_ALLOCATIONS_H_
