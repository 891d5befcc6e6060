// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as
// 1, 2, 3; SC 2011). The value at a counter depends on seed, stream and counter alone, so it is the same on any
// number of threads and in any order.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

namespace tutti {

using PhiloxBlock = std::array<uint32_t, 4>;

// The ten rounds: four 32-bit numbers for a 128-bit counter and a 64-bit key.
inline PhiloxBlock philox4x32(PhiloxBlock counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// One sequence of numbers among 2^64 independent ones of a seed. Cheap to copy.
class Philox {
 public:
  explicit Philox(uint64_t seed, uint64_t stream = 0)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}, stream_(stream) {}

  // The index-th 64 random bits of the sequence.
  uint64_t bits(uint64_t index) const {
    const uint64_t block = index / 2;
    const PhiloxBlock b = philox4x32({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                                      static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)},
                                     key_);
    return index % 2 == 0 ? uint64_t{b[1]} << 32 | b[0] : uint64_t{b[3]} << 32 | b[2];
  }

  // Uniform in [0,1), a multiple of 2^-53.
  double uniform(uint64_t index) const { return static_cast<double>(bits(index) >> 11) * 0x1p-53; }
  double uniform(uint64_t index, double low, double high) const { return low + (high - low) * uniform(index); }

  // Standard normal by Box and Muller; uses the numbers 2*index and 2*index+1.
  double normal(uint64_t index) const {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(2 * index)));
    return radius * std::cos(2.0 * std::numbers::pi * uniform(2 * index + 1));
  }

  // Uniform in 0 … count-1; the bias is below count / 2^64.
  uint64_t below(uint64_t index, uint64_t count) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>(static_cast<Wide>(bits(index)) * count >> 64);
  }

 private:
  std::array<uint32_t, 2> key_;
  uint64_t stream_;
};

// A random order of items (Fisher and Yates).
template <class Item>
void shuffle(std::vector<Item>& items, const Philox& random) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i, i)]);
}

}  // namespace tutti
