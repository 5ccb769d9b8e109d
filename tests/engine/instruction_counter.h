// Counts the instructions that a function executes in user mode.

#ifndef KVSWAP_TESTS_ENGINE_INSTRUCTION_COUNTER_H_
#define KVSWAP_TESTS_ENGINE_INSTRUCTION_COUNTER_H_

#include <cstdint>
#include <functional>
#include <memory>

namespace kvswap::tests {

class InstructionCounter {
 public:
  virtual ~InstructionCounter() = default;
  // "perf_event_open", for people.
  virtual const char* name() const = 0;
  // Instructions of a call, and a few around it, always as many. Throws
  // std::system_error where counting fails.
  virtual std::int64_t Count(const std::function<void()>& function) = 0;
};

// By the processor's own counter; null where the machine does not permit it.
std::unique_ptr<InstructionCounter> MakePerfCounter();

// By single steps of a child process, which calls the function: slow, and as
// good. An instruction that repeats itself counts once.
std::unique_ptr<InstructionCounter> MakeStepCounter();

}  // namespace kvswap::tests

#endif  // KVSWAP_TESTS_ENGINE_INSTRUCTION_COUNTER_H_
