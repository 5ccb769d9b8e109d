#include "csrc/sim/address_space.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace kvswap::sim {
namespace {

constexpr std::size_t kArenaSize = std::size_t{64} << 30;

void* ToPointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

}  // namespace

std::shared_ptr<PhysicalMemory> PhysicalMemory::Create(std::size_t size) {
  const std::size_t rounded = RoundUp(size, kPageSize);
  if (rounded < size) return nullptr;
  void* data = mmap(nullptr, rounded, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  return std::shared_ptr<PhysicalMemory>(
      new PhysicalMemory(static_cast<char*>(data), rounded));
}

PhysicalMemory::~PhysicalMemory() { munmap(data_, size_); }

bool PhysicalMemory::MapAt(std::uint64_t address, std::size_t offset,
                           std::size_t size, int protection) const {
  // Growing from nothing, a shared mapping is duplicated and not moved.
  void* target = ToPointer(address);
  return mremap(data_ + offset, 0, RoundUp(size, kPageSize),
                MREMAP_MAYMOVE | MREMAP_FIXED, target) == target &&
         mprotect(target, RoundUp(size, kPageSize), protection) == 0;
}

const Mapping* Range::FindMapping(std::uint64_t address) const {
  auto found = mappings.upper_bound(address);
  if (found == mappings.begin()) return nullptr;
  const Mapping& mapping = (--found)->second;
  return address < mapping.base + mapping.size ? &mapping : nullptr;
}

std::uint64_t AddressSpace::FreshAddresses(std::size_t size,
                                           std::size_t alignment, bool host) {
  Arena& arena = host ? host_arena_ : device_arena_;
  const std::size_t rounded = RoundUp(size, kPageSize);
  std::uint64_t address = RoundUp(arena.next, alignment);
  if (arena.next == 0 || address + rounded > arena.end) {
    // Where the process may not have so much, less.
    const std::size_t least = rounded + alignment;
    std::size_t reserved = std::max(kArenaSize, least);
    void* base = MAP_FAILED;
    while (true) {
      base = mmap(nullptr, reserved, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (base != MAP_FAILED) break;
      if (reserved == least) return 0;
      reserved = std::max(RoundUp(reserved / 2, kPageSize), least);
    }
    arena.next = reinterpret_cast<std::uint64_t>(base);
    reserved_[arena.next] = reserved;
    arena.end = arena.next + reserved;
    address = RoundUp(arena.next, alignment);
  }
  arena.next = address + rounded;
  return address;
}

AddressSpace::~AddressSpace() {
  for (const auto& [base, size] : reserved_) munmap(ToPointer(base), size);
}

Range* AddressSpace::Allocate(RangeKind kind, std::size_t size) {
  std::shared_ptr<PhysicalMemory> memory = PhysicalMemory::Create(size);
  if (memory == nullptr) return nullptr;
  const bool host_visible =
      kind == RangeKind::kPinned || kind == RangeKind::kManaged;
  const std::uint64_t base =
      FreshAddresses(size, kPageSize, kind == RangeKind::kPinned);
  if (base == 0) return nullptr;
  if (!memory->MapAt(base, 0, size,
                     host_visible ? PROT_READ | PROT_WRITE : PROT_NONE)) {
    return nullptr;
  }
  Range& range = ranges_[base];
  range.id = next_id_++;
  range.kind = kind;
  range.base = base;
  range.device_base = base;
  range.size = size;
  range.memory = std::move(memory);
  return &range;
}

Range* AddressSpace::Reserve(std::size_t size, std::size_t alignment) {
  const std::uint64_t base = FreshAddresses(size, alignment, false);
  if (base == 0) return nullptr;
  Range& range = ranges_[base];
  range.id = next_id_++;
  range.kind = RangeKind::kReservation;
  range.base = base;
  range.device_base = base;
  range.size = size;
  return &range;
}

Range* AddressSpace::Register(std::uint64_t base, std::size_t size,
                              bool separate_device_address) {
  std::uint64_t device_base = base;
  if (separate_device_address) {
    device_base = FreshAddresses(size, kPageSize, false);
    if (device_base == 0) return nullptr;
    device_addresses_[device_base] = base;
  }
  Range& range = ranges_[base];
  range.id = next_id_++;
  range.kind = RangeKind::kRegistered;
  range.base = base;
  range.device_base = device_base;
  range.size = size;
  return &range;
}

void AddressSpace::Vanish(std::uint64_t base, std::size_t size) {
  // Also gives the pages back to the system.
  mmap(ToPointer(base), RoundUp(size, kPageSize), PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void AddressSpace::Remove(Range* range) {
  if (range->kind != RangeKind::kRegistered) {
    Vanish(range->base, range->size);
    freed_[range->base] = range->end();
  } else if (range->device_base != range->base) {
    device_addresses_.erase(range->device_base);
    freed_[range->device_base] = range->device_base + range->size;
  }
  ranges_.erase(range->base);
}

Range* AddressSpace::Find(std::uint64_t address) {
  auto found = ranges_.upper_bound(address);
  if (found != ranges_.begin()) {
    Range& range = (--found)->second;
    if (address < range.end()) return &range;
  }
  auto other = device_addresses_.upper_bound(address);
  if (other != device_addresses_.begin()) {
    const auto [device_base, base] = *--other;
    Range& range = ranges_.at(base);
    if (address < device_base + range.size) return &range;
  }
  return nullptr;
}

Range* AddressSpace::FindBase(std::uint64_t base) {
  const auto found = ranges_.find(base);
  return found == ranges_.end() ? nullptr : &found->second;
}

std::vector<const Range*> AddressSpace::Overlapping(std::uint64_t address,
                                                    std::size_t size) const {
  std::vector<const Range*> found;
  auto range = ranges_.upper_bound(address);
  if (range != ranges_.begin()) --range;
  for (; range != ranges_.end() && range->first < address + size; ++range) {
    if (range->second.end() > address) found.push_back(&range->second);
  }
  return found;
}

Piece AddressSpace::PieceAt(std::uint64_t address, std::size_t size) {
  const auto until = [&](std::uint64_t end) {
    return static_cast<std::size_t>(
        std::min<std::uint64_t>(size, end - address));
  };
  const Range* range = Find(address);
  if (range == nullptr) {
    auto freed = freed_.upper_bound(address);
    if (freed != freed_.begin() && address < (--freed)->second) {
      return {Piece::Kind::kFreed, nullptr, until(freed->second)};
    }
    // Up to the next range; what is the user's was checked at submission.
    const auto next = ranges_.upper_bound(address);
    return {Piece::Kind::kUser, static_cast<char*>(ToPointer(address)),
            next == ranges_.end() ? size : until(next->first)};
  }
  if (range->kind == RangeKind::kRegistered) {
    const bool by_host = address >= range->base && address < range->end();
    const std::uint64_t offset =
        address - (by_host ? range->base : range->device_base);
    return {Piece::Kind::kUser,
            static_cast<char*>(ToPointer(range->base + offset)),
            static_cast<std::size_t>(
                std::min<std::uint64_t>(size, range->size - offset))};
  }
  if (range->kind == RangeKind::kReservation) {
    const Mapping* mapping = range->FindMapping(address);
    if (mapping == nullptr) {
      const auto next = range->mappings.upper_bound(address);
      return {
          Piece::Kind::kFreed, nullptr,
          until(next == range->mappings.end() ? range->end() : next->first)};
    }
    return {
        Piece::Kind::kOwned,
        mapping->memory->data() + mapping->offset + (address - mapping->base),
        until(mapping->base + mapping->size)};
  }
  return {Piece::Kind::kOwned, range->memory->data() + (address - range->base),
          until(range->end())};
}

std::vector<Range*> AddressSpace::Select(
    const std::function<bool(const Range&)>& chosen) {
  std::map<std::uint64_t, Range*> sorted;
  for (auto& [base, range] : ranges_) {
    if (chosen(range)) sorted[range.id] = &range;
  }
  std::vector<Range*> selected;
  for (const auto& [id, range] : sorted) selected.push_back(range);
  return selected;
}

std::size_t AddressSpace::Count(RangeKind kind) const {
  return static_cast<std::size_t>(std::count_if(
      ranges_.begin(), ranges_.end(),
      [kind](const auto& entry) { return entry.second.kind == kind; }));
}

std::size_t AddressSpace::CountMappings() const {
  std::size_t count = 0;
  for (const auto& [base, range] : ranges_) count += range.mappings.size();
  return count;
}

std::size_t AddressSpace::BytesOnDevice(Device device) const {
  std::size_t bytes = 0;
  for (const auto& [base, range] : ranges_) {
    if (range.IsHost() || range.kind == RangeKind::kReservation) continue;
    if (range.device == device) bytes += range.size;
  }
  return bytes;
}

}  // namespace kvswap::sim
