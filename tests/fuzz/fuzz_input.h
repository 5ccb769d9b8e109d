// Values out of the bytes that a fuzz target is given.

#ifndef KVSWAP_TESTS_FUZZ_FUZZ_INPUT_H_
#define KVSWAP_TESTS_FUZZ_FUZZ_INPUT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace kvswap::tests {

class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size)
      : data_(data), size_(size) {}

  bool IsEmpty() const { return size_ == 0; }

  // What is not there is zero.
  void Read(void* to, std::size_t size) {
    const std::size_t there = std::min(size, size_);
    std::memset(to, 0, size);
    if (there != 0) std::memcpy(to, data_, there);
    data_ += there;
    size_ -= there;
  }

  template <typename Number>
  Number Take() {
    Number number;
    Read(&number, sizeof number);
    return number;
  }

  // Up to the next line feed, which is taken and left out, or a null character.
  std::string TakeLine() {
    const auto* const text = reinterpret_cast<const char*>(data_);
    const char* const end = std::find(text, text + size_, '\n');
    const std::size_t length = static_cast<std::size_t>(end - text);
    const std::string line(text, std::find(text, end, '\0'));
    const std::size_t taken = std::min(length + 1, size_);
    data_ += taken;
    size_ -= taken;
    return line;
  }

  // All that is left.
  std::string Rest() {
    const std::string rest(reinterpret_cast<const char*>(data_), size_);
    data_ += size_;
    size_ = 0;
    return rest;
  }

  // Below `count`.
  std::size_t Below(std::size_t count) { return Take<std::uint8_t>() % count; }

  template <typename Item, std::size_t count>
  const Item& OneOf(const Item (&items)[count]) {
    return items[Below(count)];
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

}  // namespace kvswap::tests

#endif  // KVSWAP_TESTS_FUZZ_FUZZ_INPUT_H_
