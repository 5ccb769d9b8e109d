// What a stream or a graph does: the operations behind tasks and graph nodes.

#ifndef KVSWAP_SIM_WORK_H_
#define KVSWAP_SIM_WORK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "csrc/sim/driver_abi.h"

namespace kvswap::sim {

struct Driver;

class Work {
 public:
  virtual ~Work() = default;
  virtual GraphNodeType type() const = 0;
  // Does it now. Addresses are looked up now, not when the work was submitted.
  virtual void Run(Driver& driver) const = 0;
};

class CopyWork final : public Work {
 public:
  CopyWork(DevicePointer destination, DevicePointer source, std::size_t size)
      : destination_(destination), source_(source), size_(size) {}
  GraphNodeType type() const override { return kGraphNodeMemcpy; }
  void Run(Driver& driver) const override;

  // The two halves of Run, for copies whose source is read at another time.
  using Staged = std::vector<char>;
  void ReadSource(Driver& driver, Staged* staged) const;
  void WriteDestination(Driver& driver, const Staged& staged) const;

 private:
  DevicePointer destination_;
  DevicePointer source_;
  std::size_t size_;
};

class FillWork final : public Work {
 public:
  FillWork(DevicePointer destination, unsigned char value, std::size_t size)
      : destination_(destination), value_(value), size_(size) {}
  GraphNodeType type() const override { return kGraphNodeMemset; }
  void Run(Driver& driver) const override;

 private:
  DevicePointer destination_;
  unsigned char value_;
  std::size_t size_;
};

// Takes memory of a stream-ordered pool away.
class FreeWork final : public Work {
 public:
  explicit FreeWork(DevicePointer base) : base_(base) {}
  GraphNodeType type() const override { return kGraphNodeEmpty; }
  void Run(Driver& driver) const override;

 private:
  DevicePointer base_;
};

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_WORK_H_
