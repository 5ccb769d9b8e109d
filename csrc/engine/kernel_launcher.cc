#include "csrc/engine/kernel_launcher.h"

#include <algorithm>

namespace kvswap::engine {
namespace {

using kernels::Address;
using kernels::CompactCopy;
using kernels::Number;
using kernels::SizedCopy;

constexpr unsigned kWarp = 32;

// Where there are fewer copies than this for each warp, long ones are made in
// pieces, so that all warps have their share.
constexpr std::size_t kItemsForWarp = 4;
// Pieces are multiples of it: no alignment is lost.
constexpr std::size_t kPieceUnit = 4096;
// A compact item counts units of this at most, so that pieces can be counted.
constexpr int kMaxUnitShift = 12;

int TrailingZeros(std::uint64_t bits) {
  return bits == 0 ? 64 : __builtin_ctzll(bits);
}

std::size_t PieceBytes(const CopySpan& span, std::size_t count,
                       std::size_t warps) {
  const std::size_t wanted = warps * kItemsForWarp;
  if (count >= wanted) return 0;
  const std::size_t pieces = (wanted + count - 1) / count;
  const std::size_t piece =
      std::max((span.largest / pieces) / kPieceUnit, std::size_t{1}) *
      kPieceUnit;
  return piece < span.largest ? piece : 0;
}

std::uint64_t AddressOf(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

}  // namespace

KernelLauncher::KernelLauncher(const driver::DriverTable& table,
                               const KernelModule& module, abi::Stream stream,
                               bool launches)
    : table_(table), module_(module), stream_(stream), launches_(launches) {}

void KernelLauncher::Begin(const LaunchShape& shape, const CopySpan& span,
                           std::size_t count) {
  shape_ = shape;
  filled_ = 0;
  added_ = 0;
  accepted_ = 0;
  is_bulk_ = shape.kernel == KVSWAP_KERNEL_BULK && module_.small.HasBulk() &&
             span.bits % kernels::kBulkAlignment == 0;
  if (is_bulk_) {
    // As many of the stages as the device has room for.
    const auto room = static_cast<unsigned>(module_.ring_bytes);
    shape_.stage_bytes =
        std::min(shape.stage_bytes, room / kernels::kMinStages /
                                        kernels::kStageAlignment *
                                        kernels::kStageAlignment);
    shape_.stages = std::min(shape.stages, room / shape_.stage_bytes);
    shape_.threads = kWarp;
  } else if (shape.kernel == KVSWAP_KERNEL_BULK) {
    // What costs kernels beside it about as little.
    shape_.threads = 256;
  }
  const std::size_t warps =
      is_bulk_ ? shape_.ctas : shape_.ctas * (shape_.threads / kWarp);
  piece_bytes_ = PieceBytes(span, count, warps);

  header_ = {};
  const int unit_shift = std::min(TrailingZeros(span.bits), kMaxUnitShift);
  const auto fits = [unit_shift](const AddressSpan& addresses,
                                 std::size_t size) {
    return (addresses.highest + size - addresses.lowest) >> unit_shift <=
           UINT32_MAX;
  };
  is_compact_ = span.IsUniform() && fits(span.source, span.largest) &&
                fits(span.destination, span.largest) &&
                (piece_bytes_ == 0 || span.largest % piece_bytes_ == 0);
  if (is_compact_) {
    header_.source_base = span.source.lowest;
    header_.destination_base = span.destination.lowest;
    header_.unit_shift = static_cast<Number>(unit_shift);
    header_.size = piece_bytes_ == 0 ? span.largest : piece_bytes_;
  }
  header_.stages = shape_.stages;
  header_.stage_bytes = shape_.stage_bytes;
  small_capacity_ =
      is_compact_ ? Small::Compact::kCapacity : Small::Sized::kCapacity;
  capacity_ = !module_.large.HasPlain() ? small_capacity_
              : is_compact_             ? Large::Compact::kCapacity
                                        : Large::Sized::kCapacity;
  // A small launch first, where others follow: the GPU has work while they are
  // being packed.
  room_ = count > capacity_ ? small_capacity_ : capacity_;
}

int KernelLauncher::Add(const Descriptors& copies) {
  return piece_bytes_ == 0 ? AddWhole(copies) : AddInPieces(copies);
}

int KernelLauncher::AddWhole(const Descriptors& copies) {
  std::size_t next = 0;
  while (next < copies.count) {
    const std::size_t count = std::min(copies.count - next, room_ - filled_);
    const void* const* const sources = copies.sources + next;
    void* const* const destinations = copies.destinations + next;
    if (!launches_) {
      // Counted only.
    } else if (is_compact_) {
      CompactCopy* const items = parameters_.compact.items + filled_;
      const std::uint64_t source_base = header_.source_base;
      const std::uint64_t destination_base = header_.destination_base;
      const Number shift = header_.unit_shift;
      for (std::size_t i = 0; i < count; ++i) {
        items[i].source =
            static_cast<Number>((AddressOf(sources[i]) - source_base) >> shift);
        items[i].destination = static_cast<Number>(
            (AddressOf(destinations[i]) - destination_base) >> shift);
      }
    } else {
      SizedCopy* const items = parameters_.sized.items + filled_;
      const std::size_t* const sizes = copies.sizes + next;
      for (std::size_t i = 0; i < count; ++i) {
        items[i] = {AddressOf(sources[i]), AddressOf(destinations[i]),
                    sizes[i]};
      }
    }
    next += count;
    filled_ += count;
    added_ += count;
    if (filled_ == room_) {
      const int code = Launch();
      if (code != abi::kSuccess) return code;
    }
  }
  return abi::kSuccess;
}

int KernelLauncher::AddInPieces(const Descriptors& copies) {
  for (std::size_t i = 0; i < copies.count; ++i) {
    std::size_t done = 0;
    while (done < copies.sizes[i]) {
      const std::size_t size = std::min(piece_bytes_, copies.sizes[i] - done);
      const int code = AddPiece(AddressOf(copies.sources[i]) + done,
                                AddressOf(copies.destinations[i]) + done, size);
      if (code != abi::kSuccess) return code;
      done += size;
    }
    ++added_;
    // The launch that was just made held the last piece.
    if (filled_ == 0) accepted_ = added_;
  }
  return abi::kSuccess;
}

int KernelLauncher::AddPiece(std::uint64_t source, std::uint64_t destination,
                             std::size_t size) {
  if (is_compact_) {
    parameters_.compact.items[filled_] = {
        static_cast<Number>((source - header_.source_base) >>
                            header_.unit_shift),
        static_cast<Number>((destination - header_.destination_base) >>
                            header_.unit_shift)};
  } else {
    parameters_.sized.items[filled_] = {source, destination, size};
  }
  return ++filled_ == room_ ? Launch() : abi::kSuccess;
}

int KernelLauncher::Flush() { return filled_ == 0 ? abi::kSuccess : Launch(); }

int KernelLauncher::Launch() {
  const KernelFunctions& functions =
      filled_ <= small_capacity_ ? module_.small : module_.large;
  const abi::Function function =
      is_bulk_
          ? (is_compact_ ? functions.bulk_compact : functions.bulk_sized)
          : (is_compact_ ? functions.plain_compact : functions.plain_sized);
  header_.count = static_cast<Number>(filled_);
  parameters_.compact.header = header_;
  const std::size_t in_cta = is_bulk_ ? 1 : shape_.threads / kWarp;
  const auto ctas = static_cast<unsigned>(
      std::min<std::size_t>(shape_.ctas, (filled_ + in_cta - 1) / in_cta));
  const unsigned shared_bytes =
      is_bulk_ ? shape_.stages * shape_.stage_bytes : 0;
  void* parameter = &parameters_;
  if (launches_) {
    const int code =
        table_.LaunchKernel(function, ctas, 1, 1, shape_.threads, 1, 1,
                            shared_bytes, stream_, &parameter, nullptr);
    if (code != abi::kSuccess) return code;
  }
  ++launch_count_;
  room_ = capacity_;
  filled_ = 0;
  accepted_ = added_;
  return abi::kSuccess;
}

}  // namespace kvswap::engine
