#include "host/data/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace tutti {
namespace {

constexpr size_t kAlignment = 64;

Error arena_error(const char* what, size_t capacity) {
  return failed(std::string("shared memory of ") + std::to_string(capacity) + " bytes for batches can't be " + what + " (" +
                std::strerror(errno) + ")");
}

}  // namespace

Result<SharedArena> SharedArena::create(size_t capacity) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  SharedArena arena;
  arena.capacity_ = (std::max<size_t>(capacity, 1) + page - 1) / page * page;
  arena.descriptor_ = memfd_create("tutti-batches", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (arena.descriptor_ < 0 || ftruncate(arena.descriptor_, static_cast<off_t>(arena.capacity_)) != 0)
    return arena_error("made", arena.capacity_);

  void* writable = mmap(nullptr, arena.capacity_, PROT_READ | PROT_WRITE, MAP_SHARED, arena.descriptor_, 0);
  if (writable == MAP_FAILED) return arena_error("mapped", arena.capacity_);
  arena.writable_ = static_cast<std::byte*>(writable);

  // The mapping above stays writable; after FUTURE_WRITE no other can become so, not even by mprotect, here or in a worker.
  // Linux before 5.1 doesn't know that seal.
  constexpr int kSize = F_SEAL_SHRINK | F_SEAL_GROW;
  if (fcntl(arena.descriptor_, F_ADD_SEALS, kSize | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0 &&
      fcntl(arena.descriptor_, F_ADD_SEALS, kSize | F_SEAL_SEAL) != 0)
    return arena_error("sealed", arena.capacity_);

  void* readable = mmap(nullptr, arena.capacity_, PROT_READ, MAP_SHARED, arena.descriptor_, 0);
  if (readable == MAP_FAILED) return arena_error("mapped", arena.capacity_);
  arena.readable_ = static_cast<const std::byte*>(readable);
  return arena;
}

SharedArena::~SharedArena() {
  if (writable_) munmap(writable_, capacity_);
  if (readable_) munmap(const_cast<std::byte*>(readable_), capacity_);
  if (descriptor_ >= 0) close(descriptor_);
}

SharedArena::SharedArena(SharedArena&& other) noexcept { *this = std::move(other); }

SharedArena& SharedArena::operator=(SharedArena&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(capacity_, other.capacity_);
  std::swap(used_, other.used_);
  std::swap(writable_, other.writable_);
  std::swap(readable_, other.readable_);
  return *this;
}

Result<size_t> SharedArena::allocate(size_t bytes) {
  const size_t offset = (used_ + kAlignment - 1) / kAlignment * kAlignment;
  if (offset > capacity_ || bytes > capacity_ - offset)
    return failed("a piece of " + std::to_string(bytes) + " bytes doesn't fit into the batches' shared memory, of which " +
                  std::to_string(offset) + " of " + std::to_string(capacity_) + " bytes are taken; make batches smaller");
  used_ = offset + bytes;
  return offset;
}

}  // namespace tutti
