#include "csrc/sim/ptx.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace kvswap::sim {
namespace {

// Source: PTX ISA, "Release Notes", the table of releases.
struct Release {
  int ptx;
  int cuda;
};
constexpr Release kReleases[] = {
    {70, 11000}, {71, 11010}, {72, 11020}, {73, 11030}, {74, 11040},
    {75, 11050}, {76, 11060}, {77, 11070}, {78, 11080}, {80, 12000},
    {81, 12010}, {82, 12020}, {83, 12030}, {84, 12040}, {85, 12050},
    {86, 12070}, {87, 12080}, {88, 12090}, {90, 13000}, {91, 13010},
};

// The first driver that takes a version; one above all for unknown ones.
int OldestDriver(int ptx) {
  for (const Release& release : kReleases) {
    if (ptx <= release.ptx) return release.cuda;
  }
  return 99000;
}

// The version that brought a target, of those that devices of the simulator can
// have. Source: PTX ISA, "PTX Module Directives: .target".
struct Target {
  int compute_capability;
  int ptx;
};
constexpr Target kTargets[] = {
    {75, 63},  {80, 70},  {86, 71},  {87, 74},  {88, 90},  {89, 78},  {90, 78},
    {100, 86}, {101, 86}, {103, 88}, {110, 90}, {120, 87}, {121, 88},
};

// 0 for a target that is older than all of those, or unknown.
int OldestPtx(int compute_capability) {
  for (const Target& target : kTargets) {
    if (target.compute_capability == compute_capability) return target.ptx;
  }
  return 0;
}

// Words (names, directives, numbers) and single marks, comments left out.
std::vector<std::string_view> Tokens(std::string_view text) {
  const auto in_word = [](char character) {
    return std::isalnum(static_cast<unsigned char>(character)) != 0 ||
           std::strchr("_$%.", character) != nullptr;
  };
  std::vector<std::string_view> tokens;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      end = text.find("*/", at + 2);
      at = end == std::string_view::npos ? text.size() : end + 2;
    } else if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      ++at;
    } else {
      if (in_word(text[at])) {
        while (end < text.size() && in_word(text[end])) ++end;
      }
      tokens.push_back(text.substr(at, end - at));
      at = end;
    }
  }
  return tokens;
}

// More than any number in a declaration: sums and products of them fit.
constexpr int kMostNumber = 1 << 20;

// The number that a word begins with; 0 where there is none, or one that is too
// large.
int ToNumber(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number >= 0 && number <= kMostNumber ? number : 0;
}

std::size_t SizeOfType(std::string_view type) {
  const std::size_t digit = type.find_first_of("0123456789");
  return digit == std::string_view::npos
             ? 0
             : static_cast<std::size_t>(ToNumber(type.substr(digit))) / 8;
}

class Parser {
 public:
  Parser(std::vector<std::string_view> tokens, Image* image)
      : tokens_(std::move(tokens)), image_(image) {}

  void Parse() {
    while (at_ < tokens_.size()) {
      const std::string_view token = tokens_[at_++];
      if (token == ".version") {
        ReadVersion();
      } else if (token == ".target") {
        ReadTarget();
      } else if (token == ".entry") {
        ReadEntry();
      } else if (token == ".shared" && !image_->kernels.empty() &&
                 (at_ < 2 || tokens_[at_ - 2] != ".extern")) {
        image_->kernels.back().static_shared_bytes += ReadDeclaration().size;
      } else if (token == ".maxntid" && !image_->kernels.empty()) {
        ReadMaxThreads();
      }
    }
  }

 private:
  struct Declaration {
    std::size_t size = 0;
    std::size_t alignment = 1;
  };

  std::string_view Peek() const {
    return at_ < tokens_.size() ? tokens_[at_] : std::string_view();
  }
  std::string_view Next() {
    return at_ < tokens_.size() ? tokens_[at_++] : std::string_view();
  }

  // "8.7"
  void ReadVersion() {
    const std::string_view version = Next();
    const std::size_t dot = version.find('.');
    if (dot == std::string_view::npos) return;
    image_->ptx_version = ToNumber(version.substr(0, dot)) * 10 +
                          ToNumber(version.substr(dot + 1));
  }

  // "sm_90", "sm_90a", "sm_100f"
  void ReadTarget() {
    const std::string_view target = Next();
    if (target.substr(0, 3) != "sm_") return;
    image_->compute_capability = ToNumber(target.substr(3));
    if (target.back() == 'a') image_->runs = Image::Runs::kNothingElse;
    if (target.back() == 'f') image_->runs = Image::Runs::kSameMajor;
  }

  // ".align 8 .b8 name[32760]": what follows .param or .shared.
  Declaration ReadDeclaration() {
    Declaration declaration;
    if (Peek() == ".align") {
      Next();
      declaration.alignment =
          static_cast<std::size_t>(std::max(ToNumber(Next()), 1));
    }
    declaration.size = SizeOfType(Next());
    if (declaration.alignment < declaration.size) {
      declaration.alignment = declaration.size;
    }
    Next();
    if (Peek() == "[") {
      Next();
      declaration.size *= static_cast<std::size_t>(ToNumber(Next()));
    }
    return declaration;
  }

  // "name(.param ..., .param ...)"
  void ReadEntry() {
    if (Peek().empty()) return;
    image_->kernels.emplace_back();
    ImageKernel& kernel = image_->kernels.back();
    kernel.name = std::string(Next());
    if (Peek() != "(") return;
    while (at_ < tokens_.size() && Peek() != ")") {
      if (Next() != ".param") continue;
      const Declaration parameter = ReadDeclaration();
      kernel.parameter_bytes =
          (kernel.parameter_bytes + parameter.alignment - 1) /
              parameter.alignment * parameter.alignment +
          parameter.size;
    }
  }

  // "1024, 1, 1"
  void ReadMaxThreads() {
    unsigned threads = static_cast<unsigned>(ToNumber(Next()));
    while (Peek() == ",") {
      Next();
      threads *= static_cast<unsigned>(ToNumber(Next()));
    }
    image_->kernels.back().max_threads = threads;
  }

  const std::vector<std::string_view> tokens_;
  Image* const image_;
  std::size_t at_ = 0;
};

}  // namespace

Result ParsePtx(const char* text, Image* image, std::string* why) {
  std::vector<std::string_view> tokens = Tokens(text);
  if (tokens.empty() || tokens.front() != ".version") {
    *why = "the image is neither a cubin nor PTX";
    return abi::kErrorInvalidImage;
  }
  image->is_ptx = true;
  Parser(std::move(tokens), image).Parse();
  if (image->ptx_version == 0 || image->compute_capability == 0) {
    *why = "PTX without a version or a target";
    return abi::kErrorInvalidPtx;
  }
  if (image->ptx_version < OldestPtx(image->compute_capability)) {
    *why = "PTX of a version that does not have its target";
    return abi::kErrorInvalidPtx;
  }
  image->oldest_driver = OldestDriver(image->ptx_version);
  return abi::kSuccess;
}

}  // namespace kvswap::sim
