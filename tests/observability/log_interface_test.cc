// The log of the C ABI: callbacks, levels, threads, forks, stderr.
//
// Runs on the driver that does nothing, KVSWAP_LIBCUDA. Lines come once a
// process, so the parts of this test are in its forks.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "csrc/kvswap.h"
#include "tests/engine/check.h"
#include "tests/engine/noop_driver.h"

namespace kvswap::tests {
namespace {

using Line = std::pair<int, std::string>;

std::mutex mutex;
std::vector<Line> lines;

void Keep(void* user_data, int32_t level, const char* message) {
  CHECK(user_data == &lines);
  const std::lock_guard<std::mutex> lock(mutex);
  lines.emplace_back(level, message);
}

void KeepFrom(int32_t level) {
  CHECK(kvswap_set_log(&Keep, &lines, level) == KVSWAP_OK);
}

int Swap(kvswap_engine engine) {
  const void* const source = reinterpret_cast<void*>(kPinnedMemory);
  void* const destination = reinterpret_cast<void*>(kDeviceMemory);
  const size_t size = 4096;
  kvswap_options options = KVSWAP_OPTIONS_INIT;
  options.engine = engine;
  return kvswap_swap_blocks_batch(&source, &destination, &size, 1, nullptr,
                                  &options, nullptr);
}

// How many lines contain a text; all of them are of that level.
int CountOf(const char* text, int level) {
  int count = 0;
  for (const Line& line : lines) {
    if (line.second.find(text) == std::string::npos) continue;
    CHECK(line.first == level);
    ++count;
  }
  return count;
}

// What `body` writes to stderr in a fork, which has to end well.
std::string Run(const std::function<void()>& body) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    CHECK(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    body();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char part[4096];
  ssize_t length;
  while ((length = read(ends[0], part, sizeof(part))) > 0) {
    text.append(part, static_cast<size_t>(length));
  }
  close(ends[0]);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  if (status != 0) std::fprintf(stderr, "%s", text.c_str());
  CHECK(status == 0);
  return text;
}

constexpr char kFallback[] = "did not go by the engine batch (legacy_stream)";

void TestDefault() {
  const std::string text = Run([] {
    for (int i = 0; i < 3; ++i) CHECK(Swap(KVSWAP_ENGINE_BATCH) == KVSWAP_OK);
  });
  CHECK(text ==
        "kvswap: warning: swap_blocks_batch: 1 of 1 copies on the legacy "
        "default stream of GPU 0 did not go by the engine batch "
        "(legacy_stream): the driver's batch call refuses the legacy default "
        "stream (handles 0 and 1). They went by: loop 1. Pass a created stream "
        "(in torch: torch.cuda.Stream()), or leave the engine to auto. Said "
        "once\n");
  CHECK(Run([] { CHECK(Swap(KVSWAP_ENGINE_LOOP) == KVSWAP_OK); }).empty());
}

void TestVariable() {
  const auto swap_with = [](const char* level) {
    return Run([level] {
      setenv("KVSWAP_LOG", level, 1);
      CHECK(Swap(KVSWAP_ENGINE_BATCH) == KVSWAP_OK);
      CHECK(Swap(KVSWAP_ENGINE_BATCH) == KVSWAP_OK);
    });
  };
  CHECK(swap_with("off").empty());
  CHECK(swap_with("error").empty());
  const std::string info = swap_with("info");
  CHECK(info.find("kvswap: info: the CUDA driver is ") == 0);
  CHECK(info.find("kvswap: warning: swap_blocks_batch: ") != std::string::npos);
  CHECK(info.find(": debug: ") == std::string::npos);
  CHECK(swap_with("debug").find(
            "kvswap: debug: swap_blocks_batch: ok: 1 copies, 4096 bytes, 1 "
            "driver calls on the legacy default stream of GPU 0; loop 1\n") !=
        std::string::npos);
  const std::string unknown = swap_with("LOUD");
  CHECK(unknown.find("kvswap: warning: the environment variable KVSWAP_LOG is "
                     "\"LOUD\", which is no level; it counts as warning. ") ==
        0);
  Run([] {
    setenv("KVSWAP_LOG", "LOUD", 1);
    for (int i = 0; i < 3; ++i) KeepFrom(KVSWAP_LOG_FROM_ENVIRONMENT);
    CHECK(Swap(KVSWAP_ENGINE_BATCH) == KVSWAP_OK);
    CHECK(lines.size() == 2);
    CHECK(CountOf("LOUD", KVSWAP_LOG_WARNING) == 1);
  });
  CHECK(unknown.find("KVSWAP_LOG", 60) == std::string::npos);  // said once
}

constexpr int kThreads = 64;
// So many that adding without care would lose some.
constexpr int kCalls = 3000;

void TestThreads() {
  Run([] {
    KeepFrom(KVSWAP_LOG_INFO);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([] {
        for (int n = 0; n < kCalls; ++n) {
          CHECK(Swap(KVSWAP_ENGINE_BATCH) == KVSWAP_OK);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(lines.size() == 2);
    CHECK(CountOf("the CUDA driver is", KVSWAP_LOG_INFO) == 1);
    CHECK(CountOf(kFallback, KVSWAP_LOG_WARNING) == 1);
    // No thread's count is lost.
    kvswap_statistics statistics = KVSWAP_STATISTICS_INIT;
    CHECK(kvswap_get_statistics(&statistics) == KVSWAP_OK);
    CHECK(statistics.calls == kThreads * kCalls);
    CHECK(statistics.bytes[KVSWAP_ENGINE_LOOP] ==
          std::uint64_t{4096} * kThreads * kCalls);
    CHECK(statistics.fallback_copies[KVSWAP_REASON_LEGACY_STREAM] ==
          kThreads * kCalls);
    CHECK(statistics.driver_calls == kThreads * kCalls);
    CHECK(statistics.direction_bytes[KVSWAP_DIRECTION_HOST_TO_DEVICE] ==
          std::uint64_t{4096} * kThreads * kCalls);
  });
}

std::atomic<int> depth{0};

void SwapAgain(void* user_data, int32_t level, const char* message) {
  CHECK(depth.fetch_add(1) == 0);
  CHECK(Swap(KVSWAP_ENGINE_BATCH) == KVSWAP_OK);
  kvswap_driver_info info = KVSWAP_DRIVER_INFO_INIT;
  CHECK(kvswap_get_driver_info(&info) == KVSWAP_OK);
  Keep(user_data, level, message);
  depth.fetch_sub(1);
}

void TestCallbackThatSwaps() {
  Run([] {
    alarm(60);
    CHECK(kvswap_set_log(&SwapAgain, &lines, KVSWAP_LOG_DEBUG) == KVSWAP_OK);
    CHECK(Swap(KVSWAP_ENGINE_BATCH) == KVSWAP_OK);
    CHECK(Swap(KVSWAP_ENGINE_BATCH) == KVSWAP_OK);
    CHECK(lines.size() == 4);
    CHECK(CountOf("swap_blocks_batch: ok", KVSWAP_LOG_DEBUG) == 2);
    CHECK(CountOf(kFallback, KVSWAP_LOG_WARNING) == 1);
  });
}

void SetLogAgain(void*, int32_t, const char*) {
  CHECK(kvswap_set_log(&Keep, &lines, KVSWAP_LOG_DEBUG) == KVSWAP_OK);
}

void TestSettingIt() {
  Run([] {
    // Before anything else, and from a callback.
    CHECK(kvswap_set_log(&SetLogAgain, nullptr, KVSWAP_LOG_INFO) == KVSWAP_OK);
    CHECK(Swap(KVSWAP_ENGINE_LOOP) == KVSWAP_OK);
    CHECK(lines.size() == 1);
    CHECK(kvswap_set_log(nullptr, nullptr, KVSWAP_LOG_OFF) == KVSWAP_OK);
    CHECK(Swap(KVSWAP_ENGINE_BATCH) == KVSWAP_OK);
    for (const int32_t level : {-2, 5}) {
      CHECK(kvswap_set_log(&Keep, &lines, level) ==
            KVSWAP_ERROR_INVALID_ARGUMENT);
    }
    CHECK(Swap(KVSWAP_ENGINE_BATCH) == KVSWAP_OK);
    CHECK(lines.size() == 1);
    // What was not wanted then is said when it is wanted.
    KeepFrom(KVSWAP_LOG_FROM_ENVIRONMENT);
    CHECK(Swap(KVSWAP_ENGINE_BATCH) == KVSWAP_OK);
    CHECK(lines.size() == 2);
    CHECK(CountOf(kFallback, KVSWAP_LOG_WARNING) == 1);
  });
  const std::string text = Run([] {
    KeepFrom(KVSWAP_LOG_DEBUG);
    CHECK(kvswap_set_log(nullptr, nullptr, KVSWAP_LOG_FROM_ENVIRONMENT) ==
          KVSWAP_OK);
    CHECK(Swap(KVSWAP_ENGINE_BATCH) == KVSWAP_OK);
    CHECK(lines.empty());
  });
  CHECK(text.find(kFallback) != std::string::npos);
}

void TestSettingItWhileThreadsSwap() {
  Run([] {
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&stop] {
        while (!stop) CHECK(Swap(KVSWAP_ENGINE_BATCH) == KVSWAP_OK);
      });
    }
    for (int i = 0; i < 300; ++i) {
      KeepFrom(i % 2 == 0 ? KVSWAP_LOG_DEBUG : KVSWAP_LOG_OFF);
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
  });
}

void TestLevelsHaveNames() {
  const char* const names[] = {"off", "error", "warning", "info", "debug"};
  for (int32_t level = 0; level < 5; ++level) {
    CHECK(std::strcmp(kvswap_log_level_name(level), names[level]) == 0);
    CHECK(kvswap_log_level_from_name(names[level]) == level);
  }
  CHECK(std::strcmp(kvswap_log_level_name(5), "unknown") == 0);
  CHECK(std::strcmp(kvswap_log_level_name(-1), "unknown") == 0);
  CHECK(kvswap_log_level_from_name("Debug") == -1);
  CHECK(kvswap_log_level_from_name(nullptr) == -1);
}

void TestStatisticsOfAnOlderCaller() {
  kvswap_statistics statistics;
  std::memset(&statistics, 0xab, sizeof(statistics));
  statistics.struct_size = offsetof(kvswap_statistics, fallback_copies);
  CHECK(kvswap_get_statistics(&statistics) == KVSWAP_OK);
  CHECK(statistics.calls == 0);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&statistics);
  for (size_t i = statistics.struct_size; i < sizeof(statistics); ++i) {
    CHECK(bytes[i] == 0xab);
  }
}

}  // namespace
}  // namespace kvswap::tests

int main() {
  CHECK(std::getenv("KVSWAP_LIBCUDA") != nullptr);  // as the BUILD file sets it
  unsetenv("KVSWAP_LOG");
  kvswap::tests::TestLevelsHaveNames();
  kvswap::tests::TestStatisticsOfAnOlderCaller();
  kvswap::tests::TestDefault();
  kvswap::tests::TestVariable();
  kvswap::tests::TestThreads();
  kvswap::tests::TestCallbackThatSwaps();
  kvswap::tests::TestSettingIt();
  kvswap::tests::TestSettingItWhileThreadsSwap();
  return 0;
}
