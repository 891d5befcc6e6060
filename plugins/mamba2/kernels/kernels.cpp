#include "plugins/mamba2/kernels/kernels.h"

#include <cstring>

#include "plugins/mamba2/kernels/reference.h"

namespace tutti::mamba2 {

template <class T>
T* Scratch<T>::reserve(int64_t elements) {
  constexpr size_t kAlignment = 64;
  if (size_ < elements) memory_.resize(static_cast<size_t>(elements) + kAlignment / sizeof(T)), size_ = elements;
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
  return memory_.data() + (kAlignment - address % kAlignment) % kAlignment / sizeof(T);
}

template class Scratch<float>;
template class Scratch<double>;

#define TUTTI_DECLARE(name)  \
  namespace name {           \
  template <class T>         \
  const Kernels<T>& kernels(); \
  }
#ifdef TUTTI_X86_KERNELS
TUTTI_DECLARE(avx2)
TUTTI_DECLARE(avx512)
#else
TUTTI_DECLARE(generic)
#endif

namespace {

struct Offer {
  const char* name;
  const Kernels<float>& (*f32)();
  const Kernels<double>& (*f64)();
  bool (*runs_here)();

  const Kernels<float>& kernels(float) const { return f32(); }
  const Kernels<double>& kernels(double) const { return f64(); }
};

bool always() { return true; }

// From the slowest to the fastest.
constexpr Offer kOffers[] = {
    {"reference", reference::kernels<float>, reference::kernels<double>, always},
#ifdef TUTTI_X86_KERNELS
    {"avx2", avx2::kernels<float>, avx2::kernels<double>,
     [] { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }},
    {"avx512", avx512::kernels<float>, avx512::kernels<double>,
     [] {
       return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
     }},
#else
    {"generic", generic::kernels<float>, generic::kernels<double>, always},
#endif
};

}  // namespace

std::vector<const char*> kernel_names() {
  std::vector<const char*> names;
  for (const Offer& offer : kOffers)
    if (offer.runs_here()) names.push_back(offer.name);
  return names;
}

template <class T>
const Kernels<T>* find_kernels(const char* name) {
  const Kernels<T>* best = nullptr;
  for (const Offer& offer : kOffers)
    if (offer.runs_here() && (std::strcmp(name, "auto") == 0 || std::strcmp(name, offer.name) == 0)) best = &offer.kernels(T());
  return best;
}

template const Kernels<float>* find_kernels(const char*);
template const Kernels<double>* find_kernels(const char*);

}  // namespace tutti::mamba2
