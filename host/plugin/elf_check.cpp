#include "host/plugin/elf_check.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <vector>

namespace tutti {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
constexpr uint16_t kMachine = EM_NONE;
#endif

Result<void> check_header(const Elf64_Ehdr& header) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return bad_input("is not a shared library (no ELF signature)");
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return bad_input("is for another word size; 64 bits are needed");
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) return bad_input("is for another byte order");
  if (kMachine != EM_NONE && header.e_machine != kMachine) return bad_input("is for another processor");
  if (header.e_type != ET_DYN) return bad_input("is not a shared library");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0)
    return bad_input("is not a shared library (no program headers)");
  return {};
}

}  // namespace

Result<void> check_elf_library(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return bad_input("is not a file");
  const uint64_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) return bad_input("can't be read");

  Elf64_Ehdr header{};
  if (size < sizeof header || !file.read(reinterpret_cast<char*>(&header), sizeof header))
    return bad_input("is not a shared library (too small)");
  TUTTI_CHECK(check_header(header));

  std::vector<Elf64_Phdr> segments(header.e_phnum);
  const uint64_t table_end = header.e_phoff + segments.size() * sizeof(Elf64_Phdr);
  const auto cut_off = [&](uint64_t needed) {
    return bad_input(fmt::format("is cut off: {} of at least {} bytes", size, needed));
  };
  if (table_end < header.e_phoff || table_end > size) return cut_off(table_end);
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  file.read(reinterpret_cast<char*>(segments.data()), static_cast<std::streamsize>(segments.size() * sizeof(Elf64_Phdr)));
  if (!file) return bad_input("can't be read");
  for (const Elf64_Phdr& segment : segments) {
    const uint64_t end = segment.p_offset + segment.p_filesz;
    if (end < segment.p_offset || end > size) return cut_off(end);
  }
  const uint64_t sections_end = header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize;
  if (sections_end < header.e_shoff || sections_end > size) return cut_off(sections_end);
  return {};
}

}  // namespace tutti
