// cuLaunchKernel.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "csrc/sim/call.h"
#include "csrc/sim/captures.h"
#include "csrc/sim/devices.h"
#include "csrc/sim/driver_functions.h"
#include "csrc/sim/kernel_work.h"
#include "csrc/sim/modules.h"
#include "csrc/sim/streams.h"

namespace kvswap::sim {
namespace {

// Limits of every device since compute capability 3.0. Source: CUDA C++
// Programming Guide, "Compute Capabilities", technical specifications.
constexpr std::array<unsigned, 3> kMostBlocks = {2147483647, 65535, 65535};
constexpr std::array<unsigned, 3> kMostThreads = {1024, 1024, 64};
constexpr std::uint64_t kMostThreadsOfBlock = 1024;

// Where a caller's buffer ends before the parameters do.
constexpr char kUnsetParameterByte = '\x5a';

// What cuLaunchKernel takes beside the function and the stream.
struct LaunchArguments {
  LaunchShape shape;
  void** parameters;
  void** extra;
};

bool InRange(const std::array<unsigned, 3>& numbers,
             const std::array<unsigned, 3>& most) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == 0 || numbers[i] > most[i]) return false;
  }
  return true;
}

Result CheckShape(Call* call, const Function& function,
                  const LaunchShape& shape) {
  const std::uint64_t threads =
      std::uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  if (!InRange(shape.grid, kMostBlocks) ||
      !InRange(shape.block, kMostThreads) || threads > kMostThreadsOfBlock) {
    call->Note("a grid or a block that no device can have");
    return abi::kErrorInvalidValue;
  }
  if (function.kernel.max_threads != 0 &&
      threads > function.kernel.max_threads) {
    call->Note("more threads than the kernel's launch bounds allow, " +
               std::to_string(function.kernel.max_threads));
    return abi::kErrorInvalidValue;
  }
  if (shape.shared_bytes > function.max_dynamic_shared_bytes) {
    call->Note("more dynamic shared memory than the function allows, " +
               std::to_string(function.max_dynamic_shared_bytes));
    return abi::kErrorInvalidValue;
  }
  return abi::kSuccess;
}

// The parameters in one piece, as the kernel sees them.
Result CopyParameters(Call* call, const LaunchArguments& arguments,
                      std::size_t size, std::vector<char>* copy) {
  const char* from = nullptr;
  std::size_t given = size;
  if (arguments.parameters != nullptr && arguments.extra != nullptr) {
    call->Note("parameters in two forms");
    return abi::kErrorInvalidValue;
  }
  if (arguments.extra != nullptr) {
    given = 0;
    for (void** item = arguments.extra;
         reinterpret_cast<std::uintptr_t>(item[0]) != kLaunchParameterEnd;
         item += 2) {
      const auto kind = reinterpret_cast<std::uintptr_t>(item[0]);
      if (kind == kLaunchParameterBufferPointer) {
        from = static_cast<const char*>(item[1]);
      } else if (kind == kLaunchParameterBufferSize && item[1] != nullptr) {
        given = *static_cast<const std::size_t*>(item[1]);
      } else {
        return abi::kErrorInvalidValue;
      }
    }
  } else if (arguments.parameters != nullptr && size != 0) {
    from = static_cast<const char*>(arguments.parameters[0]);
  }
  if (given > size) {
    call->Note("the kernel has " + std::to_string(size) +
               " bytes of parameters, more were given");
    return abi::kErrorLaunchOutOfResources;
  }
  if (size != 0 && from == nullptr) {
    call->Note("the kernel has " + std::to_string(size) +
               " bytes of parameters, which were not given");
    return abi::kErrorInvalidValue;
  }
  // A buffer may be shorter than the parameters; what it lacks has no value.
  copy->assign(size, kUnsetParameterByte);
  std::copy_n(from, given, copy->begin());
  return abi::kSuccess;
}

// The code that stands for the kernel's, if it is the same kernel's.
Result FindHostKernel(Driver& driver, Call* call, const Function& function,
                      unsigned threads, unsigned shared_bytes,
                      const cuda_sim_kernel** kernel) {
  const std::string& name = function.kernel.name;
  *kernel = driver.kernels.Find(name);
  if (*kernel == nullptr) {
    call->Note("no kernel plug-in has " + name);
    return abi::kErrorNotSupported;
  }
  if ((*kernel)->parameter_bytes != function.kernel.parameter_bytes ||
      threads > (*kernel)->max_threads ||
      shared_bytes > (*kernel)->max_shared_bytes ||
      ComputeCapability(driver, function.module->context->device) <
          (*kernel)->min_compute_capability) {
    const std::string text = name +
                             " of the kernel plug-in takes no such launch: it "
                             "is not the image's kernel";
    call->Note(text);
    driver.Violation("cuLaunchKernel: " + text);
    return abi::kErrorNotSupported;
  }
  return abi::kSuccess;
}

Result Launch(Driver& driver, Call* call, FunctionHandle handle,
              StreamHandle stream_handle, const LaunchArguments& arguments) {
  std::shared_ptr<Function> function;
  Result result = FindFunction(driver, handle, &function);
  if (result != abi::kSuccess) return result;
  std::shared_ptr<Stream> stream;
  result = FindStream(driver, call, stream_handle, &stream);
  if (result != abi::kSuccess) return result;
  if (stream->context != function->module->context) {
    call->Note("the function is one of another context than the stream's");
    return abi::kErrorInvalidHandle;
  }
  std::vector<char> parameters;
  result = CheckShape(call, *function, arguments.shape);
  if (result == abi::kSuccess) {
    result = CopyParameters(call, arguments, function->kernel.parameter_bytes,
                            &parameters);
  }
  if (result != abi::kSuccess) {
    // A refused launch ends the capture that it was to be in.
    if (stream->capture != nullptr) Invalidate(stream->capture.get());
    return result;
  }
  const LaunchShape& shape = arguments.shape;
  const cuda_sim_kernel* kernel = nullptr;
  result = FindHostKernel(driver, call, *function,
                          shape.block[0] * shape.block[1] * shape.block[2],
                          shape.shared_bytes, &kernel);
  if (result != abi::kSuccess) return result;
  result = RefuseImplicitDependency(driver, stream.get());
  if (result != abi::kSuccess) return result;
  return Submit(driver, stream.get(),
                std::make_shared<KernelWork>(function, kernel, shape,
                                             std::move(parameters)));
}

// The name of a function, for the record.
const char* NameOf(FunctionHandle handle) {
  const std::shared_ptr<Function> function =
      Driver::Get().functions.Find(handle);
  return function == nullptr ? nullptr : function->kernel.name.c_str();
}

}  // namespace

extern "C" {

Result cuLaunchKernel(FunctionHandle function, unsigned grid_x, unsigned grid_y,
                      unsigned grid_z, unsigned block_x, unsigned block_y,
                      unsigned block_z, unsigned shared_bytes,
                      StreamHandle stream, void** parameters, void** extra) {
  Call call(Entry::cuLaunchKernel);
  call.Argument("function", function)
      .Text("kernel", NameOf(function))
      .Argument("grid_x", grid_x)
      .Argument("grid_y", grid_y)
      .Argument("grid_z", grid_z)
      .Argument("block_x", block_x)
      .Argument("block_y", block_y)
      .Argument("block_z", block_z)
      .Argument("shared_bytes", shared_bytes)
      .Argument("stream", stream)
      .Argument("parameters", parameters)
      .Argument("extra", extra);
  return call.Run([&](Driver& driver) {
    return Launch(
        driver, &call, function, stream,
        {{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes},
         parameters,
         extra});
  });
}

Result cuLaunchKernel_ptsz(FunctionHandle function, unsigned grid_x,
                           unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z,
                           unsigned shared_bytes, StreamHandle stream,
                           void** parameters, void** extra) {
  return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y,
                        block_z, shared_bytes, PerThread(stream), parameters,
                        extra);
}

}  // extern "C"

}  // namespace kvswap::sim
