#include "tests/engine/instruction_counter.h"

#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <system_error>

namespace kvswap::tests {
namespace {

[[noreturn]] void ThrowErrno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

class PerfCounter : public InstructionCounter {
 public:
  explicit PerfCounter(int event) : event_(event) {}
  ~PerfCounter() override { close(event_); }
  PerfCounter(const PerfCounter&) = delete;
  PerfCounter& operator=(const PerfCounter&) = delete;

  const char* name() const override { return "perf_event_open"; }

  // The least of several: an interrupt adds to a count, and nothing takes away.
  std::int64_t Count(const std::function<void()>& function) override {
    constexpr int kRounds = 5;
    std::int64_t least = INT64_MAX;
    for (int round = 0; round < kRounds; ++round) {
      if (ioctl(event_, PERF_EVENT_IOC_RESET, 0) != 0 ||
          ioctl(event_, PERF_EVENT_IOC_ENABLE, 0) != 0) {
        ThrowErrno("starting the instruction counter");
      }
      function();
      ioctl(event_, PERF_EVENT_IOC_DISABLE, 0);
      std::int64_t count = 0;
      if (read(event_, &count, sizeof(count)) != sizeof(count)) {
        ThrowErrno("reading the instruction counter");
      }
      least = std::min(least, count);
    }
    return least;
  }

 private:
  const int event_;
};

class StepCounter : public InstructionCounter {
 public:
  const char* name() const override { return "single steps (ptrace)"; }

  std::int64_t Count(const std::function<void()>& function) override {
    const pid_t child = fork();
    if (child < 0) ThrowErrno("fork");
    if (child == 0) {
      // The parent sees the two stops, and steps from the one to the other.
      if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kNoTrace);
      raise(SIGSTOP);
      function();
      raise(SIGSTOP);
      _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) ThrowErrno("waitpid");
    if (!WIFSTOPPED(status)) {
      errno = EPERM;
      ThrowErrno("ptrace(PTRACE_TRACEME)");
    }
    const std::int64_t count = StepToNextStop(child);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return count;
  }

 private:
  static constexpr int kNoTrace = 3;

  static std::int64_t StepToNextStop(pid_t child) {
    std::int64_t count = 0;
    long last_place = 0;
    for (;;) {
      int status = 0;
      if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0 ||
          waitpid(child, &status, 0) != child) {
        ThrowErrno("ptrace(PTRACE_SINGLESTEP)");
      }
      if (!WIFSTOPPED(status)) {
        errno = ECHILD;
        ThrowErrno("the child that was being stepped ended");
      }
      if (WSTOPSIG(status) == SIGSTOP) return count;
      const long place = Place(child);
      if (place != last_place) ++count;
      last_place = place;
    }
  }

  // Where the child's next instruction is.
  static long Place(pid_t child) {
#if defined(__x86_64__)
    return ptrace(PTRACE_PEEKUSER, child, offsetof(user_regs_struct, rip),
                  nullptr);
#else
#error "where does this architecture keep its program counter?"
#endif
  }
};

}  // namespace

std::unique_ptr<InstructionCounter> MakePerfCounter() {
  perf_event_attr attributes = {};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.size = sizeof(attributes);
  attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  const long event = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0UL);
  if (event < 0) return nullptr;
  auto counter = std::make_unique<PerfCounter>(static_cast<int>(event));
  // Virtual machines let one open counters that count nothing.
  volatile int sum = 0;
  const auto loop = [&sum] {
    for (int i = 0; i < 1000; ++i) sum = sum + i;
  };
  if (counter->Count(loop) < 1000) return nullptr;
  return counter;
}

std::unique_ptr<InstructionCounter> MakeStepCounter() {
  return std::make_unique<StepCounter>();
}

}  // namespace kvswap::tests
