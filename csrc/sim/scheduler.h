// Work that was submitted and has not run: a graph of tasks, run in any order
// that their dependencies allow, drawn from a seeded generator.
//
// Nothing runs by itself: tasks run inside driver calls, on the calling thread.
// The same calls with the same seed run the same tasks at the same places.

#ifndef KVSWAP_SIM_SCHEDULER_H_
#define KVSWAP_SIM_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace kvswap::sim {

// Identifies a task for ever; never used twice.
using TaskId = std::uint64_t;

class Scheduler {
 public:
  using Action = std::function<void()>;

  explicit Scheduler(std::uint64_t seed);

  std::uint64_t seed() const { return seed_; }
  void SetSeed(std::uint64_t seed);

  // While held, only what synchronisation needs runs.
  void Hold(bool hold) { held_ = hold; }

  // Adds a task that runs after all of `predecessors`. A null action is a mark
  // in the order: it counts as run as soon as its predecessors have.
  TaskId Add(Action action, const std::vector<TaskId>& predecessors);

  bool Finished(TaskId task) const { return pending_.count(task) == 0; }
  bool Finished(const std::vector<TaskId>& tasks) const;

  // Drops from `tasks` what has finished.
  void Prune(std::vector<TaskId>* tasks) const;

  // Runs a number of tasks that the generator chooses, often none.
  void RunSome();

  // Runs these tasks and what they depend on, and nothing else.
  void RunUntilFinished(const std::vector<TaskId>& tasks);

  // Runs up to `count` tasks; returns how many. Marks are not counted.
  std::size_t Run(std::size_t count);

  // Tasks that have not run, marks not counted.
  std::size_t pending() const { return pending_actions_; }

  // Forgets all work without running it.
  void Clear();

  // A number below `bound` from the generator; `bound` is not 0.
  std::uint64_t Draw(std::uint64_t bound);

 private:
  struct Task {
    Action action;
    std::vector<TaskId> predecessors;
    std::vector<TaskId> successors;
    std::size_t blockers = 0;
    std::size_t ready_position = 0;
  };

  void MakeReady(TaskId id, Task* task);
  // Runs a ready task and makes ready what waited for it alone; what became
  // ready is appended to `*released`.
  void RunTask(TaskId id, std::vector<TaskId>* released);

  std::uint64_t seed_;
  std::uint64_t state_;
  bool held_ = false;
  TaskId next_id_ = 1;
  std::size_t pending_actions_ = 0;
  std::unordered_map<TaskId, Task> pending_;
  // Ready tasks with an action, in no meaningful order.
  std::vector<TaskId> ready_;
};

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_SCHEDULER_H_
