// Token ids of texts: the data sets of language models.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/models/data/batch_part.h"
#include "weft/models/data/tokens/source_shares.h"
#include "weft/models/data/tokens/token_sequence.h"
#include "weft/models/data/training_part.h"

namespace WEFT_API weft {

/// A batch of a language model: targets[b][t] is the token that follows inputs[b][t].
struct TokenBatch {
  Tensor inputs;   // i32 [batch, length]
  Tensor targets;  // i32 [batch, length]
  std::int64_t tokens() const { return inputs.numel(); }
};

/// Reads a whole file as bytes (see read_whole_file). Throws IoError with path and reason.
std::string read_text_file(const std::string& path);

/// Reads a UTF-8 text file and removes a byte-order mark at its start. Throws IoError, and
/// FormatError with path, line and byte if it is not UTF-8 (RFC 3629).
std::string read_utf8_file(const std::string& path);

/// As read_utf8_file(), for a text that has been read. `name` names its source in error messages.
std::string checked_utf8(std::string text, const std::string& name);

/// Returns the size in bytes of the UTF-8 byte-order mark at the start of `text`; 0 if there is
/// none. Throws FormatError if `text` starts with the byte-order mark of UTF-16 or UTF-32, which
/// editors on some systems write.
std::size_t byte_order_mark(std::string_view text, std::string_view path);

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
  /// Splits `ids` into training data at the front and validation data, as training_part() does.
  /// Throws as training_part().
  explicit TextData(std::vector<std::int32_t> ids, double validation_fraction = 0.1);
  /// Uses the given training and validation ids.
  TextData(std::vector<std::int32_t> train, std::span<const std::int32_t> validation);
  /// Uses parts of several sources. Throws ArgumentError if there is no training part, and for a
  /// weight that is not positive.
  TextData(std::vector<WeightedPart> train, std::vector<TokenPart> validation);

  std::int64_t train_size() const;
  std::int64_t validation_size() const;
  /// The number of validation ids that are predicted: all except the first of every source.
  std::int64_t predictions() const;

  /// Returns the `batch` windows of a step, or a shard of them, of `length` tokens at random
  /// positions of the training data. Row r of step s, including its source, is a function of (seed,
  /// s, r), so a resumed run sees the same windows as an uninterrupted one. Throws DataError if a
  /// training part is shorter than length + 1, and as BatchPart::rows().
  TokenBatch random_windows(std::int64_t batch, std::int64_t length, std::uint64_t seed,
                            const BatchPart& part) const;

  /// Returns the whole validation data as consecutive windows without overlap: batches of up to
  /// `batch` full windows, and a shorter last window if `length` does not divide the data, so that
  /// each of the predictions() occurs once. Throws DataError if there is nothing to predict.
  ConsecutiveWindows validation_windows(std::int64_t batch, std::int64_t length) const;

 private:
  std::vector<WeightedPart> train_;
  SourceShares shares_;
  std::vector<TokenPart> validation_;
};

}  // namespace weft
