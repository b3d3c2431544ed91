#include "weft/models/data/batching/token_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft {

namespace {

/// The start position of a window.
struct WindowPlace {
  const TokenPart* part;
  std::int64_t start;
};

TokenBatch windows(std::span<const WindowPlace> places, std::int64_t length) {
  const std::int64_t batch = std::ssize(places);
  TokenBatch out{Tensor::empty(DType::i32, {batch, length}),
                 Tensor::empty(DType::i32, {batch, length})};
  auto* inputs = out.inputs.mutable_data<std::int32_t>();
  auto* targets = out.targets.mutable_data<std::int32_t>();
  std::vector<std::int32_t> ids(static_cast<std::size_t>(length) + 1);
  for (const auto& [part, start] : places) {
    part->read(start, ids);
    inputs = std::copy_n(ids.begin(), length, inputs);
    targets = std::copy_n(ids.begin() + 1, length, targets);
  }
  return out;
}

/// Returns the number of batches of consecutive windows of `length` tokens that are needed for
/// `predictions` predicted tokens. The last window may be shorter.
std::int64_t count_batches(std::int64_t predictions, std::int64_t batch, std::int64_t length) {
  const std::int64_t full = predictions / length;
  return (full + batch - 1) / batch + (predictions % length == 0 ? 0 : 1);
}

std::int64_t count_predictions(const TokenPart& part) {
  return std::max<std::int64_t>(part.size - 1, 0);
}

}  // namespace

ConsecutiveWindows::ConsecutiveWindows(std::vector<TokenPart> parts, std::int64_t batch,
                                       std::int64_t length)
    : parts_(std::move(parts)), batch_(batch), length_(length) {
  std::int64_t end = 0;
  for (const TokenPart& part : parts_)
    ends_.push_back(end += count_batches(count_predictions(part), batch, length));
}

TokenBatch ConsecutiveWindows::operator[](std::int64_t i) const {
  if (i < 0 || i >= size())
    throw ArgumentError(fmt::format("batch {} of windows is outside [0, {})", i, size()));
  const auto p =
      static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), i) - ends_.begin());
  const std::int64_t first = (i - (p == 0 ? 0 : ends_[p - 1])) * batch_;
  const std::int64_t predictions = count_predictions(parts_[p]), full = predictions / length_;
  if (first >= full) {
    const WindowPlace rest{&parts_[p], full * length_};
    return windows(std::span(&rest, 1), predictions % length_);
  }
  std::vector<WindowPlace> places;
  for (std::int64_t w = first; w < std::min(first + batch_, full); ++w)
    places.push_back({&parts_[p], w * length_});
  return windows(places, length_);
}

TextData::TextData(std::vector<std::int32_t> ids, double validation_fraction) {
  const std::int64_t size = std::ssize(ids), split = training_part(size, validation_fraction);
  const auto all = std::make_shared<const TokensInMemory>(std::move(ids));
  *this = TextData({{{all, 0, split}}}, {{all, split, size - split}});
}

TextData::TextData(std::vector<std::int32_t> train, std::span<const std::int32_t> validation) {
  const std::int64_t size = std::ssize(train);
  const auto train_ids = std::make_shared<const TokensInMemory>(std::move(train));
  const auto validation_ids = std::make_shared<const TokensInMemory>(
      std::vector<std::int32_t>(validation.begin(), validation.end()));
  *this = TextData({{{train_ids, 0, size}}}, {{validation_ids, 0, validation_ids->size()}});
}

TextData::TextData(std::vector<WeightedPart> train, std::vector<TokenPart> validation)
    : train_(std::move(train)), validation_(std::move(validation)) {
  if (train_.empty()) throw ArgumentError("there is no source to train on");
  std::vector<double> weights;
  for (const WeightedPart& source : train_) {
    if (!(source.weight > 0 && std::isfinite(source.weight))) {
      throw ArgumentError(fmt::format("the weight of {} must be positive, not {}", source.part.name,
                                      source.weight));
    }
    weights.push_back(source.weight);
  }
  shares_ = SourceShares(weights);
}

std::int64_t TextData::train_size() const {
  std::int64_t size = 0;
  for (const WeightedPart& source : train_) size += source.part.size;
  return size;
}

std::int64_t TextData::validation_size() const {
  std::int64_t size = 0;
  for (const TokenPart& part : validation_) size += part.size;
  return size;
}

std::int64_t TextData::predictions() const {
  std::int64_t count = 0;
  for (const TokenPart& part : validation_) count += count_predictions(part);
  return count;
}

TokenBatch TextData::random_windows(std::int64_t batch, std::int64_t length, std::uint64_t seed,
                                    const BatchPart& part) const {
  for (const WeightedPart& source : train_) {
    if (source.part.size >= length + 1) continue;
    throw DataError(fmt::format(
        "the training set{} has {} tokens, but a window of {} needs {}: use more text or a smaller "
        "context",
        source.part.name.empty() ? "" : " of " + source.part.name, source.part.size, length,
        length + 1));
  }
  const RandomStream stream{stable_hash("weft.data", seed), 0,
                            static_cast<std::uint32_t>(part.step())};
  const RowRange rows = part.rows(batch);
  std::vector<WindowPlace> places;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const PhiloxBlock block = stream.block(static_cast<std::uint64_t>(row));
    const std::uint64_t bits = std::uint64_t{block[0]} << 32 | block[1];
    const TokenPart& source = train_[shares_.at(uniform_double(block[2], block[3]))].part;
    const auto starts = static_cast<std::uint64_t>(source.size - length);
    places.push_back({&source, static_cast<std::int64_t>(uniform_below(bits, starts))});
  }
  return windows(places, length);
}

ConsecutiveWindows TextData::validation_windows(std::int64_t batch, std::int64_t length) const {
  if (predictions() < 1) {
    throw DataError(
        fmt::format("the validation set has {} tokens: at least 2 are needed to predict one",
                    validation_size()));
  }
  return {validation_, batch, length};
}

}  // namespace weft
