#include "weft/models/data/batching/token_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "weft/core/error.h"

namespace weft {

TokenStreams::TokenStreams(std::vector<std::int32_t> ids, std::int64_t rows, std::int64_t length)
    : ids_(std::move(ids)), rows_(rows), length_(length) {
  if (rows < 1 || length < 1) {
    throw ArgumentError(fmt::format(
        "streams need at least 1 row and 1 token per row, not {} and {}", rows, length));
  }
  // The last id of a row is only a target.
  per_row_ = (std::ssize(ids_) - 1) / rows;
  size_ = per_row_ / length;
  if (size_ < 1) {
    throw ArgumentError(
        fmt::format("{} tokens are too few for a batch of {} rows with {} tokens: {} are needed",
                    ids_.size(), rows, length, rows * length + 1));
  }
}

TokenStreams::Piece TokenStreams::operator[](std::int64_t step) const {
  const std::int64_t place = step % size_;
  TokenBatch tokens{Tensor::empty(DType::i32, {rows_, length_}),
                    Tensor::empty(DType::i32, {rows_, length_})};
  auto* inputs = tokens.inputs.mutable_data<std::int32_t>();
  auto* targets = tokens.targets.mutable_data<std::int32_t>();
  for (std::int64_t row = 0; row < rows_; ++row) {
    const auto from = ids_.begin() + row * per_row_ + place * length_;
    inputs = std::copy_n(from, length_, inputs);
    targets = std::copy_n(from + 1, length_, targets);
  }
  return {std::move(tokens), place == 0};
}

}  // namespace weft
