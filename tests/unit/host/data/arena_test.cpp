#include "host/data/arena.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <cstring>

namespace tutti {

static SharedArena arena_of(size_t capacity) {
  auto arena = SharedArena::create(capacity);
  INFO((arena ? "" : arena.error().message));
  REQUIRE(arena);
  return *std::move(arena);
}

// The signal that ends a child doing what; 0 where it lives to its end.
template <class What>
static int fatal_signal(What what) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);  // without the handlers of Catch and of sanitizers
    what();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST_CASE("what is written through one mapping is read through the other") {
  SharedArena arena = arena_of(1000);
  const auto offset = arena.allocate(5);
  REQUIRE(offset);
  std::memcpy(arena.writable(*offset), "tutti", 5);
  CHECK(std::memcmp(arena.readable(*offset), "tutti", 5) == 0);
  CHECK(arena.writable(0) != arena.readable(0));
}

TEST_CASE("pieces are aligned to 64 bytes and end where the arena does") {
  SharedArena arena = arena_of(1);
  const size_t capacity = arena.capacity();
  CHECK(capacity % static_cast<size_t>(sysconf(_SC_PAGESIZE)) == 0);
  CHECK(*arena.allocate(1) == 0);
  CHECK(*arena.allocate(64) == 64);
  CHECK(*arena.allocate(0) == 128);
  CHECK(*arena.allocate(capacity - 128) == 128);
  const auto over = arena.allocate(1);
  REQUIRE(!over);
  CHECK(over.error().message == "a piece of 1 bytes doesn't fit into the batches' shared memory, of which " +
                                    std::to_string(capacity) + " of " + std::to_string(capacity) +
                                    " bytes are taken; make batches smaller");
  arena.clear();
  CHECK(*arena.allocate(capacity) == 0);
  CHECK(!arena.allocate(SIZE_MAX));
}

TEST_CASE("writing to the readable mapping faults") {
  SharedArena arena = arena_of(100);
  auto* byte = const_cast<volatile std::byte*>(arena.readable(0));
  CHECK(fatal_signal([&] { *byte = std::byte{1}; }) == SIGSEGV);
  CHECK(fatal_signal([&] { *arena.writable(0) = std::byte{1}; }) == 0);
}

TEST_CASE("the readable mapping can't be made writable, nor the file be mapped so again") {
  SharedArena arena = arena_of(100);
  const int seals = fcntl(arena.descriptor(), F_GET_SEALS);
  CHECK((seals & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) == (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
  CHECK(ftruncate(arena.descriptor(), 0) != 0);
  CHECK(ftruncate(arena.descriptor(), static_cast<off_t>(2 * arena.capacity())) != 0);
  if (!(seals & F_SEAL_FUTURE_WRITE)) return;  // Linux before 5.1

  CHECK(mmap(nullptr, arena.capacity(), PROT_READ | PROT_WRITE, MAP_SHARED, arena.descriptor(), 0) == MAP_FAILED);
  CHECK(write(arena.descriptor(), "x", 1) < 0);
  CHECK(mprotect(const_cast<std::byte*>(arena.readable(0)), arena.capacity(), PROT_READ | PROT_WRITE) != 0);
}

TEST_CASE("another process maps the same pages by the descriptor") {
  SharedArena arena = arena_of(100);
  std::memcpy(arena.writable(0), "tutti", 5);
  CHECK(fatal_signal([&] {
          const void* pages = mmap(nullptr, arena.capacity(), PROT_READ, MAP_SHARED, arena.descriptor(), 0);
          if (pages == MAP_FAILED || std::memcmp(pages, "tutti", 5) != 0) raise(SIGKILL);
        }) == 0);
}

TEST_CASE("a moved arena keeps its pages and its descriptor") {
  SharedArena first = arena_of(100);
  const std::byte* pages = first.readable(0);
  SharedArena second = std::move(first);
  CHECK(second.readable(0) == pages);
  SharedArena third = arena_of(5000);
  third = std::move(second);
  CHECK(third.readable(0) == pages);
  CHECK(fcntl(third.descriptor(), F_GETFD) == FD_CLOEXEC);
}

TEST_CASE("an arena leaves no descriptor behind") {
  int descriptor = -1;
  {
    SharedArena arena = arena_of(100);
    descriptor = arena.descriptor();
  }
  CHECK(fcntl(descriptor, F_GETFD) == -1);
}

}  // namespace tutti
