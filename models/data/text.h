// A text as token ids: the data set of language models.
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

/// The same of a text that was read already; `name` says in messages where it is from.
std::string checked_utf8(std::string text, const std::string& name);

/// Bytes of the mark of UTF-8 that `text` begins with: 0 where it does not. Throws FormatError
/// where it begins as UTF-16 or UTF-32, which editors of some systems write.
std::size_t byte_order_mark(std::string_view text, std::string_view path);

/// A source of training windows: how often one is from it, relative to the other sources.
struct WeightedPart {
  TokenPart part;
  double weight = 1;
};

/// Windows that follow on each other: batches of up to so many, each made when it is asked for.
class ConsecutiveWindows {
 public:
  /// Over all parts; predictions do not go from one to the next.
  ConsecutiveWindows(std::vector<TokenPart> parts, std::int64_t batch, std::int64_t length);

  /// Batches.
  std::int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  TokenBatch operator[](std::int64_t i) const;

 private:
  std::vector<TokenPart> parts_;
  std::vector<std::int64_t> ends_;  // batches up to the end of each part
  std::int64_t batch_, length_;
};

/// Token ids in a part that is trained on and a part that validates, from one source or several.
class TextData {
 public:
  /// Splits `ids`: those in front train, as training_part says. Throws as that.
  explicit TextData(std::vector<std::int32_t> ids, double validation_fraction = 0.1);
  /// Parts that are known already.
  TextData(std::vector<std::int32_t> train, std::span<const std::int32_t> validation);
  /// Parts of several sources. Throws ArgumentError without any to train on, and for a weight that
  /// is not positive.
  TextData(std::vector<WeightedPart> train, std::vector<TokenPart> validation);

  std::int64_t train_size() const;
  std::int64_t validation_size() const;
  /// Ids of the validation part that are predicted: all but the first of every source.
  std::int64_t predictions() const;

  /// A step's `batch` windows of `length` tokens at random places of the training part, or a shard
  /// of them. Row r of step s is a function of (seed, s, r) alone, so that a resumed run sees what
  /// an uninterrupted one does; so is the source that it is from. Throws DataError where a
  /// training part is shorter than length + 1, and as BatchPart::rows.
  TokenBatch random_windows(std::int64_t batch, std::int64_t length, std::uint64_t seed,
                            const BatchPart& part) const;

  /// The whole validation part as consecutive windows that do not overlap: batches of up to `batch`
  /// full windows, and a last shorter window where the length does not divide, so that each of the
  /// predictions() occurs once. Throws DataError where there is nothing to predict.
  ConsecutiveWindows validation_windows(std::int64_t batch, std::int64_t length) const;

 private:
  std::vector<WeightedPart> train_;
  SourceShares shares_;
  std::vector<TokenPart> validation_;
};

}  // namespace weft
