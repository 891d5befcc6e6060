#include "tests/support/counted_memory.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

// Under a sanitizer malloc is its own; then only what comes through operator new is counted.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TUTTI_MALLOC_IS_TAKEN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define TUTTI_MALLOC_IS_TAKEN
#endif

namespace {

std::atomic<int64_t> count{0}, live{0}, peak{0};

void* counted(void* memory) {
  if (!memory) throw std::bad_alloc();
#ifdef TUTTI_MALLOC_IS_TAKEN
  ++count;
#endif
  const int64_t now = live += static_cast<int64_t>(malloc_usable_size(memory));
  for (int64_t before = peak; before < now && !peak.compare_exchange_weak(before, now);) {
  }
  return memory;
}

void release(void* memory) {
  if (memory) live -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

#ifndef TUTTI_MALLOC_IS_TAKEN
// Matrix libraries call malloc and not operator new.
extern "C" void* __libc_malloc(std::size_t);
extern "C" void* __libc_memalign(std::size_t, std::size_t);
extern "C" [[gnu::visibility("default")]] void* malloc(std::size_t size) {
  ++count;
  return __libc_malloc(size);
}
extern "C" [[gnu::visibility("default")]] void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++count;
  return __libc_memalign(alignment, size);
}
#endif

// All forms, since a sanitizer brings its own of those that are missing.
void* operator new(std::size_t size) { return counted(std::malloc(size ? size : 1)); }
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(unit, (size + unit - 1) / unit * unit));
}
void* operator new[](std::size_t size, std::align_val_t alignment) { return operator new(size, alignment); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t size, const std::nothrow_t& nothrow) noexcept { return operator new(size, nothrow); }

void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }

namespace tutti::testing {

int64_t allocations() { return count; }
int64_t live_bytes() { return live; }
int64_t peak_bytes() { return peak; }
void restart_peak() { peak = live.load(); }

}  // namespace tutti::testing
