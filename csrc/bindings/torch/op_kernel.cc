#include "csrc/bindings/torch/op_kernel.h"

#include <cstdio>
#include <exception>
#include <new>

namespace kvswap::torch_ops {

bool RunWithoutThrowing(void (*function)(StableIValue*), StableIValue* stack,
                        const char* name, char (&error)[kErrorSize]) noexcept {
  const char* message = "an unknown error";
  try {
    function(stack);
    return true;
  } catch (const std::bad_alloc&) {
    message = "the host is out of memory. Nothing was submitted";
  } catch (const std::exception& caught) {
    // It lives until the end of this block.
    std::snprintf(error, sizeof(error), "%s: %s", name, caught.what());
    return false;
  } catch (...) {
  }
  std::snprintf(error, sizeof(error), "%s: %s", name, message);
  return false;
}

}  // namespace kvswap::torch_ops
