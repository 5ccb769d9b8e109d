#include "csrc/engine/context_state.h"

#include <cstdint>
#include <shared_mutex>
#include <unordered_map>

#include "csrc/driver/made_once.h"

namespace kvswap::engine {
namespace {

struct States {
  std::shared_mutex mutex;
  std::unordered_map<std::uint64_t, std::unique_ptr<ContextState>> by_id;
};

driver::MadeOnce<States> g_states;

States& GetStates() {
  return g_states.Get([] { return States(); });
}

std::unique_ptr<ContextState> MakeState(const driver::DriverTable& table,
                                        std::uint64_t id, int ordinal,
                                        int* code) {
  abi::Device device = 0;
  *code = table.DeviceGet(&device, ordinal);
  const auto ask = [&](abi::DeviceAttribute attribute) {
    int value = 0;
    if (*code == abi::kSuccess) {
      *code = table.DeviceGetAttribute(&value, attribute, device);
    }
    return value;
  };
  KernelTarget target;
  target.compute_capability =
      10 * ask(abi::kDeviceAttributeComputeCapabilityMajor) +
      ask(abi::kDeviceAttributeComputeCapabilityMinor);
  target.shared_memory_bytes =
      ask(abi::kDeviceAttributeMaxSharedMemoryPerBlockOptin);
  const int reaches =
      ask(abi::kDeviceAttributeCanUseHostPointerForRegisteredMemory);
  if (*code != abi::kSuccess) return nullptr;
  return std::make_unique<ContextState>(table, id, ordinal, target,
                                        reaches != 0);
}

ContextState* FindById(const driver::DriverTable& table, std::uint64_t id,
                       int device, int* code) {
  States& states = GetStates();
  {
    const std::shared_lock<std::shared_mutex> lock(states.mutex);
    const auto found = states.by_id.find(id);
    if (found != states.by_id.end()) return found->second.get();
  }
  std::unique_ptr<ContextState> made = MakeState(table, id, device, code);
  if (made == nullptr) return nullptr;
  const std::lock_guard<std::shared_mutex> lock(states.mutex);
  return states.by_id.try_emplace(id, std::move(made)).first->second.get();
}

}  // namespace

const KernelModule& ContextState::Kernels() {
  const KernelModule* module = kernels_.load(std::memory_order_acquire);
  if (module != nullptr) {
    if (!module->may_retry) return *module;
    const std::uint32_t calls = ++calls_since_refusal_;
    if ((calls & (calls - 1)) != 0) return *module;
  }
  return LoadKernels(module);
}

const KernelModule& ContextState::LoadKernels(const KernelModule* known) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const KernelModule* const current = kernels_.load(std::memory_order_relaxed);
  if (current != known) return *current;
  // One that is replaced stays: another thread may be reading it.
  const auto* module = new KernelModule(LoadKernelModule(table_, target_));
  kernels_.store(module, std::memory_order_release);
  return *module;
}

Bridge* ContextState::OpenBridge() {
  Bridge* bridge = bridge_.load(std::memory_order_acquire);
  if (bridge != nullptr) return bridge;
  const std::lock_guard<std::mutex> lock(mutex_);
  bridge = bridge_.load(std::memory_order_relaxed);
  if (bridge != nullptr) return bridge;
  auto opened = std::make_unique<Bridge>();
  if (opened->Open(table_) != abi::kSuccess) return nullptr;
  bridge = opened.release();
  bridge_.store(bridge, std::memory_order_release);
  return bridge;
}

ContextState* FindContextState(const driver::DriverTable& table,
                               abi::Context context, int device, int* code) {
  *code = abi::kSuccess;
  if (table.CtxGetId == nullptr) return nullptr;
  std::uint64_t id = 0;
  *code = table.CtxGetId(context, &id);
  if (*code != abi::kSuccess) return nullptr;
  // Nearly always the one that was asked for last; none is ever destroyed.
  static std::atomic<ContextState*> last{nullptr};
  ContextState* state = last.load(std::memory_order_acquire);
  if (state != nullptr && state->id() == id) return state;
  state = FindById(table, id, device, code);
  if (state != nullptr) last.store(state, std::memory_order_release);
  return state;
}

}  // namespace kvswap::engine
