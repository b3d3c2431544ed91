// A cache of the rows of a data set.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Rows that are computed when they are first used. A training run can therefore start without
/// encoding all of its texts, and each text is encoded at most once. Thread-safe; copies share the
/// rows.
template <class Row>
class LazyCache {
 public:
  /// `make` computes row i and is never called concurrently. All objects that `make` refers to must
  /// outlive the rows.
  LazyCache(std::int64_t count, std::function<Row(std::int64_t i)> make)
      : kept_(std::make_shared<Kept>(count, std::move(make))) {}

  /// Returns row i. The reference stays valid as long as the rows exist.
  const Row& operator[](std::int64_t i) const {
    const std::lock_guard lock(kept_->mutex);
    std::optional<Row>& row = kept_->rows[static_cast<std::size_t>(i)];
    if (!row) row = kept_->make(i);
    return *row;
  }

 private:
  struct Kept {
    Kept(std::int64_t count, std::function<Row(std::int64_t)> how)
        : rows(static_cast<std::size_t>(count)), make(std::move(how)) {}
    std::mutex mutex;
    std::vector<std::optional<Row>> rows;
    std::function<Row(std::int64_t)> make;
  };
  std::shared_ptr<Kept> kept_;
};

}  // namespace weft
