#include "csrc/sim/scheduler.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace kvswap::sim {

Scheduler::Scheduler(std::uint64_t seed) : seed_(seed), state_(seed) {}

void Scheduler::SetSeed(std::uint64_t seed) {
  seed_ = seed;
  state_ = seed;
}

std::uint64_t Scheduler::Draw(std::uint64_t bound) {
  // SplitMix64: small, and well mixed from the first number on.
  state_ += 0x9e3779b97f4a7c15u;
  std::uint64_t value = state_;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  value ^= value >> 31;
  return value % bound;
}

TaskId Scheduler::Add(Action action, const std::vector<TaskId>& predecessors) {
  const bool mark = action == nullptr;
  std::vector<TaskId> waiting_for;
  for (TaskId predecessor : predecessors) {
    if (!Finished(predecessor)) waiting_for.push_back(predecessor);
  }
  std::sort(waiting_for.begin(), waiting_for.end());
  waiting_for.erase(std::unique(waiting_for.begin(), waiting_for.end()),
                    waiting_for.end());
  const TaskId id = next_id_++;
  if (mark && waiting_for.empty()) return id;
  for (TaskId predecessor : waiting_for) {
    pending_[predecessor].successors.push_back(id);
  }
  Task& task = pending_[id];
  task.action = std::move(action);
  task.blockers = waiting_for.size();
  task.predecessors = std::move(waiting_for);
  if (!mark) ++pending_actions_;
  if (task.blockers == 0) MakeReady(id, &task);
  return id;
}

bool Scheduler::Finished(const std::vector<TaskId>& tasks) const {
  return std::all_of(tasks.begin(), tasks.end(),
                     [this](TaskId task) { return Finished(task); });
}

void Scheduler::Prune(std::vector<TaskId>* tasks) const {
  tasks->erase(std::remove_if(tasks->begin(), tasks->end(),
                              [this](TaskId task) { return Finished(task); }),
               tasks->end());
}

void Scheduler::MakeReady(TaskId id, Task* task) {
  task->ready_position = ready_.size();
  ready_.push_back(id);
}

void Scheduler::RunTask(TaskId id, std::vector<TaskId>* released) {
  std::vector<TaskId> finished = {id};
  {
    Task& task = pending_[id];
    // The last ready task takes the place of the one that leaves.
    const TaskId last = ready_.back();
    ready_[task.ready_position] = last;
    pending_[last].ready_position = task.ready_position;
    ready_.pop_back();
    --pending_actions_;
    task.action();
  }
  // Marks that nothing holds back any longer pass at once.
  while (!finished.empty()) {
    const TaskId done = finished.back();
    finished.pop_back();
    const std::vector<TaskId> successors = std::move(pending_[done].successors);
    pending_.erase(done);
    for (TaskId successor : successors) {
      Task& next = pending_[successor];
      if (--next.blockers != 0) continue;
      if (next.action == nullptr) {
        finished.push_back(successor);
      } else {
        MakeReady(successor, &next);
        released->push_back(successor);
      }
    }
  }
}

void Scheduler::RunSome() {
  if (ready_.empty() || held_) return;
  // Half of the calls run nothing; the others a number of tasks whose
  // magnitude is drawn, so that one task, half of the work and all of it are
  // all met.
  if (Draw(2) == 0) return;
  unsigned magnitudes = 1;
  while ((std::size_t{1} << magnitudes) <= pending_actions_) ++magnitudes;
  const std::uint64_t most = std::uint64_t{1} << Draw(magnitudes + 1);
  Run(1 + Draw(most));
}

std::size_t Scheduler::Run(std::size_t count) {
  std::vector<TaskId> released;
  std::size_t run = 0;
  for (; run < count && !ready_.empty(); ++run) {
    RunTask(ready_[Draw(ready_.size())], &released);
    released.clear();
  }
  return run;
}

void Scheduler::RunUntilFinished(const std::vector<TaskId>& tasks) {
  // Everything that these tasks depend on.
  std::unordered_set<TaskId> needed;
  std::vector<TaskId> ready;
  std::vector<TaskId> unvisited;
  for (TaskId task : tasks) {
    if (!Finished(task) && needed.insert(task).second) {
      unvisited.push_back(task);
    }
  }
  while (!unvisited.empty()) {
    const TaskId id = unvisited.back();
    unvisited.pop_back();
    const Task& task = pending_[id];
    if (task.blockers == 0) ready.push_back(id);
    for (TaskId predecessor : task.predecessors) {
      if (!Finished(predecessor) && needed.insert(predecessor).second) {
        unvisited.push_back(predecessor);
      }
    }
  }
  std::vector<TaskId> released;
  while (!ready.empty()) {
    const std::size_t chosen = Draw(ready.size());
    const TaskId id = ready[chosen];
    ready[chosen] = ready.back();
    ready.pop_back();
    released.clear();
    RunTask(id, &released);
    for (TaskId task : released) {
      if (needed.count(task) != 0) ready.push_back(task);
    }
  }
}

void Scheduler::Clear() {
  pending_.clear();
  ready_.clear();
  pending_actions_ = 0;
}

}  // namespace kvswap::sim
