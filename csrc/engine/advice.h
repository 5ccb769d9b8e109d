// What to do about an engine that did not run: one table, for the log and for
// errors.

#ifndef KVSWAP_ENGINE_ADVICE_H_
#define KVSWAP_ENGINE_ADVICE_H_

#include <cstddef>

#include "csrc/kvswap.h"

namespace kvswap::engine {

// A row of the table.
struct Advice {
  // How loud the log is about it: a warning where speed was lost that was not
  // given up on purpose.
  kvswap_log_level level;
  const char* text;  // a sentence without its full stop
};

// The advice on `engine`, which did not run because of `reason`
// (kvswap_reason). `asked_for` is the engine that the call asked for, by its
// options or by KVSWAP_ENGINE; `uses_loop` says whether copies went by the
// engine loop instead.
const Advice& AdviceOn(int reason, int engine, int asked_for, bool uses_loop);

// Rows of the table, and the position of one: for what is said once for each.
inline constexpr std::size_t kMostAdvices = 24;
std::size_t PositionOf(const Advice& advice);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_ADVICE_H_
