// Trains a language model on a text, and evaluates it on the validation part of the text.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "weft/models/data/batching/token_batches.h"
#include "weft/models/tasks/common/bits_per_byte.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/text/tokens/token_sources.h"
#include "weft/models/training/trainer.h"

namespace WEFT_API weft {

/// A text split into its training and validation parts. The validation part is at the end and is
/// measured in characters, so that metrics for different tokenizers refer to the same text.
struct TextParts {
  std::string_view train, validation;
};
/// Splits `text` (UTF-8), which must outlive the parts: the first floor(characters * (1 -
/// validation_fraction)) characters are the training part. Throws ArgumentError under the same
/// conditions as TextData.
TextParts split_text(std::string_view text, double validation_fraction);

/// The ids in the training and validation parts.
struct LanguageData {
  TextData ids;
  std::int64_t validation_bytes = 0;

  /// Converts a loss on the validation part to bits per byte. Returns NaN if the validation part is
  /// empty.
  double bits_per_byte(double loss) const;
};
/// Splits and encodes a text.
LanguageData read_text(const LanguageModel& model, std::string_view text);
/// Reads token files. A part of every source is held out; together these parts are the validation
/// set. Throws DataError if the token files were not made with the model's tokenizer. Also throws
/// the same exceptions as split_tokens.
LanguageData read_tokens(const LanguageModel& model, std::span<const TokenSource> sources);

/// Returns the mean loss computed by `evaluate`, a program of a language model, over validation
/// windows of `window` tokens in batches of `batch` windows. The mean is over `batches` evenly
/// spaced batches. If `batches` is 0, it is over all windows, and every prediction is counted once.
double validation_loss(Session& session, const Program& evaluate, const TextData& data,
                       std::int64_t batch, std::int64_t window, std::int64_t batches = 0);

/// Returns a training task for random windows of `data`. Periodic evaluations on the validation
/// part, if there is one, report the loss and "bits_per_byte". The session, the model and the data
/// must outlive the task.
TrainTask text_task(Session& session, const LanguageModel& model, const LanguageData& data,
                    std::int64_t window);
/// As above, for ids of a text whose size in bytes is unknown. Evaluations report only the loss.
TrainTask text_task(Session& session, const LanguageModel& model, const TextData& data,
                    std::int64_t window);

}  // namespace weft
