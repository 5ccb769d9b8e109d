#include "csrc/sim/faults.h"

namespace kvswap::sim {

void Faults::Clear() { *this = Faults(); }

std::optional<Fault> Faults::Next(Entry entry) {
  std::optional<Fault> due;
  std::vector<Fault> left;
  for (Fault& fault : faults_) {
    if (Names(fault.entry, entry) && (fault.every_call || --fault.call == 0)) {
      if (!due.has_value()) due = fault;
      if (!fault.every_call) continue;
    }
    left.push_back(fault);
  }
  faults_ = std::move(left);
  return due;
}

std::optional<LookupLie> Faults::LieAbout(const std::string& name) const {
  const auto found = lies_.find(name);
  if (found == lies_.end()) return std::nullopt;
  return found->second;
}

bool Faults::IsLeftOut(const std::string& name) const {
  return left_out_.count(name) != 0;
}

}  // namespace kvswap::sim
