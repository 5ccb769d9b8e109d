#include "csrc/sim/trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "csrc/sim/report.h"

namespace kvswap::sim {
namespace {

// Older records are forgotten, so that a long run does not fill the memory.
constexpr std::size_t kMostRecords = 200000;

}  // namespace

std::string JsonString(std::string_view text) {
  std::string json = "\"";
  for (const char character : text) {
    const unsigned char code = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      json += '\\';
      json += character;
    } else if (code < 0x20 || code >= 0x7f) {
      // Bytes, not characters: what a caller passed need not be UTF-8.
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", code);
      json += escape;
    } else {
      json += character;
    }
  }
  return json + "\"";
}

void JsonObject::AddName(std::string_view name) {
  if (!text_.empty()) text_ += ", ";
  text_ += JsonString(name);
  text_ += ": ";
}

void JsonObject::Add(std::string_view name, std::uint64_t value) {
  AddName(name);
  text_ += std::to_string(value);
}

void JsonObject::Add(std::string_view name, std::int64_t value) {
  AddName(name);
  text_ += std::to_string(value);
}

void JsonObject::Add(std::string_view name, std::string_view value) {
  AddName(name);
  text_ += JsonString(value);
}

void JsonObject::AddJson(std::string_view name, std::string_view json) {
  AddName(name);
  text_ += json;
}

Trace::~Trace() {
  if (file_ >= 0) close(file_);
}

bool Trace::OpenFile(const std::string& path) {
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  return file_ >= 0;
}

void Trace::Add(std::string line) {
  if (file_ >= 0) {
    const std::string with_end = line + "\n";
    if (write(file_, with_end.data(), with_end.size()) !=
        static_cast<ssize_t>(with_end.size())) {
      Report("the trace file cannot be written any more");
      close(file_);
      file_ = -1;
    }
  }
  records_.push_back({next_sequence_++, std::move(line)});
  if (records_.size() > kMostRecords) {
    records_.pop_front();
    ++dropped_;
  }
}

void Trace::Clear() {
  records_.clear();
  dropped_ = 0;
}

std::string Trace::Lines(std::uint64_t first) const {
  std::string lines;
  for (const Record& record : records_) {
    if (record.sequence < first) continue;
    lines += record.line;
    lines += '\n';
  }
  return lines;
}

}  // namespace kvswap::sim
