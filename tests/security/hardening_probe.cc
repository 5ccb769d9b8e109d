// Calls that a compiler must check where it hardens: it cannot know the sizes.

#include <cstddef>
#include <cstring>

extern "C" __attribute__((visibility("default"))) int kvswap_probe(
    const char* text, std::size_t size) {
  char copy[16];
  std::memcpy(copy, text, size);
  return copy[size - 1];
}
