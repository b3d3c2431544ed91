// The served models and adapters by name, with what requests for texts need.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/generate/structured/constraint.h"
#include "weft/models/serve/http/protocol/text_call.h"
#include "weft/models/serve/served_model.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/chat/marks.h"

namespace weft {

/// A served model. Immutable after the construction, except for caches.
class ModelEntry {
 public:
  /// `format` replaces the chat format of the model unless it is empty. The special tokens are
  /// those of the model.
  ModelEntry(std::shared_ptr<ServedModel> model, const std::optional<ChatFormat>& format);

  ServedModel& model() const { return *model_; }
  const std::string& name() const { return model_->name(); }
  /// Returns the engine. Throws ApiError if the model does not continue texts.
  TextEngine& engine() const;
  /// Returns the tokenizer. Throws ApiError if the model has no tokenizer.
  const Tokenizer& tokenizer() const;
  /// Returns the maximum number of tokens of a text; empty if there is no limit.
  std::optional<std::int64_t> context() const;
  /// Returns the chat format. If the model has no chat format, throws an ApiError with
  /// a remedy.
  const ChatFormat& chat_format() const;
  bool has_chat_format() const { return format_.has_value(); }
  /// Default options of texts, and of answers, which end with the end-of-turn mark.
  GenerationOptions text_options() const;
  GenerationOptions answer_options() const;
  /// Compiles a constraint, or returns one that was compiled before. Throws ApiError.
  std::shared_ptr<const Constraint> constraint(const OutputForm& form);
  /// Returns the names of the uses of the model.
  std::vector<std::string> uses() const;
  /// Returns the bytes of a token within a text.
  std::string token_bytes(std::int64_t id) const;

 private:
  std::shared_ptr<const Constraint> compile(const OutputForm& form);

  const std::shared_ptr<ServedModel> model_;
  std::optional<ChatFormat> format_;
  AnswerEnd end_;
  std::string anchor_;  // the text of anchor_id_
  std::int64_t anchor_id_ = -1;
  std::mutex mutex_;  // of the constraints
  std::shared_ptr<const ConstraintVocabulary> vocabulary_;
  std::vector<std::pair<OutputForm, std::shared_ptr<const Constraint>>> constraints_;
};

/// A model, and the adapter that a request chose.
struct ChosenModel {
  ModelEntry* entry = nullptr;
  std::string adapter = {};
  std::string name = {};  // as the reply names it
};

class ModelTable {
 public:
  /// Throws ArgumentError if there are no models, or if two names are equal.
  ModelTable(std::vector<std::shared_ptr<ServedModel>> models,
             const std::optional<ChatFormat>& format);

  /// Returns the model or the adapter `name`. An empty name is the only model. Throws ApiError
  /// (404) that lists the names.
  ChosenModel find(const std::string& name) const;
  const std::vector<std::unique_ptr<ModelEntry>>& all() const { return entries_; }
  /// Returns all names: the models, each followed by its adapters.
  std::vector<ChosenModel> names() const;

 private:
  std::vector<std::unique_ptr<ModelEntry>> entries_;
};

}  // namespace weft
