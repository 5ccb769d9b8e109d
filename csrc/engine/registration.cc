#include "csrc/engine/registration.h"

#include <unistd.h>

#include <cstdint>
#include <numeric>

#include "csrc/engine/capture_mode.h"
#include "csrc/engine/context.h"
#include "csrc/engine/report.h"
#include "csrc/engine/stream.h"
#include "csrc/engine/structures.h"

namespace kvswap::engine {
namespace {

// Larger registrations were seen to fail.
constexpr std::size_t kMaxChunkBytes = std::size_t{64} << 30;

// More are a mistake: making a list of them could take all memory.
constexpr std::size_t kMaxChunks = std::size_t{1} << 20;

std::size_t PageSize() { return static_cast<std::size_t>(getpagesize()); }

bool HasFunctions(const driver::DriverTable& table) {
  return table.MemHostRegister != nullptr &&
         table.MemHostUnregister != nullptr &&
         table.ThreadExchangeStreamCaptureMode != nullptr;
}

// Enters the context that a device's memory is registered in.
bool EnterContext(ScopedContext* context, int device, kvswap_result* report) {
  return context->Enter(Stream(nullptr), device, report);
}

bool ReadOptions(const kvswap_registration_options* options,
                 kvswap_registration_options* known, kvswap_result* report) {
  if (options != nullptr && !ReadStructure(options, known)) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "options.struct_size is %zu: set it to "
                "sizeof(kvswap_registration_options) (here %zu) and what this "
                "library does not know to zero",
                options->struct_size, sizeof(*known));
  }
  if ((known->flags & ~KVSWAP_REGISTER_READ_ONLY) != 0 ||
      known->reserved != 0) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "options.flags is 0x%x and options.reserved 0x%x: a flag that "
                "this library does not know, or reserved is not zero",
                known->flags, known->reserved);
  }
  return true;
}

}  // namespace

std::vector<std::size_t> ChunkEnds(std::uintptr_t address, std::size_t size,
                                   std::size_t block_bytes,
                                   std::size_t max_chunk_bytes) {
  const std::size_t page = PageSize();
  const std::size_t block = block_bytes != 0 ? block_bytes : 1;
  // The borders of blocks that are borders of pages repeat with this period, if
  // there are any.
  std::size_t period = 0;
  if (__builtin_mul_overflow(block / std::gcd(block, page), page, &period)) {
    period = SIZE_MAX;
  }
  std::vector<std::size_t> ends;
  std::size_t start = 0;
  while (size - start > max_chunk_bytes) {
    std::size_t end = start + max_chunk_bytes / period * period;
    if (ends.empty()) {
      end = max_chunk_bytes / block * block;
      const std::size_t lowest = end > period ? end - period : 0;
      while (end > lowest && (address + end) % page != 0) end -= block;
    }
    if (end <= start || (address + end) % page != 0) return {};
    ends.push_back(end);
    start = end;
  }
  ends.push_back(size);
  return ends;
}

bool Registration::Register(void* address, std::size_t size, int device,
                            const kvswap_registration_options* options,
                            kvswap_result* report) {
  kvswap_registration_options known = KVSWAP_REGISTRATION_OPTIONS_INIT;
  if (!ReadOptions(options, &known, report)) return false;
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  if (address == nullptr || size == 0 || size > UINTPTR_MAX - start) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "there is no host memory of %zu bytes at %p", size, address);
  }
  const std::size_t max_chunk_bytes =
      known.max_chunk_bytes != 0 ? known.max_chunk_bytes : kMaxChunkBytes;
  if (size / max_chunk_bytes >= kMaxChunks) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "%zu bytes at %p are more than %zu chunks of at most %zu "
                "bytes: let max_chunk_bytes be larger, or zero",
                size, address, kMaxChunks, max_chunk_bytes);
  }
  const std::vector<std::size_t> ends =
      ChunkEnds(start, size, known.block_bytes, max_chunk_bytes);
  if (ends.empty()) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "%zu bytes at %p cannot be cut into chunks of at most %zu "
                "bytes: no border between blocks of %zu bytes is a border of "
                "pages (%zu bytes) there. Begin at a page, and let blocks be a "
                "multiple of pages",
                size, address, max_chunk_bytes, known.block_bytes, PageSize());
  }
  if (!table_.Usable()) {
    return Fail(report, KVSWAP_ERROR_NO_DRIVER, "%s", table_.message.c_str());
  }
  if (!HasFunctions(table_)) {
    return Fail(report, KVSWAP_ERROR_UNSUPPORTED,
                "the driver lacks functions that register host memory "
                "(driver_info lists them). Update the NVIDIA driver, or pin "
                "memory by other means, as torch's pin_memory()");
  }
  ScopedContext context(table_);
  if (!EnterContext(&context, device, report)) return false;
  device_ = context.device();
  report->device = device_;
  unsigned int flags = abi::kMemHostRegisterPortable;
  if ((known.flags & KVSWAP_REGISTER_READ_ONLY) != 0) {
    flags |= abi::kMemHostRegisterReadOnly;
  }
  chunks_.reserve(ends.size());
  return RegisterChunks(start, ends, flags, report);
}

bool Registration::RegisterChunks(std::uintptr_t address,
                                  const std::vector<std::size_t>& ends,
                                  unsigned int flags, kvswap_result* report) {
  const RelaxedCaptureMode mode(table_);
  if (mode.code() != abi::kSuccess) {
    return FailOtherDriverCall(table_, mode.code(),
                               "cuThreadExchangeStreamCaptureMode", report);
  }
  std::size_t start = 0;
  for (std::size_t end : ends) {
    void* chunk = reinterpret_cast<void*>(address + start);
    const int code = table_.MemHostRegister(chunk, end - start, flags);
    if (code != abi::kSuccess) {
      const std::size_t failed = chunks_.size();
      UnregisterChunks();
      report->cuda_error = code;
      const bool is_read_only = (flags & abi::kMemHostRegisterReadOnly) != 0;
      return Fail(
          report,
          is_read_only && code == abi::kErrorNotSupported
              ? KVSWAP_ERROR_UNSUPPORTED
              : KVSWAP_ERROR_DRIVER,
          "the driver answered %s (%d) to cuMemHostRegister of chunk %zu of "
          "%zu, %zu bytes at %p%s. Nothing is registered",
          DriverErrorName(table_, code), code, failed, ends.size(), end - start,
          chunk,
          code == abi::kErrorHostMemoryAlreadyRegistered
              ? ": some of it is registered already"
          : code == abi::kErrorNotSupported && is_read_only
              ? ": the device cannot register memory that may only be read"
          : code == abi::kErrorOutOfMemory
              ? ": the host or the driver ran out of memory that can be locked"
              : ": is it memory that can be read and written, and not a "
                "GPU's? A file that is mapped shared and writable has to be "
                "on tmpfs, as /dev/shm, or hugetlbfs");
    }
    chunks_.push_back(chunk);
    start = end;
  }
  return true;
}

bool Registration::Unregister(kvswap_result* report) {
  if (chunks_.empty()) return true;
  ScopedContext context(table_);
  // Where it cannot be entered, the current one may do: memory that stays
  // registered is lost to every later registration.
  const bool entered = EnterContext(&context, device_, report);
  const RelaxedCaptureMode mode(table_);
  const int code =
      mode.code() == abi::kSuccess ? UnregisterChunks() : mode.code();
  if (!entered) return false;
  return code == abi::kSuccess ||
         FailOtherDriverCall(table_, code, "cuMemHostUnregister", report);
}

int Registration::UnregisterChunks() {
  int first_error = abi::kSuccess;
  while (!chunks_.empty()) {
    const int code = table_.MemHostUnregister(chunks_.back());
    if (first_error == abi::kSuccess) first_error = code;
    chunks_.pop_back();
  }
  return first_error;
}

}  // namespace kvswap::engine
