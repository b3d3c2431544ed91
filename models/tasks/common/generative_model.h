// Models that generate text.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weft/graph/run/session.h"
#include "weft/models/generate/settings.h"
#include "weft/models/text/tokenizers/tokenizer.h"
#include "weft/models/training/model.h"

namespace WEFT_API weft {

class TextGenerator;

/// The members that all models for text generation have in common.
struct GenerativeModel : TrainedModel {
  Tokenizer tokenizer;
  /// For models from folders, the generation settings of the model's authors. If they are set,
  /// texts are encoded as the tokenizer specifies, and generation stops at end ids. Models that
  /// Weft trained on plain text have no end ids.
  std::optional<GenerationSettings> generation;
  /// The reason why the model has no tokenizer. A model without a tokenizer works only on ids and
  /// cannot be saved to a file.
  std::string no_tokenizer;

  /// Returns a text generator that runs the model in a session. The model and the session must
  /// outlive the generator.
  virtual std::unique_ptr<TextGenerator> text_generator(Session& session) const = 0;
};

/// Same as GenerativeModel::text_generator(), for any model; weft generate, chat and score run it.
/// Throws FormatError if the model does not generate text.
std::unique_ptr<TextGenerator> text_generator(Session& session, const TrainedModel& model);

}  // namespace weft
