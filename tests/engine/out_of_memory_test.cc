// Every function of the C ABI while the host runs out of memory: allocation
// after allocation fails, one alone or with all that follow, and each time the
// function returns, says so, has submitted nothing, keeps nothing, and works
// the next time. In a process that has not used kvswap before, and in one that
// has.
//
//   out_of_memory_test LIBRARY
//
// LIBRARY is libkvswap.so; KVSWAP_LIBCUDA names the driver of
// ungated_driver.cc, KVSWAP_TESTS_DRIVER the simulated one behind it.

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "csrc/kvswap.h"
#include "csrc/sim/cuda_sim.h"
#include "tests/engine/check.h"
#include "tests/engine/failing_allocations.h"

namespace kvswap::tests {
namespace {

// ---------------------------------------------------------------------------
// The libraries
// ---------------------------------------------------------------------------

template <typename Function>
Function Find(void* library, const char* name) {
  void* const found = dlsym(library, name);
  CHECK(found != nullptr);
  return reinterpret_cast<Function>(found);
}

#define LIBRARY_FUNCTION(name) \
  decltype(&::name) name = Find<decltype(&::name)>(library, #name)

struct Library {
  void* library;
  LIBRARY_FUNCTION(kvswap_swap_blocks_batch);
  LIBRARY_FUNCTION(kvswap_plan_blocks_batch);
  LIBRARY_FUNCTION(kvswap_find_device);
  LIBRARY_FUNCTION(kvswap_swap_pools);
  LIBRARY_FUNCTION(kvswap_ticket_query);
  LIBRARY_FUNCTION(kvswap_ticket_wait);
  LIBRARY_FUNCTION(kvswap_ticket_wait_stream);
  LIBRARY_FUNCTION(kvswap_ticket_destroy);
  LIBRARY_FUNCTION(kvswap_register_host_memory);
  LIBRARY_FUNCTION(kvswap_registration_chunk_count);
  LIBRARY_FUNCTION(kvswap_unregister_host_memory);
  LIBRARY_FUNCTION(kvswap_get_driver_info);
  LIBRARY_FUNCTION(kvswap_get_driver_entry);
  LIBRARY_FUNCTION(kvswap_get_kernel_info);
  LIBRARY_FUNCTION(kvswap_set_policy);
  LIBRARY_FUNCTION(kvswap_get_policy);
  LIBRARY_FUNCTION(kvswap_get_statistics);
  LIBRARY_FUNCTION(kvswap_set_log);
};

struct Simulator {
  void* library;
  LIBRARY_FUNCTION(cuda_sim_live);
  LIBRARY_FUNCTION(cuda_sim_peek);
  LIBRARY_FUNCTION(cuda_sim_pending);
  LIBRARY_FUNCTION(cuda_sim_violations);
  LIBRARY_FUNCTION(cuda_sim_hold);

  template <typename... Arguments>
  void Call(const char* name, Arguments... arguments) const {
    kvswap_tests_enter_driver();
    CHECK(Find<int (*)(Arguments...)>(library, name)(arguments...) == 0);
    kvswap_tests_leave_driver();
  }
};

// What a call could leave behind in the driver.
constexpr const char* kKinds[] = {"events",        "streams",
                                  "modules",       "context_stack",
                                  "registrations", "primary_retained"};
using Counts = std::array<std::int64_t, std::size(kKinds)>;

// ---------------------------------------------------------------------------
// The world that calls are made in
// ---------------------------------------------------------------------------

constexpr std::size_t kBlock = 64;
constexpr std::size_t kBlocks = 900;
constexpr std::size_t kBytes = kBlock * kBlocks;
// Allocations that the blocks of the GPU lie in.
constexpr std::size_t kRanges = 3;
constexpr std::size_t kLayers = 3;
// Of pools, whose ids are so far apart that a set of them is a list.
constexpr std::size_t kPoolBlock = 4;
constexpr std::int64_t kPairs[] = {0, 0, 1, 4000};

class World {
 public:
  World(const Library& api, const Simulator& driver)
      : api(api), driver_(driver) {
    void* context = nullptr;
    driver.Call("cuInit", 0u);
    driver.Call("cuDevicePrimaryCtxRetain", &context, 0);
    driver.Call("cuCtxPushCurrent_v2", context);
    driver.Call("cuStreamCreate", &stream, 1u);
    driver.Call("cuMemHostAlloc", &pinned, kBytes, 0u);
    for (std::uint64_t& range : ranges_) {
      driver.Call("cuMemAlloc_v2", &range, kBytes / kRanges);
    }
    pageable = static_cast<unsigned char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    CHECK(pageable != MAP_FAILED);
    for (std::size_t i = 0; i < kBytes; ++i) {
      pinned[i] = static_cast<unsigned char>(i * 7 / kBlock + i);
    }
    // Only what is waited for runs: what a call has submitted stays countable.
    driver.cuda_sim_hold(1);
    constexpr std::size_t kInRange = kBlocks / kRanges;
    for (std::size_t i = 0; i < kBlocks; ++i) {
      // No block continues the one before on both sides.
      const std::size_t to = kBlocks - 1 - i;
      sources.push_back(pinned + i * kBlock);
      destinations.push_back(reinterpret_cast<void*>(ranges_[to / kInRange] +
                                                     to % kInRange * kBlock));
      // Those of size zero have to be left out, by lists of what is kept.
      sizes.push_back(i % 100 == 99 ? 0 : kBlock);
    }
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      const auto number = static_cast<std::int32_t>(kLayers - layer);
      host_regions.push_back({pinned + layer * kBytes / kLayers, kPoolBlock,
                              kPoolBlock, number, 0});
      gpu_regions.push_back({reinterpret_cast<void*>(ranges_[layer]),
                             kPoolBlock, kPoolBlock, number, 0});
    }
  }

  // Back to before a call. Objects that it made are given back.
  void Begin() {
    driver_.Call("cuCtxSynchronize");
    for (const std::uint64_t range : ranges_) {
      driver_.Call("cuMemsetD8_v2", range, static_cast<unsigned char>(0),
                   kBytes / kRanges);
    }
    driver_.Call("cuCtxSynchronize");
    result = KVSWAP_RESULT_INIT;
  }
  void End() {
    api.kvswap_ticket_destroy(ticket);
    ticket = nullptr;
    CHECK(api.kvswap_unregister_host_memory(registration, nullptr) ==
          KVSWAP_OK);
    registration = nullptr;
  }

  bool IsCopied() const {
    driver_.Call("cuCtxSynchronize");
    for (std::size_t i = 0; i < kBlocks; ++i) {
      unsigned char block[kBlock];
      CHECK(driver_.cuda_sim_peek(
                reinterpret_cast<std::uint64_t>(destinations[i]), block,
                kBlock) == 0);
      unsigned char zero[kBlock] = {};
      if (std::memcmp(block, sizes[i] == 0 ? zero : sources[i], kBlock) != 0) {
        return false;
      }
    }
    return true;
  }

  Counts Live() const {
    Counts counts;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i] = driver_.cuda_sim_live(kKinds[i]);
    }
    return counts;
  }
  std::size_t Pending() const { return driver_.cuda_sim_pending(); }
  bool HasViolations() const {
    return driver_.cuda_sim_violations(nullptr, 0) > 1;
  }

  int Swap(kvswap_engine engine, void* on) {
    kvswap_options options = KVSWAP_OPTIONS_INIT;
    options.engine = engine;
    return api.kvswap_swap_blocks_batch(sources.data(), destinations.data(),
                                        sizes.data(), kBlocks, on, &options,
                                        &result);
  }
  int SwapPools(std::uint32_t flags) {
    kvswap_options options = KVSWAP_OPTIONS_INIT;
    options.flags = flags;
    kvswap_pool host = KVSWAP_POOL_INIT;
    host.regions = host_regions.data();
    host.region_count = kLayers;
    host.block_count = kBytes / kLayers / kPoolBlock;
    kvswap_pool gpu = host;
    gpu.regions = gpu_regions.data();
    return api.kvswap_swap_pools(&host, &gpu, kPairs, std::size(kPairs) / 2,
                                 stream, &options, &ticket, &result);
  }

  const Library& api;
  void* stream = nullptr;
  unsigned char* pinned = nullptr;
  unsigned char* pageable = nullptr;
  std::vector<const void*> sources;
  std::vector<void*> destinations;
  std::vector<std::size_t> sizes;
  std::vector<kvswap_region> host_regions;
  std::vector<kvswap_region> gpu_regions;
  kvswap_ticket* ticket = nullptr;
  kvswap_registration* registration = nullptr;
  kvswap_result result = KVSWAP_RESULT_INIT;

 private:
  const Simulator& driver_;
  std::uint64_t ranges_[kRanges] = {};
};

// ---------------------------------------------------------------------------
// The calls
// ---------------------------------------------------------------------------

struct Scenario {
  const char* name;
  int (*call)(World& world);
  bool copies_all = false;  // the blocks of World::IsCopied
  // Whether first calls are tried too: many, and much of them is alike.
  bool is_tried_first = false;
  // What has to be there before, by calls that do not fail.
  void (*prepare)(World& world) = nullptr;
};

void MakeTicket(World& world) {
  CHECK(world.SwapPools(KVSWAP_FLAG_LAYERS) == KVSWAP_OK);
}

int SwapPageable(World& world) {
  void* const destinations[] = {world.pageable, world.pageable + kBlock};
  return world.api.kvswap_swap_blocks_batch(
      world.sources.data(), destinations, world.sizes.data(),
      std::size(destinations), world.stream, nullptr, &world.result);
}

const Scenario kScenarios[] = {
    {"swap_blocks_batch, auto",
     [](World& w) { return w.Swap(KVSWAP_ENGINE_AUTO, w.stream); }, true, true},
    {"swap_blocks_batch, batch",
     [](World& w) { return w.Swap(KVSWAP_ENGINE_BATCH, w.stream); }, true},
    {"swap_blocks_batch, loop",
     [](World& w) { return w.Swap(KVSWAP_ENGINE_LOOP, w.stream); }, true},
    {"swap_blocks_batch, kernel",
     [](World& w) { return w.Swap(KVSWAP_ENGINE_KERNEL, w.stream); }, true},
    {"swap_blocks_batch, bridge",
     [](World& w) { return w.Swap(KVSWAP_ENGINE_BRIDGE, nullptr); }, true,
     true},
    {"swap_blocks_batch, pageable", &SwapPageable},
    {"swap_blocks_batch, one copy",
     [](World& w) {
       return w.api.kvswap_swap_blocks_batch(
           w.sources.data(), w.destinations.data(), w.sizes.data(), 1, w.stream,
           nullptr, &w.result);
     }},
    {"swap_blocks_batch, no copies",
     [](World& w) {
       return w.api.kvswap_swap_blocks_batch(nullptr, nullptr, nullptr, 0,
                                             nullptr, nullptr, &w.result);
     }},
    {"plan_blocks_batch",
     [](World& w) {
       kvswap_plan plan = KVSWAP_PLAN_INIT;
       return w.api.kvswap_plan_blocks_batch(
           w.sources.data(), w.destinations.data(), w.sizes.data(), kBlocks,
           w.stream, nullptr, &plan, &w.result);
     }},
    {"find_device",
     [](World& w) {
       std::int32_t device = -2;
       const int status =
           w.api.kvswap_find_device(w.sources.data(), w.destinations.data(),
                                    w.sizes.data(), kBlocks, &device);
       CHECK(device == (status == KVSWAP_OK ? 0 : -1));
       return status;
     },
     false, true},
    {"swap_pools", [](World& w) { return w.SwapPools(0); }},
    {"swap_pools, checked, layer by layer",
     [](World& w) {
       return w.SwapPools(KVSWAP_FLAG_CHECK | KVSWAP_FLAG_LAYERS);
     },
     false, true},
    {"register_host_memory",
     [](World& w) {
       kvswap_registration_options options = KVSWAP_REGISTRATION_OPTIONS_INIT;
       options.max_chunk_bytes = 4096;
       const int status = w.api.kvswap_register_host_memory(
           w.pageable, kBytes, 0, &options, &w.registration, &w.result);
       CHECK((w.registration != nullptr) == (status == KVSWAP_OK));
       return status;
     },
     false, true},
    {"ticket_query",
     [](World& w) {
       std::int32_t done = -1;
       return w.api.kvswap_ticket_query(w.ticket, 1, &done, &w.result);
     },
     false, false, &MakeTicket},
    {"ticket_wait",
     [](World& w) { return w.api.kvswap_ticket_wait(w.ticket, 1, &w.result); },
     false, false, &MakeTicket},
    {"ticket_wait_stream",
     [](World& w) {
       return w.api.kvswap_ticket_wait_stream(w.ticket, KVSWAP_ALL_LAYERS,
                                              nullptr, &w.result);
     },
     false, false, &MakeTicket},
    {"ticket_destroy",
     [](World& w) {
       w.api.kvswap_ticket_destroy(w.ticket);
       w.ticket = nullptr;
       return static_cast<int>(KVSWAP_OK);
     },
     false, false, &MakeTicket},
    {"unregister_host_memory",
     [](World& w) {
       kvswap_registration* const registration = w.registration;
       w.registration = nullptr;
       return w.api.kvswap_unregister_host_memory(registration, &w.result);
     },
     false, false,
     [](World& w) {
       CHECK(w.api.kvswap_register_host_memory(w.pageable, kBytes, 0, nullptr,
                                               &w.registration,
                                               &w.result) == KVSWAP_OK);
     }},
    {"get_driver_info",
     [](World& w) {
       kvswap_driver_info info = KVSWAP_DRIVER_INFO_INIT;
       const int status = w.api.kvswap_get_driver_info(&info);
       CHECK(info.usable == (status == KVSWAP_OK ? 1 : 0));
       return status;
     },
     false, true},
    {"get_driver_entry",
     [](World& w) {
       kvswap_driver_entry entry = KVSWAP_DRIVER_ENTRY_INIT;
       const int status = w.api.kvswap_get_driver_entry(0, &entry);
       CHECK(entry.present == (status == KVSWAP_OK ? 1 : 0));
       return status;
     },
     false, true},
    {"get_kernel_info",
     [](World& w) {
       kvswap_kernel_info info = KVSWAP_KERNEL_INFO_INIT;
       const int status = w.api.kvswap_get_kernel_info(&info);
       CHECK(info.device == 0 || status != KVSWAP_OK);
       return status;
     },
     false, true},
    {"set_policy",
     [](World& w) {
       const kvswap_policy_rule rule = {-1, -1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0};
       kvswap_policy policy = KVSWAP_POLICY_INIT;
       policy.rules = &rule;
       policy.rule_count = 1;
       const int status = w.api.kvswap_set_policy(&policy, &w.result);
       if (status != KVSWAP_OK) return status;
       return w.api.kvswap_set_policy(nullptr, &w.result);
     },
     false, true},
    {"get_policy",
     [](World& w) {
       std::size_t count = 0;
       const int status = w.api.kvswap_get_policy(90, nullptr, 0, &count);
       CHECK((count != 0) == (status == KVSWAP_OK));
       return status;
     },
     false, true},
    {"get_statistics",
     [](World& w) {
       kvswap_statistics statistics = KVSWAP_STATISTICS_INIT;
       return w.api.kvswap_get_statistics(&statistics);
     },
     false, true},
};

void TakeLine(void* lines, std::int32_t /*level*/, const char* message) {
  CHECK(message[0] != '\0');
  ++*static_cast<int*>(lines);
}

const char* NameOf(Failing failing) {
  return failing == Failing::kOne ? "one" : "the rest";
}

struct Outcome {
  std::uint64_t failures;
  int status;
};

// A call whose allocations from `number` on fail.
Outcome CallWithFailures(const Scenario& scenario, World& world,
                         std::uint64_t number, Failing failing) {
  world.Begin();
  if (scenario.prepare != nullptr) scenario.prepare(world);
  const std::size_t pending = world.Pending();
  BeginFailures(number, failing);
  Outcome outcome = {0, scenario.call(world)};
  outcome.failures = EndFailures();
  const bool is_told = outcome.status == KVSWAP_ERROR_OUT_OF_MEMORY;
  // What can do with less memory may.
  const bool is_right =
      outcome.status == KVSWAP_OK ||
      (is_told && outcome.failures != 0 && world.result.submitted == 0 &&
       world.Pending() == pending && world.ticket == nullptr);
  if (!is_right) {
    std::fprintf(
        stderr, "%s, allocation %llu (%s): status %d, %zu submitted, %s\n",
        scenario.name, static_cast<unsigned long long>(number), NameOf(failing),
        outcome.status, world.result.submitted, world.result.message);
    std::exit(1);
  }
  world.End();
  return outcome;
}

void CheckHealthy(const Scenario& scenario, World& world) {
  world.Begin();
  if (scenario.prepare != nullptr) scenario.prepare(world);
  const int status = scenario.call(world);
  if (status != KVSWAP_OK) {
    std::fprintf(stderr, "%s, afterwards: status %d, %s\n", scenario.name,
                 status, world.result.message);
    std::exit(1);
  }
  CHECK(!scenario.copies_all || world.IsCopied());
  world.End();
  CHECK(!world.HasViolations());
}

// Of kvswap_set_log, all of whose callbacks are kept.
void TestSetLog(World& world, const int& lines) {
  int others = 0;
  BeginFailures(1, Failing::kRest);
  const int status =
      world.api.kvswap_set_log(&TakeLine, &others, KVSWAP_LOG_DEBUG);
  CHECK(EndFailures() != 0);
  CHECK(status == KVSWAP_ERROR_OUT_OF_MEMORY);
  const int before = lines;
  CheckHealthy(kScenarios[0], world);
  CHECK(lines > before && others == 0);
}

// More allocations in a call are a mistake of this test.
constexpr std::uint64_t kMost = 5000;

// In a process that has used kvswap. How often a call failed.
int TestWarm(const Scenario& scenario, World& world) {
  int told = 0;
  CheckHealthy(scenario, world);
  const Counts counts = world.Live();
  for (const Failing failing : {Failing::kOne, Failing::kRest}) {
    for (std::uint64_t number = 1;; ++number) {
      CHECK(number < kMost);
      const std::int64_t live = LiveAllocations();
      const Outcome outcome =
          CallWithFailures(scenario, world, number, failing);
      if (outcome.failures == 0) break;
      told += outcome.status == KVSWAP_OK ? 0 : 1;
      if (LiveAllocations() != live || world.Live() != counts) {
        std::fprintf(stderr,
                     "%s, allocation %llu (%s): %lld are kept, or "
                     "something of the driver's\n",
                     scenario.name, static_cast<unsigned long long>(number),
                     NameOf(failing),
                     static_cast<long long>(LiveAllocations() - live));
        std::exit(1);
      }
      CheckHealthy(scenario, world);
    }
  }
  return told;
}

// In a process whose first call it is. False: nothing failed.
bool TestFirst(const Scenario& scenario, const Library& api,
               const Simulator& driver, std::uint64_t number, Failing failing,
               Counts* expected) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(60);
    World world(api, driver);
    const Outcome outcome = CallWithFailures(scenario, world, number, failing);
    CheckHealthy(scenario, world);
    CheckHealthy(scenario, world);
    if (number == 0) *expected = world.Live();
    if (world.Live() != *expected) {
      std::fprintf(stderr, "%s: the driver keeps something\n", scenario.name);
      std::exit(1);
    }
    _exit(outcome.failures == 0 ? 3 : 0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  if (!WIFEXITED(status) ||
      (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 3)) {
    std::fprintf(stderr, "%s, first call, allocation %llu (%s): %s %d\n",
                 scenario.name, static_cast<unsigned long long>(number),
                 NameOf(failing),
                 WIFSIGNALED(status) ? "killed by signal" : "exit status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    std::exit(1);
  }
  return WEXITSTATUS(status) == 0;
}

void* Open(const char* path) {
  void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", path == nullptr ? "no library" : dlerror());
    std::exit(2);
  }
  return library;
}

void TestAll(const char* library) {
  const Library api{Open(library)};
  const Simulator driver{Open(std::getenv("KVSWAP_TESTS_DRIVER"))};
  int lines = 0;
  CHECK(api.kvswap_set_log(&TakeLine, &lines, KVSWAP_LOG_DEBUG) == KVSWAP_OK);
  auto* const expected =
      static_cast<Counts*>(mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  CHECK(expected != MAP_FAILED);
  for (const Scenario& scenario : kScenarios) {
    if (!scenario.is_tried_first) continue;
    std::uint64_t numbers = 0;
    TestFirst(scenario, api, driver, 0, Failing::kOne, expected);
    for (const Failing failing : {Failing::kOne, Failing::kRest}) {
      std::uint64_t number = 1;
      while (TestFirst(scenario, api, driver, number, failing, expected)) {
        CHECK(++number < kMost);
      }
      numbers += number - 1;
    }
    std::printf("first call, %s: %llu failures\n", scenario.name,
                static_cast<unsigned long long>(numbers));
    std::fflush(stdout);
  }
  World world(api, driver);
  for (const Scenario& scenario : kScenarios) {
    std::printf("later call, %s: %d failures told\n", scenario.name,
                TestWarm(scenario, world));
    std::fflush(stdout);
  }
  TestSetLog(world, lines);
}

}  // namespace
}  // namespace kvswap::tests

int main(int argc, char** argv) {
  CHECK(argc == 2);
  kvswap::tests::TestAll(argv[1]);
  return 0;
}
