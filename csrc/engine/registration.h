// Host memory of the caller's, registered with the driver in chunks.

#ifndef KVSWAP_ENGINE_REGISTRATION_H_
#define KVSWAP_ENGINE_REGISTRATION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csrc/driver/driver_table.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// The ends of chunks of [address, address + size), none larger than
// `max_chunk_bytes`, as offsets; the last is `size`. Borders between chunks are
// multiples of `block_bytes` (0: of one byte) from `address` on, and borders of
// pages, since two registrations must not share one. Empty where there are no
// such borders. May throw std::bad_alloc.
std::vector<std::size_t> ChunkEnds(std::uintptr_t address, std::size_t size,
                                   std::size_t block_bytes,
                                   std::size_t max_chunk_bytes);

class Registration {
 public:
  explicit Registration(const driver::DriverTable& table) : table_(table) {}
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  // Unregister must have been called.
  ~Registration() = default;

  // False: `report` says what is wrong, and nothing is registered. May throw
  // std::bad_alloc.
  bool Register(void* address, std::size_t size, int device,
                const kvswap_registration_options* options,
                kvswap_result* report);

  // Takes all chunks back; the first error is reported, and the others are
  // taken back all the same.
  bool Unregister(kvswap_result* report);

  std::size_t chunk_count() const { return chunks_.size(); }

 private:
  bool RegisterChunks(std::uintptr_t address,
                      const std::vector<std::size_t>& ends, unsigned int flags,
                      kvswap_result* report);
  int UnregisterChunks();

  const driver::DriverTable& table_;
  int device_ = -1;
  std::vector<void*> chunks_;
};

}  // namespace kvswap::engine

// The C ABI's name of it.
struct kvswap_registration final : kvswap::engine::Registration {
  using Registration::Registration;
};

#endif  // KVSWAP_ENGINE_REGISTRATION_H_
