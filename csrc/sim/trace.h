// The record of driver calls, as JSON lines.

#ifndef KVSWAP_SIM_TRACE_H_
#define KVSWAP_SIM_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace kvswap::sim {

// One JSON object, written member by member.
class JsonObject {
 public:
  void Add(std::string_view name, std::uint64_t value);
  void Add(std::string_view name, std::int64_t value);
  void Add(std::string_view name, std::string_view value);
  // `json` is a value in JSON already.
  void AddJson(std::string_view name, std::string_view json);
  bool empty() const { return text_.empty(); }
  std::string Text() const { return "{" + text_ + "}"; }

 private:
  void AddName(std::string_view name);

  std::string text_;
};

std::string JsonString(std::string_view text);

class Trace {
 public:
  ~Trace();

  // Also appends to a file; false where it cannot be opened.
  bool OpenFile(const std::string& path);

  // The sequence number of the next call.
  std::uint64_t next_sequence() const { return next_sequence_; }
  // Adds the record of call `next_sequence()`.
  void Add(std::string line);
  // Forgets the records in memory; sequence numbers go on.
  void Clear();

  // Records from sequence number `first` on, a line each.
  std::string Lines(std::uint64_t first) const;
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Record {
    std::uint64_t sequence;
    std::string line;
  };

  std::uint64_t next_sequence_ = 1;
  std::uint64_t dropped_ = 0;
  std::deque<Record> records_;
  int file_ = -1;
};

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_TRACE_H_
