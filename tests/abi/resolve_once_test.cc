// 64 threads race for the first use of the library: the driver is resolved
// exactly once, every thread sees the whole of it, and none initialises CUDA.

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "csrc/kvswap.h"
#include "csrc/sim/cuda_sim.h"
#include "tests/engine/check.h"

namespace {

constexpr int kThreads = 64;

struct Observation {
  int usable = 0;
  int batch_available = 0;
  std::size_t present = 0;
  std::size_t entries = 0;
};

Observation Observe() {
  Observation observation;
  kvswap_driver_info info = KVSWAP_DRIVER_INFO_INIT;
  CHECK(kvswap_get_driver_info(&info) == KVSWAP_OK);
  observation.usable = info.usable;
  observation.batch_available = info.batch_available;
  observation.entries = info.entry_count;
  for (std::size_t i = 0; i < info.entry_count; ++i) {
    kvswap_driver_entry entry = KVSWAP_DRIVER_ENTRY_INIT;
    CHECK(kvswap_get_driver_entry(i, &entry) == KVSWAP_OK);
    observation.present += static_cast<std::size_t>(entry.present);
  }
  return observation;
}

// The calls that the simulated driver has received, one JSON object a line.
std::string Trace(decltype(&cuda_sim_trace) trace) {
  std::string text(trace(1, nullptr, 0), '\0');
  trace(1, text.data(), text.size());
  return text;
}

int CountLines(const std::string& text, const std::string& first,
               const std::string& second) {
  int count = 0;
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) end = text.size();
    const std::string line = text.substr(begin, end - begin);
    if (line.find(first) != std::string::npos &&
        line.find(second) != std::string::npos) {
      ++count;
    }
    begin = end + 1;
  }
  return count;
}

}  // namespace

int main() {
  std::atomic<int> waiting{0};
  std::vector<Observation> observations(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&waiting, &observations, i] {
      ++waiting;
      while (waiting.load() < kThreads) std::this_thread::yield();
      observations[static_cast<std::size_t>(i)] = Observe();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Observation& observation : observations) {
    CHECK(observation.usable == 1);
    CHECK(observation.batch_available == 1);
    CHECK(observation.entries > 0);
    CHECK(observation.present == observation.entries);
  }

  void* library = dlopen(std::getenv("KVSWAP_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);
  CHECK(library != nullptr);
  const auto trace = reinterpret_cast<decltype(&cuda_sim_trace)>(
      dlsym(library, "cuda_sim_trace"));
  CHECK(trace != nullptr);
  const std::string calls = Trace(trace);
  CHECK(CountLines(calls, "cuGetProcAddress", "cuMemcpyBatchAsync") == 1);
  CHECK(CountLines(calls, "cuGetProcAddress", "") ==
        static_cast<int>(observations[0].entries));
  CHECK(CountLines(calls, "cuInit", "") == 0);
  return 0;
}
