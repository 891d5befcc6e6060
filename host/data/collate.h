// From table to batch: the only way, for training, validation, testing and use alike. One copy, straight into the
// read-only shared arena that every member reads.
#pragma once

#include <tutti/plugin.h>

#include <cstdint>
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

// A view of what was collated last; valid until the next collate.
struct Batch {
  tutti_batch view;    // tensors in read-only pages
  uint64_t hash = 0;   // XXH3 over all tensors' names, shapes and bytes, targets left out
};

class Collator {
 public:
  // largest: rows of the largest batch. table and scaler are borrowed.
  static Result<Collator> create(const Table& table, const Scaler& scaler, BatchLayout layout, int64_t largest);

  // past, past_time, elapsed, observed (where the table has it), row, and target if wanted. Origins must be windows of the
  // table; a batch without targets never touches a row after its origins.
  Result<Batch> collate(std::span<const Origin> origins, Targets targets);

  const BatchLayout& layout() const { return layout_; }

 private:
  Collator(const Table& table, const Scaler& scaler, BatchLayout layout, SharedArena arena);

  const Table* table_;
  const Scaler* scaler_;
  BatchLayout layout_;
  int64_t median_step_;
  SharedArena arena_;
  struct Shapes;
};

// The content hash of a batch's tensors as a reader of its pages sees them, targets left out.
uint64_t hash_batch(const tutti_batch& batch);

}  // namespace tutti
