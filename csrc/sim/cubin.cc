// The layout was read off cubins of NVRTC 12.8 and 13.0.

#include "csrc/sim/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "csrc/sim/host_memory.h"

namespace kvswap::sim {
namespace {

constexpr unsigned kMachineCuda = 190;  // EM_CUDA

// The two generations of the format, by the ELF header's OS ABI and version:
// 12.x for devices up to 9.x; 12.8 and newer for 10.0 and up, and 13.x for all.
constexpr unsigned char kOlderAbi = 0x33;
constexpr unsigned char kOlderAbiVersion = 7;
constexpr unsigned char kNewerAbi = 0x41;
constexpr unsigned char kNewerAbiVersion = 8;
constexpr int kOlderAbiDriver = 12000;
constexpr int kNewerAbiDriver = 12080;
// Of the newer generation's toolkit, where an image does not say it.
constexpr int kNewerAbiToolkit = 13000;

// Of a symbol's other bits, what tells a kernel from other functions.
constexpr unsigned char kEntry = 0x10;

// Items of .nv.info and .nv.info.KERNEL: a format, an attribute, two bytes that
// are the value or, with kSized, the size of the value behind them.
constexpr unsigned char kSized = 4;
constexpr unsigned char kMaxThreads = 0x05;      // three numbers
constexpr unsigned char kParameterBytes = 0x19;  // in the two bytes
constexpr unsigned char kToolkitVersion = 0x37;  // as 128 for 12.8

// What the driver itself takes of each block's shared memory, part of the
// kernels' sections for devices of 9.0 and newer.
constexpr std::size_t kReservedShared = 1024;
constexpr int kReservingCapability = 90;

constexpr char kInfoPrefix[] = ".nv.info.";
constexpr char kSharedPrefix[] = ".nv.shared.";
constexpr char kTextPrefix[] = ".text.";

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// No image is larger: offsets in it can be added.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32;
// As `128` for 12.8: larger ones are none.
constexpr std::uint32_t kMostToolkit = 9999;

class Cubin {
 public:
  explicit Cubin(const void* data) : data_(static_cast<const char*>(data)) {}

  // Before anything else: whether all that the headers describe is there. A
  // driver is not told how long an image is.
  bool IsWhole() {
    if (!Has(0, sizeof header_)) return false;
    std::memcpy(&header_, data_, sizeof header_);
    if (header_.e_shentsize != sizeof(Elf64_Shdr) ||
        header_.e_shstrndx >= header_.e_shnum ||
        !Has(header_.e_shoff,
             std::uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr))) {
      return false;
    }
    for (std::size_t i = 0; i < header_.e_shnum; ++i) {
      const Elf64_Shdr section = Section(i);
      if (section.sh_type == SHT_SYMTAB && section.sh_link >= header_.e_shnum) {
        return false;
      }
      if (section.sh_type != SHT_NOBITS &&
          !Has(section.sh_offset, section.sh_size)) {
        return false;
      }
    }
    return true;
  }

  const Elf64_Ehdr& header() const { return header_; }

  Elf64_Shdr Section(std::size_t index) const {
    Elf64_Shdr section;
    std::memcpy(&section, data_ + header_.e_shoff + index * header_.e_shentsize,
                sizeof section);
    return section;
  }
  std::string_view SectionName(const Elf64_Shdr& section) const {
    return Text(Section(header_.e_shstrndx), section.sh_name);
  }
  std::string_view Text(const Elf64_Shdr& strings, std::size_t offset) const {
    const std::string_view content = Content(strings);
    if (offset >= content.size()) return {};
    const std::string_view text = content.substr(offset);
    return text.substr(0, text.find('\0'));
  }
  std::string_view Content(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS) return {};
    return {data_ + section.sh_offset, section.sh_size};
  }

 private:
  bool Has(std::uint64_t offset, std::uint64_t size) {
    return offset <= kMostBytes && size <= kMostBytes &&
           memory_.Accessible(reinterpret_cast<std::uint64_t>(data_) + offset,
                              size, Access::kRead);
  }

  const char* const data_;
  HostMemoryMap memory_;
  Elf64_Ehdr header_ = {};
};

std::uint32_t ReadNumber(std::string_view from, std::size_t offset,
                         std::size_t size) {
  std::uint32_t number = 0;
  if (offset + size <= from.size()) {
    std::memcpy(&number, from.data() + offset, size);
  }
  return number;
}

void ReadInfo(std::string_view info, ImageKernel* kernel, int* toolkit) {
  for (std::size_t at = 0; at + 4 <= info.size();) {
    const auto format = static_cast<unsigned char>(info[at]);
    const auto attribute = static_cast<unsigned char>(info[at + 1]);
    const std::size_t value = ReadNumber(info, at + 2, 2);
    at += 4;
    if (format != kSized) {
      if (attribute == kParameterBytes) kernel->parameter_bytes = value;
      continue;
    }
    if (attribute == kMaxThreads) {
      kernel->max_threads = ReadNumber(info, at, 4) *
                            ReadNumber(info, at + 4, 4) *
                            ReadNumber(info, at + 8, 4);
    } else if (attribute == kToolkitVersion) {
      const std::uint32_t version = ReadNumber(info, at, 4);
      *toolkit = version <= kMostToolkit ? static_cast<int>(version) * 100 : 0;
    }
    at += value;
  }
}

// Which kernels there are: the entries that have a .text section of their own.
void ReadKernels(const Cubin& cubin, Image* image) {
  for (std::size_t i = 0; i < cubin.header().e_shnum; ++i) {
    const Elf64_Shdr section = cubin.Section(i);
    if (section.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr strings = cubin.Section(section.sh_link);
    const std::string_view symbols = cubin.Content(section);
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size();
         at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
          (symbol.st_other & kEntry) == 0 ||
          symbol.st_shndx >= cubin.header().e_shnum) {
        continue;
      }
      const std::string name(cubin.Text(strings, symbol.st_name));
      if (!name.empty() && cubin.SectionName(cubin.Section(symbol.st_shndx)) ==
                               kTextPrefix + name) {
        image->kernels.emplace_back();
        image->kernels.back().name = name;
      }
    }
  }
}

ImageKernel* FindKernel(Image* image, std::string_view name) {
  for (ImageKernel& kernel : image->kernels) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

// What the kernels' own sections say; returns the toolkit's version, or 0.
int ReadSections(const Cubin& cubin, Image* image) {
  int toolkit = 0;
  for (std::size_t i = 0; i < cubin.header().e_shnum; ++i) {
    const Elf64_Shdr section = cubin.Section(i);
    const std::string_view name = cubin.SectionName(section);
    if (StartsWith(name, kInfoPrefix)) {
      ImageKernel* kernel =
          FindKernel(image, name.substr(sizeof kInfoPrefix - 1));
      if (kernel != nullptr) {
        ReadInfo(cubin.Content(section), kernel, &toolkit);
      }
    } else if (StartsWith(name, kSharedPrefix)) {
      ImageKernel* kernel =
          FindKernel(image, name.substr(sizeof kSharedPrefix - 1));
      const std::size_t reserved =
          image->compute_capability >= kReservingCapability ? kReservedShared
                                                            : 0;
      if (kernel != nullptr && section.sh_size > reserved) {
        kernel->static_shared_bytes = section.sh_size - reserved;
      }
    }
  }
  return toolkit;
}

Result Refuse(std::string reason, std::string* why) {
  *why = std::move(reason);
  return abi::kErrorInvalidImage;
}

}  // namespace

// What is no ELF file may be text that is shorter than the mark.
bool IsElf(const void* data) {
  return std::strncmp(static_cast<const char*>(data), ELFMAG, SELFMAG) == 0;
}

Result ParseCubin(const void* data, Image* image, std::string* why) {
  Cubin cubin(data);
  if (!cubin.IsWhole()) {
    return Refuse(
        "the image is an ELF file of which not all sections are there: "
        "truncated or damaged",
        why);
  }
  const Elf64_Ehdr& header = cubin.header();
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_machine != kMachineCuda) {
    return Refuse("the image is an ELF file, but no cubin", why);
  }
  const unsigned char abi = header.e_ident[EI_OSABI];
  const unsigned char version = header.e_ident[EI_ABIVERSION];
  const bool newer = abi == kNewerAbi && version == kNewerAbiVersion;
  if (!newer && (abi != kOlderAbi || version != kOlderAbiVersion)) {
    return Refuse("the image is a cubin of OS ABI " + std::to_string(abi) +
                      ", version " + std::to_string(version) +
                      ", which no simulated driver knows",
                  why);
  }
  image->compute_capability =
      static_cast<int>((newer ? header.e_flags >> 8 : header.e_flags) & 0xff);
  image->runs = Image::Runs::kSameMajor;
  ReadKernels(cubin, image);
  int toolkit = ReadSections(cubin, image);
  if (toolkit == 0) toolkit = newer ? kNewerAbiToolkit : kOlderAbiDriver;
  // A driver runs the cubins of all toolkits of its major version.
  image->oldest_driver = std::max(newer ? kNewerAbiDriver : kOlderAbiDriver,
                                  toolkit / 1000 * 1000);
  return abi::kSuccess;
}

}  // namespace kvswap::sim
