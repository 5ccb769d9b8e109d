// Copies that the caller describes one by one, by arrays of pointers and sizes.

#ifndef KVSWAP_ENGINE_DESCRIPTORS_H_
#define KVSWAP_ENGINE_DESCRIPTORS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csrc/engine/copies.h"
#include "csrc/engine/report.h"

namespace kvswap::engine {

// A copy's number is its index in the caller's arrays.
class DescriptorCopies : public Copies {
 public:
  // What the arrays are in must outlive this.
  explicit DescriptorCopies(const Descriptors& given) : given_(given) {}

  std::uint32_t KnownFlags() const override {
    return KVSWAP_FLAG_STRICT | KVSWAP_FLAG_PREFER_OVERLAP;
  }
  bool CheckArguments(std::uint32_t flags, kvswap_result* report) override;
  bool CheckMemory(MemoryRanges* ranges, kvswap_result* report) const override;
  std::size_t count() const override { return kept_.count; }
  std::uint64_t bytes() const override { return bytes_; }
  std::size_t dropped() const override { return dropped_; }
  Copy At(std::size_t number) const override;
  void Locate(std::size_t number, kvswap_result* report) const override;
  void NameCopy(std::size_t number, char* text,
                std::size_t capacity) const override;
  void NameSide(std::size_t number, Side side, char* text,
                std::size_t capacity) const override;

  // After CheckArguments, what to submit: descriptors of a size other than
  // zero.
  const Descriptors& kept() const { return kept_; }
  // The number of a descriptor to submit.
  std::size_t GivenIndex(std::size_t kept_index) const {
    return given_indices_.empty() ? kept_index : given_indices_[kept_index];
  }

 private:
  void DropZeroSizes();

  const Descriptors given_;
  std::size_t dropped_ = 0;
  std::uint64_t bytes_ = 0;
  // The caller's own arrays, or without the dropped descriptors the ones below.
  Descriptors kept_ = {nullptr, nullptr, nullptr, 0};
  std::vector<const void*> kept_sources_;
  std::vector<void*> kept_destinations_;
  std::vector<std::size_t> kept_sizes_;
  std::vector<std::size_t> given_indices_;
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_DESCRIPTORS_H_
