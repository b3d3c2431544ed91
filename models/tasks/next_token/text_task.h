// A language model learns from a text, and is measured on its validation part.
#pragma once

#include <cstdint>
#include <string>

#include "weft/models/data/text.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/train/trainer.h"

namespace weft {

/// Mean loss of `evaluate` (a language model's) over validation windows of `window` tokens
/// in batches of `batch`: over `batches` of them, spread evenly, or, where that is 0, over all,
/// every prediction counted once.
double validation_loss(Session& session, const Program& evaluate, const TextData& data,
                       std::int64_t batch, std::int64_t window, std::int64_t batches = 0);

/// The same over all of the validation part of the text in file `path`, split as the model's
/// training splits it. Throws IoError; ArgumentError where there is nothing to validate on.
double validation_loss(const LanguageModel& model, const std::string& path, int threads = 0);

/// Training on random windows of `data` with periodic looks at its validation part, if it has one.
/// Session, programs and data must outlive the task.
TrainTask text_task(Session& session, const LanguageModel& model, const TextData& data,
                    std::int64_t window);

}  // namespace weft
