#include "shared/tensor/dtype.h"

namespace tutti {

std::string name_of(tutti_dtype dtype) {
  const char* letter = dtype.code == TUTTI_FLOAT ? "f" : dtype.code == TUTTI_INT ? "i" : dtype.code == TUTTI_UINT ? "u" : "?";
  std::string name = letter + std::to_string(dtype.bits);
  return dtype.lanes == 1 ? name : name + "x" + std::to_string(dtype.lanes);
}

}  // namespace tutti
