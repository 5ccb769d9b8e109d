// Functions of kvswap.h with whatever a caller can get wrong: structures of any
// length and content, missing arrays, pointers that are none, sizes that
// overflow. Every call returns, says what came of it, and touches nothing that
// it was not given.
//
// KVSWAP_LIBCUDA names the simulated driver. A process knows one driver.

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "csrc/kvswap.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/guarded_memory.h"

namespace {

using kvswap::tests::FuzzInput;

constexpr std::size_t kMemoryBytes = 4096;
constexpr std::size_t kMostItems = 12;
constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;

// The driver, a context of it and memory.
struct Driver {
  void* library = nullptr;
  std::uint64_t device = 0;
  void* pinned = nullptr;
  void* stream = nullptr;
  unsigned char* pageable = kvswap::tests::GuardedMemory(kMemoryBytes);

  template <typename... Arguments>
  int Call(const char* name, Arguments... arguments) const {
    using Function = int (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(dlsym(library, name));
    FUZZ_CHECK(function != nullptr);
    return function(arguments...);
  }
};

const Driver& GetDriver() {
  static const Driver* const driver = [] {
    auto* const made = new Driver;
    const char* path = std::getenv("KVSWAP_LIBCUDA");
    made->library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW);
    if (made->library == nullptr) {
      std::fprintf(stderr,
                   "set KVSWAP_LIBCUDA to the file of libcuda_sim.so: %s\n",
                   path == nullptr ? "it is not set" : dlerror());
      std::exit(2);
    }
    void* context = nullptr;
    FUZZ_CHECK(made->Call("cuInit", 0u) == 0);
    FUZZ_CHECK(made->Call("cuDevicePrimaryCtxRetain", &context, 0) == 0);
    FUZZ_CHECK(made->Call("cuCtxPushCurrent_v2", context) == 0);
    FUZZ_CHECK(made->Call("cuMemAlloc_v2", &made->device, kMemoryBytes) == 0);
    FUZZ_CHECK(made->Call("cuMemHostAlloc", &made->pinned, kMemoryBytes, 0u) ==
               0);
    FUZZ_CHECK(made->Call("cuStreamCreate", &made->stream, 1u) == 0);
    return made;
  }();
  return *driver;
}

// A structure of the length that it says it has, and not a byte more. Its
// content is the input's, or zero.
template <typename Structure>
class Given {
 public:
  Given(FuzzInput* input, bool filled) {
    constexpr std::size_t kSizes[] = {sizeof(Structure),
                                      sizeof(Structure),
                                      sizeof(Structure),
                                      sizeof(Structure) - 8,
                                      sizeof(Structure) + 8,
                                      8,
                                      9,
                                      7,
                                      0};
    size_ = input->OneOf(kSizes);
    is_null_ = input->Below(8) == 0;
    // A structure's own length has to be readable.
    bytes_.reset(new unsigned char[Length()]());
    if (filled) input->Read(bytes_.get(), Length());
    if (!filled || input->Below(4) != 0) {
      for (std::size_t i = sizeof(Structure); i < Length(); ++i) bytes_[i] = 0;
    }
    std::memcpy(bytes_.get(), &size_, sizeof size_);
  }

  Structure* get() {
    return is_null_ ? nullptr : reinterpret_cast<Structure*>(bytes_.get());
  }
  // Whether a field is inside; only then may it be touched.
  bool Has(std::size_t offset, std::size_t bytes) const {
    return !is_null_ && offset + bytes <= size_;
  }
  bool IsWhole() const { return Has(0, sizeof(Structure)); }
  bool IsRefused() const { return !is_null_ && size_ < sizeof size_; }
  template <typename Field>
  void Set(std::size_t offset, Field value) {
    if (Has(offset, sizeof value)) {
      std::memcpy(bytes_.get() + offset, &value, sizeof value);
    }
  }
  // What is behind the part that the library knows.
  bool IsTailZero() const {
    for (std::size_t i = sizeof(Structure); i < Length(); ++i) {
      if (bytes_[i] != 0) return false;
    }
    return true;
  }

 private:
  std::size_t Length() const { return size_ < 8 ? 8 : size_; }

  std::size_t size_ = 0;
  bool is_null_ = false;
  std::unique_ptr<unsigned char[]> bytes_;
};

std::uint64_t TakeAddress(FuzzInput* input) {
  const Driver& driver = GetDriver();
  const std::uint64_t bases[] = {
      driver.device,
      reinterpret_cast<std::uint64_t>(driver.pinned),
      reinterpret_cast<std::uint64_t>(driver.pageable),
      driver.device + kMemoryBytes,
      0,
      0x10000,
      UINT64_MAX - 4095,
      kSignBit};
  // The good ones more often.
  const std::size_t index = input->Below(16);
  return bases[index < 8 ? index : index % 3] +
         input->Take<std::uint16_t>() % kMemoryBytes;
}

std::size_t TakeSize(FuzzInput* input) {
  switch (input->Below(8)) {
    case 0:
      return 0;
    case 1:
      return input->Take<std::size_t>();
    case 2:
      return SIZE_MAX - input->Below(256);
    default:
      return input->Below(256);
  }
}

void* TakeStream(FuzzInput* input) {
  void* const streams[] = {nullptr, reinterpret_cast<void*>(1),
                           reinterpret_cast<void*>(2), GetDriver().stream};
  return input->OneOf(streams);
}

kvswap_policy_rule TakeRule(FuzzInput* input) {
  if (input->Below(2) == 0) return input->Take<kvswap_policy_rule>();
  kvswap_policy_rule rule = {};
  rule.direction = static_cast<std::int32_t>(input->Below(6)) - 1;
  rule.priority = static_cast<std::int32_t>(input->Below(4)) - 1;
  rule.copy_engine = static_cast<std::int32_t>(input->Below(6));
  rule.max_size = TakeSize(input);
  rule.min_count = input->Below(8);
  rule.engine = static_cast<std::int32_t>(input->Below(6));
  rule.kernel = static_cast<std::int32_t>(input->Below(4));
  rule.ctas = input->Take<std::int16_t>();
  rule.threads = static_cast<std::int32_t>(input->Below(40)) * 32;
  rule.stages = static_cast<std::int32_t>(input->Below(40));
  rule.stage_bytes = static_cast<std::int32_t>(input->Below(80)) * 128;
  return rule;
}

// A policy and its rules.
class GivenPolicy {
 public:
  explicit GivenPolicy(FuzzInput* input) : policy_(input, false) {
    const std::size_t count = input->Below(4);
    for (std::size_t i = 0; i < count; ++i) rules_.push_back(TakeRule(input));
    rules_.shrink_to_fit();
    policy_.Set(offsetof(kvswap_policy, rules),
                count == 0 ? nullptr : rules_.data());
    // Without rules, a count of some is a mistake that can be seen.
    policy_.Set(offsetof(kvswap_policy, rule_count),
                count == 0 ? input->Below(2) : count);
  }
  const kvswap_policy* get() { return policy_.get(); }

 private:
  Given<kvswap_policy> policy_;
  std::vector<kvswap_policy_rule> rules_;
};

// Options: raw ones, or nearly right ones.
class GivenOptions {
 public:
  explicit GivenOptions(FuzzInput* input)
      : policy_(input), options_(input, input->Below(4) == 0) {
    options_.Set(offsetof(kvswap_options, policy),
                 input->Below(2) == 0 ? nullptr : policy_.get());
    if (input->Below(2) == 0) return;
    const auto set = [&](std::size_t offset, std::size_t count) {
      options_.Set(offset, static_cast<std::int32_t>(input->Below(count)));
    };
    set(offsetof(kvswap_options, engine), 6);
    set(offsetof(kvswap_options, source_access), 4);
    set(offsetof(kvswap_options, flags), 20);
    set(offsetof(kvswap_options, priority), 3);
    options_.Set(offsetof(kvswap_options, max_batch), TakeSize(input));
  }
  const kvswap_options* get() { return options_.get(); }

 private:
  GivenPolicy policy_;
  Given<kvswap_options> options_;
};

void CheckReport(int code, std::size_t count, Given<kvswap_result>* given) {
  FUZZ_CHECK(code >= KVSWAP_OK && code <= KVSWAP_ERROR_OUT_OF_MEMORY);
  FUZZ_CHECK(given->IsTailZero());
  if (given->IsRefused()) FUZZ_CHECK(code == KVSWAP_ERROR_INVALID_ARGUMENT);
  if (!given->IsWhole() || given->IsRefused()) return;
  const kvswap_result& result = *given->get();
  FUZZ_CHECK(result.code == code);
  FUZZ_CHECK(std::memchr(result.message, 0, sizeof result.message) != nullptr);
  FUZZ_CHECK((result.message[0] == '\0') == (code == KVSWAP_OK));
  FUZZ_CHECK(result.index == KVSWAP_NO_INDEX || result.index < count);
  if (code != KVSWAP_OK && code != KVSWAP_ERROR_DRIVER) {
    FUZZ_CHECK(result.submitted == 0 && result.submitted_bytes == 0);
  }
}

void CallBlocks(FuzzInput* input) {
  const std::size_t there = input->Below(kMostItems);
  std::vector<const void*> sources;
  std::vector<void*> destinations;
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < there; ++i) {
    sources.push_back(reinterpret_cast<const void*>(TakeAddress(input)));
    destinations.push_back(reinterpret_cast<void*>(TakeAddress(input)));
    sizes.push_back(TakeSize(input));
  }
  // An array that is missing, with a count that it would have.
  const std::size_t missing = input->Below(16);
  const std::size_t count = missing < 3 ? TakeSize(input) : there;
  const void* const* const from = missing == 0 ? nullptr : sources.data();
  void* const* const to = missing == 1 ? nullptr : destinations.data();
  const std::size_t* const bytes = missing == 2 ? nullptr : sizes.data();
  void* const stream = TakeStream(input);
  GivenOptions options(input);
  Given<kvswap_result> result(input, false);
  Given<kvswap_plan> plan(input, false);
  const int planned = kvswap_plan_blocks_batch(
      from, to, bytes, count, stream, options.get(), plan.get(), result.get());
  FUZZ_CHECK(plan.IsTailZero());
  if (plan.get() != nullptr && !plan.IsRefused()) {
    CheckReport(planned, count, &result);
  }
  Given<kvswap_result> swap_result(input, false);
  const int swapped = kvswap_swap_blocks_batch(
      from, to, bytes, count, stream, options.get(), swap_result.get());
  CheckReport(swapped, count, &swap_result);
  // A plan refuses what the call would, and nothing else.
  if (plan.get() != nullptr && !plan.IsRefused() && !result.IsRefused() &&
      !swap_result.IsRefused()) {
    FUZZ_CHECK(planned == swapped);
  }
  std::int32_t device = -2;
  const int found = kvswap_find_device(from, to, bytes, count,
                                       input->Below(8) ? &device : nullptr);
  FUZZ_CHECK(found == KVSWAP_OK || found == KVSWAP_ERROR_INVALID_ARGUMENT);
}

// A pool and its regions.
class GivenPool {
 public:
  explicit GivenPool(FuzzInput* input) : pool_(input, false) {
    const std::size_t count = input->Below(4);
    for (std::size_t i = 0; i < count; ++i) {
      kvswap_region region = {};
      region.base = reinterpret_cast<void*>(TakeAddress(input));
      region.stride = TakeSize(input);
      region.block_bytes = TakeSize(input);
      region.layer = static_cast<std::int32_t>(input->Below(8)) - 1;
      region.reserved = input->Below(32) == 31 ? 1 : 0;
      regions_.push_back(region);
    }
    regions_.shrink_to_fit();
    pool_.Set(offsetof(kvswap_pool, regions),
              count == 0 ? nullptr : regions_.data());
    pool_.Set(offsetof(kvswap_pool, region_count),
              count == 0 ? input->Below(3) : count);
    pool_.Set(offsetof(kvswap_pool, block_count), TakeSize(input));
  }
  const kvswap_pool* get() { return pool_.get(); }

 private:
  Given<kvswap_pool> pool_;
  std::vector<kvswap_region> regions_;
};

void CallPools(FuzzInput* input) {
  GivenPool source(input);
  GivenPool destination(input);
  const std::size_t there = input->Below(kMostItems);
  std::vector<std::int64_t> pairs;
  for (std::size_t i = 0; i < 2 * there; ++i) {
    pairs.push_back(input->Below(8) == 0
                        ? input->Take<std::int64_t>()
                        : static_cast<std::int64_t>(input->Below(16)));
  }
  const bool missing = input->Below(16) == 0;
  const std::size_t count = missing ? TakeSize(input) : there;
  GivenOptions options(input);
  Given<kvswap_result> result(input, false);
  kvswap_ticket* ticket = nullptr;
  const bool wants_ticket = input->Below(2) == 0;
  const int code = kvswap_swap_pools(
      source.get(), destination.get(), missing ? nullptr : pairs.data(), count,
      TakeStream(input), options.get(), wants_ticket ? &ticket : nullptr,
      result.get());
  CheckReport(code, count, &result);
  FUZZ_CHECK((ticket != nullptr) == (wants_ticket && code == KVSWAP_OK));
  std::int32_t done = -1;
  const auto layer = static_cast<std::int32_t>(input->Below(8)) - 2;
  kvswap_ticket_query(ticket, layer, input->Below(8) ? &done : nullptr,
                      result.get());
  kvswap_ticket_wait_stream(ticket, layer, TakeStream(input), result.get());
  kvswap_ticket_wait(ticket, layer, result.get());
  kvswap_ticket_destroy(ticket);
}

void CallRegistration(FuzzInput* input) {
  Given<kvswap_registration_options> options(input, input->Below(4) == 0);
  options.Set(offsetof(kvswap_registration_options, block_bytes),
              TakeSize(input));
  options.Set(offsetof(kvswap_registration_options, max_chunk_bytes),
              TakeSize(input));
  Given<kvswap_result> result(input, false);
  kvswap_registration* registration = nullptr;
  const int code = kvswap_register_host_memory(
      reinterpret_cast<void*>(TakeAddress(input)), TakeSize(input),
      static_cast<std::int32_t>(input->Below(5)) - 2, options.get(),
      input->Below(16) ? &registration : nullptr, result.get());
  FUZZ_CHECK(result.IsTailZero());
  FUZZ_CHECK(registration == nullptr || code == KVSWAP_OK);
  kvswap_registration_chunk_count(registration);
  // A result that cannot be written is refused before anything is done.
  if (kvswap_unregister_host_memory(registration, result.get()) ==
          KVSWAP_ERROR_INVALID_ARGUMENT &&
      registration != nullptr) {
    FUZZ_CHECK(kvswap_unregister_host_memory(registration, nullptr) ==
               KVSWAP_OK);
  }
}

void CallPolicy(FuzzInput* input) {
  GivenPolicy policy(input);
  Given<kvswap_result> result(input, false);
  kvswap_set_policy(policy.get(), result.get());
  FUZZ_CHECK(result.IsTailZero());
  std::vector<kvswap_policy_rule> rules(input->Below(40));
  std::size_t count = 0;
  kvswap_get_policy(input->Take<std::int16_t>(),
                    rules.empty() ? nullptr : rules.data(), rules.size(),
                    input->Below(8) ? &count : nullptr);
  if (input->Below(2) == 0) kvswap_set_policy(nullptr, nullptr);
}

// Lines are text without a line feed, whatever the call was given.
void TakeLine(void* /*user_data*/, std::int32_t level, const char* message) {
  FUZZ_CHECK(level > KVSWAP_LOG_OFF && level <= KVSWAP_LOG_DEBUG);
  FUZZ_CHECK(message != nullptr && std::strchr(message, '\n') == nullptr);
}

void CallLog(FuzzInput* input) {
  const auto level = static_cast<std::int32_t>(input->Below(8)) - 1;
  FUZZ_CHECK((kvswap_set_log(TakeLine, nullptr, level) == KVSWAP_OK) ==
             (level <= KVSWAP_LOG_DEBUG));
}

void CallOthers(FuzzInput* input) {
  Given<kvswap_driver_info> info(input, false);
  kvswap_get_driver_info(info.get());
  Given<kvswap_driver_entry> entry(input, false);
  kvswap_get_driver_entry(TakeSize(input), entry.get());
  Given<kvswap_kernel_info> kernel_info(input, false);
  kvswap_get_kernel_info(kernel_info.get());
  Given<kvswap_statistics> statistics(input, false);
  kvswap_get_statistics(statistics.get());
  FUZZ_CHECK(info.IsTailZero() && entry.IsTailZero() &&
             kernel_info.IsTailZero() && statistics.IsTailZero());
  const auto number = input->Take<std::int32_t>();
  for (const auto name :
       {kvswap_status_name, kvswap_engine_name, kvswap_reason_name,
        kvswap_source_access_name, kvswap_stream_kind_name,
        kvswap_memory_kind_name, kvswap_priority_name, kvswap_direction_name,
        kvswap_kernel_name, kvswap_reason_text, kvswap_log_level_name}) {
    FUZZ_CHECK(name(number) != nullptr);
  }
  char text[8] = {};
  input->Read(text, sizeof text - 1);
  for (const auto from_name :
       {kvswap_engine_from_name, kvswap_source_access_from_name,
        kvswap_priority_from_name, kvswap_direction_from_name,
        kvswap_kernel_from_name, kvswap_log_level_from_name}) {
    FUZZ_CHECK(from_name(text) >= -1 && from_name(nullptr) == -1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  GetDriver();
  kvswap_set_log(TakeLine, nullptr, KVSWAP_LOG_DEBUG);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  FuzzInput input(data, size);
  // A further call takes a place of CallBlocks, which it has many of: were the
  // list made longer, all inputs of the corpus would stand for other calls.
  void (*const kCalls[16])(FuzzInput*) = {
      CallBlocks,       CallPools, CallRegistration, CallPolicy,
      CallOthers,       CallLog,   CallBlocks,       CallPools,
      CallRegistration, CallPools, CallBlocks,       CallBlocks,
      CallBlocks,       CallPools, CallBlocks,       CallBlocks};
  // Several in one input: what one leaves behind, the next one meets.
  for (int i = 0; i < 4 && !input.IsEmpty(); ++i) input.OneOf(kCalls)(&input);
  const Driver& driver = GetDriver();
  FUZZ_CHECK(driver.Call("cuCtxSynchronize") == 0);
  driver.Call("cuda_sim_clear_trace");
  return 0;
}
