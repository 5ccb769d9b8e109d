// Handles of one kind: opaque addresses that a caller passes back.
//
// A handle is the address of a block of its own, never the object's address,
// so a handle that was destroyed, or that never was one, is told apart without
// touching what it points to.

#ifndef KVSWAP_SIM_HANDLE_TABLE_H_
#define KVSWAP_SIM_HANDLE_TABLE_H_

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace kvswap::sim {

template <typename Object>
class HandleTable {
 public:
  // kLate: a handle is given again only after kRemembered others were removed,
  // so that its use after removal is noticed, and memory stays bounded.
  enum class Reuse { kLate, kLatestFirst };

  static constexpr std::size_t kRemembered = 1024;

  explicit HandleTable(Reuse reuse) : reuse_(reuse) {}

  // Gives `object` a handle.
  void* Add(std::shared_ptr<Object> object) {
    void* handle;
    if (!free_.empty()) {
      handle = free_.back();
      free_.pop_back();
      removed_.erase(handle);
    } else {
      blocks_.emplace_back();
      handle = &blocks_.back();
    }
    objects_[handle] = std::move(object);
    return handle;
  }

  // The living object of a handle, or null.
  std::shared_ptr<Object> Find(const void* handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }

  // What a handle stood for before it was removed, or null where it was given
  // again or forgotten.
  std::shared_ptr<Object> FindRemoved(const void* handle) const {
    const auto found = removed_.find(handle);
    return found == removed_.end() ? nullptr : found->second;
  }

  void Remove(const void* handle) {
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return;
    removed_[handle] = std::move(found->second);
    objects_.erase(found);
    void* const removed = const_cast<void*>(handle);
    if (reuse_ == Reuse::kLatestFirst) {
      free_.push_back(removed);
      return;
    }
    removed_in_order_.push_back(removed);
    if (removed_in_order_.size() <= kRemembered) return;
    void* const forgotten = removed_in_order_.front();
    removed_in_order_.pop_front();
    removed_.erase(forgotten);
    free_.push_back(forgotten);
  }

  std::size_t size() const { return objects_.size(); }

  // Living objects, in the order in which they were added.
  std::vector<std::shared_ptr<Object>> All() const {
    std::map<std::uint64_t, std::shared_ptr<Object>> sorted;
    for (const auto& [handle, object] : objects_) {
      sorted[object->id] = object;
    }
    std::vector<std::shared_ptr<Object>> all;
    all.reserve(sorted.size());
    for (auto& [id, object] : sorted) all.push_back(std::move(object));
    return all;
  }

 private:
  // As large as a small object, so that what callers take for a handle by
  // mistake (an address near one) is none.
  struct Block {
    std::max_align_t storage[4];
  };

  const Reuse reuse_;
  std::deque<Block> blocks_;
  std::vector<void*> free_;
  std::deque<void*> removed_in_order_;  // and not free yet
  std::map<const void*, std::shared_ptr<Object>> objects_;
  std::map<const void*, std::shared_ptr<Object>> removed_;
};

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_HANDLE_TABLE_H_
