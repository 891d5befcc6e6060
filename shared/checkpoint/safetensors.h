// The safetensors format: an 8-byte little-endian header length, a JSON header of names, dtypes, shapes and offsets,
// then the bytes of all tensors. Reading checks every length before it is used; writing is atomic (temporary file,
// fsync, rename), so a file is either the old or the new one, never half. Neither throws.
// Source of the format: https://github.com/huggingface/safetensors#format
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "shared/result.h"
#include "shared/tensor/tensor.h"

namespace tutti {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct Checkpoint {
  std::vector<NamedTensor> tensors;             // in the order of their bytes in the file
  std::map<std::string, std::string> metadata;  // free text

  // Null where there is no such name.
  const Tensor* find(const std::string& name) const;
};

// A tensor to be written; borrowed, dense, in CPU memory.
struct TensorToWrite {
  std::string name;
  tutti_tensor tensor;
};

// Reads all tensors, each into memory of its own. dtypes: F32 F64 I8 I16 I32 I64 U8 U16 U32 U64; BOOL becomes u8,
// others are refused. Errors name the file and what in it is wrong: bad_input for a damaged or missing file,
// unsupported for a dtype, failed where the system would not read.
Result<Checkpoint> read_safetensors(const std::filesystem::path& path);

// Writes tensors in the given order, with no gap between them; the first begins at a multiple of 8 bytes. Names and
// metadata are UTF-8, names differ from one another. The same input gives the same bytes. On failure the file at
// path is as it was, unless the sentence says that it is written.
Result<void> write_safetensors(const std::filesystem::path& path, const std::vector<TensorToWrite>& tensors,
                               const std::map<std::string, std::string>& metadata = {});

}  // namespace tutti
