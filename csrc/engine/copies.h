// The copies of a call, whichever way the caller describes them.

#ifndef KVSWAP_ENGINE_COPIES_H_
#define KVSWAP_ENGINE_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csrc/kvswap.h"

namespace kvswap::engine {

class MemoryRanges;
class RunList;

enum class Side { kSource, kDestination };

struct Copy {
  const void* source;
  void* destination;
  std::size_t size;
};

// Arrays of copies, one element each.
struct Descriptors {
  const void* const* sources;
  void* const* destinations;
  const std::size_t* sizes;
  std::size_t count;
};

// Room for arrays that have to be computed.
struct DescriptorBuffer {
  std::vector<const void*> sources;
  std::vector<void*> destinations;
  std::vector<std::size_t> sizes;

  // May throw std::bad_alloc.
  void Resize(std::size_t count) {
    sources.resize(count);
    destinations.resize(count);
    sizes.resize(count);
  }
};

// Enough for the texts below.
inline constexpr std::size_t kCopyTextSize = 256;

// What planning and submitting need to know of the copies of a call. Those to
// be submitted have numbers from 0 on.
class Copies {
 public:
  Copies() = default;
  virtual ~Copies() = default;
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  // The KVSWAP_FLAG_... that this kind of call knows.
  virtual std::uint32_t KnownFlags() const = 0;

  // Checks what needs no driver, so that wrong arguments are reported
  // everywhere alike; called first, with the call's flags. False: `report` says
  // what is wrong. May throw std::bad_alloc.
  virtual bool CheckArguments(std::uint32_t flags, kvswap_result* report) = 0;

  // Checks what the copies' pointers point to, and groups the copies by it. May
  // throw std::bad_alloc.
  virtual bool FindRuns(MemoryRanges* ranges, RunList* runs,
                        kvswap_result* report) const = 0;

  // After CheckArguments: what is to be submitted, and what was left out.
  virtual std::size_t count() const = 0;
  virtual std::uint64_t bytes() const = 0;
  virtual std::size_t dropped() const = 0;

  virtual Copy At(std::size_t number) const = 0;

  // Makes room for views of so many copies, as far as views need any. May throw
  // std::bad_alloc.
  virtual void MakeRoom(std::size_t count, DescriptorBuffer* buffer) const = 0;

  // The copies from number `first` on as arrays, `count` of them, for which
  // there is room. Valid until the buffer is used again.
  virtual Descriptors View(std::size_t first, std::size_t count,
                           DescriptorBuffer* buffer) const = 0;

  // Writes to `report` which element of the caller's arrays a copy comes from.
  virtual void Locate(std::size_t number, kvswap_result* report) const = 0;

  // Names for messages: of a copy, as "the copy at index 5", and of one side of
  // it, as "src_ptrs[5] = 0x7f00 with sizes[5] = 64".
  virtual void NameCopy(std::size_t number, char* text,
                        std::size_t capacity) const = 0;
  virtual void NameSide(std::size_t number, Side side, char* text,
                        std::size_t capacity) const = 0;
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_COPIES_H_
