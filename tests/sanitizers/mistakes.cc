// A mistake for each sanitizer to find, in a library as kvswap's are: loaded by
// an interpreter that was not compiled with it.

#include <cstdlib>
#include <thread>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

int shared = 0;

// Not inlined, so that the compiler, and with it what looks for undefined
// behaviour, knows nothing of the size.
__attribute__((noipa)) int Read(const char* memory, int offset) {
  return memory[offset];
}

}  // namespace

// Reads behind the end.
EXPORTED int address(int offset) {
  char* memory = static_cast<char*>(std::calloc(8, 1));
  const int found = Read(memory, 8 + offset);
  std::free(memory);
  return found;
}

EXPORTED int undefined(int number) { return number + 2147483647; }

EXPORTED int thread(int number) {
  std::thread other([number] { shared += number; });
  shared += number;
  other.join();
  return shared;
}
