// Failures on demand: of chosen calls, of the lookup, of large batches.

#ifndef KVSWAP_SIM_FAULTS_H_
#define KVSWAP_SIM_FAULTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "csrc/sim/driver_abi.h"
#include "csrc/sim/entries.h"

namespace kvswap::sim {

// A call that is to fail.
struct Fault {
  std::string entry;        // name or symbol
  std::uint64_t call = 1;   // which call from now on fails, the first is 1
  bool every_call = false;  // instead of one
  Result code = abi::kErrorUnknown;
  bool after_work = false;  // fail though the work was done
  // What a batch call writes to its failIdx.
  std::optional<std::size_t> failed_index;
};

// How a lookup answers wrongly.
enum class LookupLie {
  kCode,    // an error code, with a valid pointer and status 0
  kNull,    // a null pointer, with code 0 and status 0
  kStatus,  // status 1, with a valid pointer and code 0
};

struct BatchLimit {
  std::size_t count = SIZE_MAX;  // calls with more descriptors fail
  Result code = abi::kErrorInvalidValue;
};

class Faults {
 public:
  void Add(Fault fault) { faults_.push_back(std::move(fault)); }
  void SetLie(const std::string& name, LookupLie lie) { lies_[name] = lie; }
  void LeaveOut(const std::string& name) { left_out_.insert(name); }
  void SetBatchLimit(BatchLimit limit) { batch_limit_ = limit; }
  void Clear();

  // Counts a call; the fault that it is to have, if any.
  std::optional<Fault> Next(Entry entry);

  std::optional<LookupLie> LieAbout(const std::string& name) const;
  bool IsLeftOut(const std::string& name) const;
  const BatchLimit& batch_limit() const { return batch_limit_; }

 private:
  std::vector<Fault> faults_;
  std::map<std::string, LookupLie> lies_;
  std::set<std::string> left_out_;
  BatchLimit batch_limit_;
};

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_FAULTS_H_
