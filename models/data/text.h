// A text as token ids: the data set of language models.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/models/data/batch_part.h"

namespace weft {

/// Inputs and targets of a language model: targets[b][t] is the token that follows inputs[b][t].
struct TokenBatch {
  Tensor inputs;   // i32 [batch, length]
  Tensor targets;  // i32 [batch, length]
  std::int64_t tokens() const { return inputs.numel(); }
};

/// Reads a whole file, whatever its bytes (see read_whole_file). Throws IoError with path and
/// reason.
std::string read_text_file(const std::string& path);

/// Reads a text: UTF-8, without the byte-order mark that it may begin with. Throws IoError, and
/// FormatError with path, line and byte where it is not UTF-8 (RFC 3629).
std::string read_utf8_file(const std::string& path);

/// Of `size` tokens or characters those in front that train: floor(size * (1 -
/// validation_fraction)). Throws ArgumentError unless 0 <= validation_fraction < 1.
std::int64_t training_part(std::int64_t size, double validation_fraction);

/// Token ids split into a training part in front and a validation part behind it.
class TextData {
 public:
  /// Splits `ids` as training_part says. Throws as that.
  explicit TextData(std::vector<std::int32_t> ids, double validation_fraction = 0.1);
  /// Parts that are known already.
  TextData(std::vector<std::int32_t> train, std::span<const std::int32_t> validation);

  std::int64_t train_size() const { return split_; }
  std::int64_t validation_size() const { return static_cast<std::int64_t>(ids_.size()) - split_; }

  /// A step's `batch` windows of `length` tokens at random places of the training part, or a shard
  /// of them. Row r of step s is a function of (seed, s, r) alone, so that a resumed run sees what
  /// an uninterrupted one does. Throws ArgumentError where the training part is shorter than length
  /// + 1, and as BatchPart::rows.
  TokenBatch random_windows(std::int64_t batch, std::int64_t length, std::uint64_t seed,
                            const BatchPart& part) const;

  /// The whole validation part as consecutive windows that do not overlap: batches of up to `batch`
  /// full windows, and a last shorter window where the length does not divide, so that each of the
  /// validation_size() - 1 predictions occurs once. Throws ArgumentError where there is nothing to
  /// predict.
  std::vector<TokenBatch> validation_windows(std::int64_t batch, std::int64_t length) const;

 private:
  TokenBatch windows(const std::vector<std::int64_t>& starts, std::int64_t length) const;

  std::vector<std::int32_t> ids_;
  std::int64_t split_ = 0;
};

}  // namespace weft
