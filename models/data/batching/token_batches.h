// Token ids of texts, as training and validation data for language models.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/models/data/batching/batch_part.h"
#include "weft/models/text/tokens/source_shares.h"
#include "weft/models/text/tokens/token_sequence.h"
#include "weft/models/text/tokens/training_part.h"

namespace WEFT_API weft {

/// A batch for a language model. targets[b][t] is the token that follows inputs[b][t].
struct TokenBatch {
  Tensor inputs;   // i32 [batch, length]
  Tensor targets;  // i32 [batch, length]
  std::int64_t tokens() const { return inputs.numel(); }
};

/// A source of training windows with its sampling weight relative to the other sources.
struct WeightedPart {
  TokenPart part;
  double weight = 1;
};

/// Batches of up to `batch` consecutive windows. Each batch is built when it is accessed.
class ConsecutiveWindows {
 public:
  /// Covers all parts. No window extends from one part into the next.
  ConsecutiveWindows(std::vector<TokenPart> parts, std::int64_t batch, std::int64_t length);

  /// The number of batches.
  std::int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  TokenBatch operator[](std::int64_t i) const;

 private:
  std::vector<TokenPart> parts_;
  std::vector<std::int64_t> ends_;  // number of batches up to the end of each part
  std::int64_t batch_, length_;
};

/// The training and validation data of a language model, from one or several sources.
class TextData {
 public:
  /// Splits `ids` with training_part() into training data at the front and validation data at the
  /// end. Throws the same errors as training_part().
  explicit TextData(std::vector<std::int32_t> ids, double validation_fraction = 0.1);
  /// Uses the given training and validation ids.
  TextData(std::vector<std::int32_t> train, std::span<const std::int32_t> validation);
  /// Uses parts of several sources. Throws ArgumentError if there is no training part or if a
  /// weight is not positive.
  TextData(std::vector<WeightedPart> train, std::vector<TokenPart> validation);

  std::int64_t train_size() const;
  std::int64_t validation_size() const;
  /// The number of validation ids that are predicted, which are all ids except the first id of
  /// every source.
  std::int64_t predictions() const;

  /// Returns the batch of a step, or a shard of the batch. The batch contains `batch` windows of
  /// `length` tokens at random positions of the training data. Row r of step s, including its
  /// source, is a function of (seed, s, r), so that a resumed run uses the same windows as an
  /// uninterrupted run. Throws DataError if a training part is shorter than length + 1. Throws
  /// ArgumentError under the same conditions as BatchPart::rows().
  TokenBatch random_windows(std::int64_t batch, std::int64_t length, std::uint64_t seed,
                            const BatchPart& part) const;

  /// Returns the whole validation data as batches of up to `batch` consecutive windows without
  /// overlap. If `length` does not divide the data, the last window is shorter, so that each of the
  /// predictions() occurs exactly once. Throws DataError if there is nothing to predict.
  ConsecutiveWindows validation_windows(std::int64_t batch, std::int64_t length) const;

 private:
  std::vector<WeightedPart> train_;
  SourceShares shares_;
  std::vector<TokenPart> validation_;
};

}  // namespace weft
