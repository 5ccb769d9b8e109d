// The shim over simulated drivers of every age, each in a process of its own.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

#include "shim.h"

namespace {

void Check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  std::_Exit(1);
}

template <typename... Arguments>
void Driver(const Shim& shim, const char* name, Arguments... arguments) {
  auto function = reinterpret_cast<CUresult (*)(Arguments...)>(shim.Find(name));
  Check(function != nullptr && function(arguments...) == CUDA_SUCCESS, name);
}

void TestDriver(const std::string& library) {
  const Shim shim(library.c_str());
  Check(shim.ok(), "the driver has cuMemcpyAsync");

  const char before[] = "bytes of a block";
  char after[sizeof(before)] = {};
  CUcontext context;
  CUstream stream;
  CUdeviceptr memory;
  Driver(shim, "cuInit", 0u);
  Driver(shim, "cuDevicePrimaryCtxRetain", &context, CUdevice{0});
  Driver(shim, "cuCtxSetCurrent", context);
  Driver(shim, "cuStreamCreate", &stream, 0u);
  Driver(shim, "cuMemAlloc", &memory, sizeof(before));
  Check(shim.Copy(memory, reinterpret_cast<CUdeviceptr>(before), sizeof(before),
                  stream) == CUDA_SUCCESS,
        "the copy to the device");
  Check(shim.Copy(reinterpret_cast<CUdeviceptr>(after), memory, sizeof(before),
                  stream) == CUDA_SUCCESS,
        "the copy back");
  Driver(shim, "cuStreamSynchronize", stream);
  Check(std::strcmp(before, after) == 0, "the bytes arrived");
}

}  // namespace

int main() {
  // "12.8", the toolkit of this row of the matrix.
  const std::string toolkit = std::getenv("KVSWAP_MATRIX_TOOLKIT");
  Check(toolkit == std::to_string(CUDA_VERSION / 1000) + "." +
                       std::to_string(CUDA_VERSION % 1000 / 10),
        "<cuda.h> is the one of this row's toolkit");

  int drivers = 0;
  std::istringstream libraries(std::getenv("SIMULATED_DRIVERS"));
  for (std::string library; libraries >> library;) {
    // Beside the drivers lie their kernels.
    if (library.find("/libcuda_sim") == std::string::npos) continue;
    ++drivers;
    std::printf("CUDA %s, %s\n", toolkit.c_str(), library.c_str());
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      TestDriver(library);
      std::_Exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    Check(status == 0, library.c_str());
  }
  Check(drivers == 4, "four simulated drivers");
  return 0;
}
