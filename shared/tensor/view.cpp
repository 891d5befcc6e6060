#include "shared/tensor/view.h"

namespace tutti {

std::string shape_text(const int64_t* shape, int ndim) {
  std::string text = "[";
  for (int axis = 0; axis < ndim; ++axis) {
    if (axis) text += ",";
    text += std::to_string(shape[axis]);
  }
  text += "]";
  return text;
}

}  // namespace tutti
