// Memory that the host fills and models can only read: one anonymous file (memfd), mapped twice. Worker processes can
// map the same pages by the descriptor. A plugin that writes to its input faults. One thread at a time.
#pragma once

#include <cstddef>

#include "shared/result.h"

namespace tutti {

class SharedArena {
 public:
  // capacity in bytes, rounded up to whole pages. The file is sealed against changes of its size and, where the kernel knows
  // that seal (Linux 5.1), against every writable mapping but the one made here.
  static Result<SharedArena> create(size_t capacity);
  ~SharedArena();
  SharedArena(SharedArena&& other) noexcept;
  SharedArena& operator=(SharedArena&& other) noexcept;

  // Forgets all pieces.
  void clear() { used_ = 0; }

  // An offset aligned to 64 bytes, good for both mappings, or an error where the arena is full.
  Result<size_t> allocate(size_t bytes);

  std::byte* writable(size_t offset) { return writable_ + offset; }
  const std::byte* readable(size_t offset) const { return readable_ + offset; }

  int descriptor() const { return descriptor_; }
  size_t capacity() const { return capacity_; }

 private:
  SharedArena() = default;

  int descriptor_ = -1;
  size_t capacity_ = 0, used_ = 0;
  std::byte* writable_ = nullptr;
  const std::byte* readable_ = nullptr;
};

}  // namespace tutti
