#include "csrc/sim/work.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "csrc/sim/driver.h"
#include "csrc/sim/host_memory.h"
#include "csrc/sim/report.h"

namespace kvswap::sim {
namespace {

void ReportFreed(Driver& driver, const char* what, DevicePointer address) {
  driver.Violation(std::string("work that was submitted earlier ") + what +
                   " " + Hexadecimal(address) +
                   ", which has been freed or unmapped since");
}

// Moves bytes between two stretches of memory, `size` at most in either.
void Move(const Piece& to, const Piece& from, std::size_t size) {
  if (to.kind == Piece::Kind::kOwned && from.kind == Piece::Kind::kOwned) {
    std::memmove(to.data, from.data, size);
  } else if (!GuardedCopy(to.data, from.data, size)) {
    DieBySegmentationFault(
        "host memory went away while a copy was in flight: " +
        Hexadecimal(reinterpret_cast<std::uint64_t>(from.data)) + " to " +
        Hexadecimal(reinterpret_cast<std::uint64_t>(to.data)) + ", " +
        std::to_string(size) + " bytes");
  }
}

// Calls `visit(piece, offset)` for each stretch of [address, address + size).
template <typename Visit>
void ForEachPiece(Driver& driver, DevicePointer address, std::size_t size,
                  Visit visit) {
  for (std::size_t offset = 0; offset < size;) {
    const Piece piece =
        driver.addresses.PieceAt(address + offset, size - offset);
    visit(piece, offset);
    offset += piece.size;
  }
}

}  // namespace

void CopyWork::Run(Driver& driver) const {
  const Piece to = driver.addresses.PieceAt(destination_, size_);
  const Piece from = driver.addresses.PieceAt(source_, size_);
  if (to.size == size_ && from.size == size_ &&
      to.kind != Piece::Kind::kFreed && from.kind != Piece::Kind::kFreed) {
    Move(to, from, size_);
    return;
  }
  Staged staged;
  ReadSource(driver, &staged);
  WriteDestination(driver, staged);
}

void CopyWork::ReadSource(Driver& driver, Staged* staged) const {
  staged->assign(size_, static_cast<char>(kPoison));
  ForEachPiece(driver, source_, size_,
               [&](const Piece& piece, std::size_t offset) {
                 if (piece.kind == Piece::Kind::kFreed) {
                   ReportFreed(driver, "reads", source_ + offset);
                   return;
                 }
                 const Piece to = {Piece::Kind::kOwned, staged->data() + offset,
                                   piece.size};
                 Move(to, piece, piece.size);
               });
}

void CopyWork::WriteDestination(Driver& driver, const Staged& staged) const {
  ForEachPiece(driver, destination_, size_,
               [&](const Piece& piece, std::size_t offset) {
                 if (piece.kind == Piece::Kind::kFreed) {
                   ReportFreed(driver, "writes", destination_ + offset);
                   return;
                 }
                 const Piece from = {Piece::Kind::kOwned,
                                     const_cast<char*>(staged.data()) + offset,
                                     piece.size};
                 Move(piece, from, piece.size);
               });
}

void FillWork::Run(Driver& driver) const {
  const std::vector<char> pattern(std::min<std::size_t>(size_, 1 << 20),
                                  static_cast<char>(value_));
  ForEachPiece(
      driver, destination_, size_, [&](const Piece& piece, std::size_t offset) {
        if (piece.kind == Piece::Kind::kFreed) {
          ReportFreed(driver, "writes", destination_ + offset);
          return;
        }
        for (std::size_t done = 0; done < piece.size;) {
          const std::size_t step = std::min(pattern.size(), piece.size - done);
          const Piece to = {piece.kind, piece.data + done, step};
          const Piece from = {Piece::Kind::kOwned,
                              const_cast<char*>(pattern.data()), step};
          Move(to, from, step);
          done += step;
        }
      });
}

void FreeWork::Run(Driver& driver) const {
  Range* range = driver.addresses.FindBase(base_);
  if (range != nullptr) driver.addresses.Remove(range);
}

}  // namespace kvswap::sim
