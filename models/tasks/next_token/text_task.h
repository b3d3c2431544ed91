// A language model learns from a text, and is measured on its validation part.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "weft/models/data/text.h"
#include "weft/models/data/tokens/token_sources.h"
#include "weft/models/tasks/common/bits_per_byte.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/train/trainer.h"

namespace WEFT_API weft {

/// A text in the parts that a training sees: its last characters validate, whatever the tokenizer,
/// so that figures of different tokenizers are of the same text.
struct TextParts {
  std::string_view train, validation;
};
/// Of `text` (UTF-8), which must outlive the parts: the first floor(characters * (1 -
/// validation_fraction)) characters train. Throws ArgumentError as TextData.
TextParts split_text(std::string_view text, double validation_fraction);

/// The ids of a text's parts.
struct LanguageData {
  TextData ids;
  std::int64_t validation_bytes = 0;

  /// Of the validation part; NaN where there is none.
  double bits_per_byte(double loss) const;
};
LanguageData read_text(const LanguageModel& model, std::string_view text);
/// Token files, which must be those of the model's tokenizer (DataError). Every source has a part
/// that is held out, and those together are what validates. Throws as split_tokens.
LanguageData read_tokens(const LanguageModel& model, std::span<const TokenSource> sources);

/// Mean loss of `evaluate` (a language model's) over validation windows of `window` tokens
/// in batches of `batch`: over `batches` of them, spread evenly, or, where that is 0, over all,
/// every prediction counted once.
double validation_loss(Session& session, const Program& evaluate, const TextData& data,
                       std::int64_t batch, std::int64_t window, std::int64_t batches = 0);

/// Training on random windows of `data` with periodic looks at its validation part, if it has one:
/// the loss, and "bits_per_byte". Session, programs and data must outlive the task.
TrainTask text_task(Session& session, const LanguageModel& model, const LanguageData& data,
                    std::int64_t window);
/// The same of ids that nobody knows the bytes of: the loss alone.
TrainTask text_task(Session& session, const LanguageModel& model, const TextData& data,
                    std::int64_t window);

}  // namespace weft
