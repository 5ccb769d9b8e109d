// Copies that the caller describes one by one, by arrays of pointers and sizes.

#ifndef KVSWAP_ENGINE_DESCRIPTORS_H_
#define KVSWAP_ENGINE_DESCRIPTORS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csrc/engine/copies.h"
#include "csrc/engine/span.h"

namespace kvswap::engine {

// Copies keep the order of the caller's arrays; those of size zero are left
// out.
class DescriptorCopies : public Copies {
 public:
  // What the arrays are in must outlive this.
  explicit DescriptorCopies(const Descriptors& given) : given_(given) {}

  std::uint32_t KnownFlags() const override {
    return KVSWAP_FLAG_STRICT | KVSWAP_FLAG_PREFER_OVERLAP;
  }
  bool CheckArguments(std::uint32_t flags, kvswap_result* report) override;
  bool FindRuns(MemoryRanges* ranges, RunList* runs,
                kvswap_result* report) const override;
  std::size_t count() const override { return kept_.count; }
  std::uint64_t bytes() const override { return span_.bytes; }
  std::size_t dropped() const override { return given_.count - kept_.count; }
  Copy At(std::size_t number) const override;
  void MakeRoom(std::size_t /*count*/,
                DescriptorBuffer* /*buffer*/) const override {}
  Descriptors View(std::size_t first, std::size_t count,
                   DescriptorBuffer* buffer) const override;
  void Locate(std::size_t number, kvswap_result* report) const override;
  void NameCopy(std::size_t number, char* text,
                std::size_t capacity) const override;
  void NameSide(std::size_t number, Side side, char* text,
                std::size_t capacity) const override;

 private:
  bool CheckEach(kvswap_result* report) const;
  void DropZeroSizes();
  // The index in the caller's arrays of a copy.
  std::size_t GivenIndex(std::size_t number) const {
    return given_indices_.empty() ? number : given_indices_[number];
  }

  const Descriptors given_;
  CopySpan span_;  // of what is kept
  // The caller's own arrays, or without the dropped descriptors the ones below.
  Descriptors kept_ = {nullptr, nullptr, nullptr, 0};
  DescriptorBuffer kept_arrays_;
  std::vector<std::size_t> given_indices_;
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_DESCRIPTORS_H_
