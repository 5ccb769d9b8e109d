// Swaps KV-cache blocks out of a GPU and back in, by block ids, through
// kvswap's C ABI. Exit status: 0 every byte is right, 1 not, or it could not
// run.

#include <kvswap.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <vector>

#include "driver.h"

namespace {

constexpr size_t kBlockBytes = 16384;
constexpr size_t kGpuBlocks = 32;
constexpr size_t kHostBlocks = 64;

using Ticket = std::unique_ptr<kvswap_ticket, decltype(&kvswap_ticket_destroy)>;

// Host memory that is registered with the driver: copies to memory that is not
// are slow.
class PinnedMemory {
 public:
  explicit PinnedMemory(size_t size) : bytes_(size) {
    kvswap_registration_options options = KVSWAP_REGISTRATION_OPTIONS_INIT;
    // Borders between chunks of a registration then fall between blocks.
    options.block_bytes = kBlockBytes;
    kvswap_result result = KVSWAP_RESULT_INIT;
    if (kvswap_register_host_memory(bytes_.data(), size, /*device=*/0, &options,
                                    &registration_, &result) != KVSWAP_OK) {
      throw std::runtime_error(result.message);
    }
  }
  // Copies that use it have to be done by then.
  ~PinnedMemory() { kvswap_unregister_host_memory(registration_, nullptr); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  unsigned char* data() { return bytes_.data(); }

 private:
  std::vector<unsigned char> bytes_;
  kvswap_registration* registration_ = nullptr;
};

// A pool whose blocks are one run of bytes each. A cache of many layers has a
// region for each.
kvswap_pool MakePool(kvswap_region* region, void* base, size_t block_count) {
  *region = {base, kBlockBytes, kBlockBytes, /*layer=*/0, /*reserved=*/0};
  kvswap_pool pool = KVSWAP_POOL_INIT;
  pool.regions = region;
  pool.region_count = 1;
  pool.block_count = block_count;
  return pool;
}

// Submits copies of blocks, {from, to} one after another in `pairs`.
Ticket Swap(const kvswap_pool& source, const kvswap_pool& destination,
            const std::vector<int64_t>& pairs, void* stream) {
  kvswap_options options = KVSWAP_OPTIONS_INIT;
  // Two copies to one block are an error, and not undefined.
  options.flags = KVSWAP_FLAG_CHECK;
  kvswap_result result = KVSWAP_RESULT_INIT;
  kvswap_ticket* ticket = nullptr;
  int status =
      kvswap_swap_pools(&source, &destination, pairs.data(), pairs.size() / 2,
                        stream, &options, &ticket, &result);
  if (status != KVSWAP_OK) {
    if (result.index != KVSWAP_NO_INDEX) {
      std::printf("pair %zu is at fault (%s)\n", result.index,
                  kvswap_status_name(status));
    }
    throw std::runtime_error(result.message);
  }
  std::printf("%zu blocks by the engine %s\n", result.submitted,
              kvswap_engine_name(result.engine));
  return Ticket(ticket, &kvswap_ticket_destroy);
}

void Wait(const Ticket& ticket) {
  kvswap_result result = KVSWAP_RESULT_INIT;
  if (kvswap_ticket_wait(ticket.get(), KVSWAP_ALL_LAYERS, &result) !=
      KVSWAP_OK) {
    throw std::runtime_error(result.message);
  }
}

unsigned char ByteOf(size_t block, size_t position) {
  return static_cast<unsigned char>(block * 31 + position * 7 + 1);
}

// Whether a block holds what block `original` held at first.
bool IsRight(const unsigned char* block, size_t original) {
  for (size_t i = 0; i < kBlockBytes; ++i) {
    if (block[i] != ByteOf(original, i)) {
      std::printf("block %zu is wrong at byte %zu\n", original, i);
      return false;
    }
  }
  return true;
}

int Run() {
  kvswap_driver_info info = KVSWAP_DRIVER_INFO_INIT;
  kvswap_get_driver_info(&info);
  if (info.usable == 0) throw std::runtime_error(info.message);
  std::printf("driver for CUDA %d.%d: %s\n", info.driver_version / 1000,
              info.driver_version % 1000 / 10, info.path);

  Driver driver(info.path);
  PrimaryContext context(driver, /*ordinal=*/0);
  DeviceMemory gpu_memory(driver, kGpuBlocks * kBlockBytes);
  PinnedMemory host_memory(kHostBlocks * kBlockBytes);
  Stream stream(driver);
  kvswap_region gpu_region, host_region;
  kvswap_pool gpu = MakePool(&gpu_region, gpu_memory.data(), kGpuBlocks);
  kvswap_pool host = MakePool(&host_region, host_memory.data(), kHostBlocks);

  std::vector<unsigned char> content(kGpuBlocks * kBlockBytes);
  for (size_t i = 0; i < content.size(); ++i) {
    content[i] = ByteOf(i / kBlockBytes, i % kBlockBytes);
  }
  gpu_memory.Write(content.data(), content.size());

  // Block b goes out to slot 2b, and comes back to block 31 - b.
  std::vector<int64_t> out, in;
  for (int64_t block = 0; block < static_cast<int64_t>(kGpuBlocks); ++block) {
    out.insert(out.end(), {block, 2 * block});
    in.insert(in.end(),
              {2 * block, static_cast<int64_t>(kGpuBlocks) - 1 - block});
  }
  Ticket stored = Swap(gpu, host, out, stream.handle());
  // The host reads the slots below, and the GPU's blocks are written.
  Wait(stored);
  for (size_t block = 0; block < kGpuBlocks; ++block) {
    if (!IsRight(host_memory.data() + 2 * block * kBlockBytes, block)) return 1;
  }
  gpu_memory.Write(std::vector<unsigned char>(content.size()).data(),
                   content.size());
  Wait(Swap(host, gpu, in, stream.handle()));
  gpu_memory.Read(content.data(), content.size());
  for (size_t block = 0; block < kGpuBlocks; ++block) {
    size_t place = kGpuBlocks - 1 - block;
    if (!IsRight(content.data() + place * kBlockBytes, block)) return 1;
  }
  std::printf("every byte is right\n");

  // A mistake is found before anything is copied, and the block at fault named.
  try {
    Swap(gpu, host, {0, 0, 1, 64}, stream.handle());
  } catch (const std::runtime_error& error) {
    std::printf("refused: %s\n", error.what());
    return 0;
  }
  std::printf("a block that is not there was not refused\n");
  return 1;
}

}  // namespace

int main() {
  try {
    return Run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "swap_pools: %s\n", error.what());
    return 1;
  }
}
