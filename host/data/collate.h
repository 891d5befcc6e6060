// From table to batch: the only way, for training, validation, testing and use alike. One copy, straight into the
// read-only shared arena that every member reads.
#pragma once

#include <tutti/plugin.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "host/data/arena.h"
#include "host/data/scaler.h"
#include "host/data/table.h"
#include "host/data/window.h"
#include "shared/result.h"

namespace tutti {

struct BatchLayout {
  std::vector<int64_t> features;  // columns of the table
  std::vector<int64_t> targets;   // columns of the table
  WindowShape window;
  tutti_dtype dtype;  // f32 or f64
};

enum class Targets { without, with };

// A view of what was collated last; valid until the next collate of its Collator, which may be moved meanwhile.
struct Batch {
  tutti_batch view;   // tensors in read-only pages
  uint64_t hash = 0;  // XXH3 over all tensors' names, dtypes, shapes and bytes, targets left out
};

class Collator {
 public:
  // largest: rows of the largest batch. table and scaler are borrowed.
  static Result<Collator> create(const Table& table, const Scaler& scaler, BatchLayout layout, int64_t largest);

  // past, past_time, elapsed (the table's first row has 1), observed (where the table has it), row, and target if wanted; all
  // dense. A batch without targets never touches a row after its origins. An origin without a full window, or more origins
  // than largest, is an error.
  Result<Batch> collate(std::span<const Origin> origins, Targets targets);

  const BatchLayout& layout() const { return layout_; }
  // For handing to worker processes: the pages that every batch lies in.
  const SharedArena& arena() const { return arena_; }

 private:
  // What a tensor's shape and strides point to.
  struct Axes {
    std::array<int64_t, 3> shape, strides;
    int32_t ndim;
    int64_t size;
    void set(std::initializer_list<int64_t> lengths);
  };
  struct Shapes {
    Axes past, past_time, elapsed, observed, row, target;
  };

  Collator(const Table& table, const Scaler& scaler, BatchLayout layout, SharedArena arena);

  template <class Real>
  Result<Batch> fill(std::span<const Origin> origins, Targets targets);
  // Room in the arena for a dense tensor: its view for readers, and where to write it.
  template <class T>
  Result<T*> place(tutti_tensor& tensor, Axes& axes, std::initializer_list<int64_t> lengths);

  const Table* table_;
  const Scaler* scaler_;
  BatchLayout layout_;
  int64_t median_step_;
  SharedArena arena_;
  std::unique_ptr<Shapes> shapes_;  // batches point into it
};

// The content hash of a batch's tensors as a reader of its pages sees them, targets left out.
uint64_t hash_batch(const tutti_batch& batch);

}  // namespace tutti
