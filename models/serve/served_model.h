// A model by name, with an engine or a queue for every use that it supports.
//
//   ServedModel model("minilm", "all-MiniLM-L6-v2");
//   model.embed({"one text", "another"}, {}, {}, [](EmbeddingResult result, std::exception_ptr
//   error) {
//     ...
//   });
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/models/fields/model_path.h"
#include "weft/models/serve/batch_status.h"
#include "weft/models/serve/errors.h"
#include "weft/models/serve/text_engine.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/tasks/text_ranking/rerank.h"

namespace WEFT_API weft {

/// Options of a ServedModel.
struct ServedModelOptions {
  TextEngineOptions text = {};   // of decoders
  BatchQueueOptions queue = {};  // of the other models
  std::int64_t threads = 0;      // of the other models; 0 = one per hardware thread
};

/// Receives the result of a request or, if `error` is set, its error: the errors of the function
/// that added the request, for example DataError for results that are not finite, DeadlineError or
/// CancelledError. Called once, on the thread of the queue. It must return quickly and must not
/// throw.
template <class Result>
using OnResult = std::function<void(Result result, std::exception_ptr error)>;

/// Limits of a request.
struct RequestLimits {
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
};

/// The vectors of texts. In this and the following results, `tokens` is the number of tokens of all
/// texts that the model read.
struct EmbeddingResult {
  Tensor vectors;  // f32 [texts, width]
  std::int64_t tokens = 0;
};
/// The classes of texts.
struct ClassesResult {
  std::vector<std::vector<ClassScore>> classes;  // for each text, most likely first
  std::int64_t tokens = 0;
};
/// Texts with a tag for every word.
struct TaggedResult {
  std::vector<TaggedText> texts;
  std::int64_t tokens = 0;
};
/// The texts of a request, best first.
struct RankedResult {
  std::vector<RankedText> texts;
  std::int64_t tokens = 0;
};
/// Translations, in the order of the texts.
struct TranslatedResult {
  std::vector<std::string> texts;
  std::int64_t tokens = 0;
};

/// A loaded model that serves many clients. Decoders have a TextEngine; for the other uses, a
/// BatchQueue runs the texts of different requests together. The result of a request has the same
/// bits alone and among others, because all programs are batch-invariant.
///
/// The functions of the uses encode the texts, add a request to the queue and return its number for
/// cancel(). They may be called by any thread. They throw FormatError if the model does not support
/// the use, ArgumentError if an option does not apply to it, TextError if a text cannot be encoded
/// or is too long (set on_cut in the options to truncate it), and QueueFullError.
///
/// Every ServedModel has its own threads. Several models that run at the same time share the
/// processors: each becomes slower, but its results do not change.
class ServedModel {
 public:
  /// Loads a model and plans the memory of its engine. Throws the same exceptions as
  /// load_any_model() and TextEngine, and FormatError if it supports none of the uses.
  ServedModel(std::string name, const ModelPath& path, const ServedModelOptions& options = {});
  /// Ends all requests with a CancelledError or Finish::cancelled.
  ~ServedModel();
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  const std::string& name() const;
  const TrainedModel& model() const;
  /// Returns the uses that can be requested: generate, chat (with a chat format), embed, classify,
  /// tag, rerank, translate.
  const std::vector<Use>& uses() const;
  bool supports(Use use) const;
  /// Returns the time at which the model was written, in seconds since 1970.
  std::int64_t created() const;
  /// Returns the tokenizer; null for models without one.
  const Tokenizer* tokenizer() const;
  /// Returns the maximum number of tokens of a text, or the largest number if there is no limit.
  std::int64_t context() const;

  /// Returns the engine, or null unless the model is a decoder.
  TextEngine* text() const;
  /// Returns the tokenizer's functions, the chat format and the default options of a decoder; null
  /// for other models. Only const functions may be called, by any thread.
  const TextGenerator* generator() const;

  /// Computes the vectors of texts. The queue determines the batches, not options.batch_tokens.
  std::int64_t embed(const std::vector<std::string>& texts, const EmbedOptions& options,
                     const RequestLimits& limits, OnResult<EmbeddingResult> on_result);
  /// Finds the most likely classes of each text.
  std::int64_t classify(const std::vector<std::string>& texts, const ClassifyOptions& options,
                        const RequestLimits& limits, OnResult<ClassesResult> on_result);
  /// Tags the words of each text.
  std::int64_t tag(const std::vector<std::string>& texts, const OnCut& on_cut,
                   const RequestLimits& limits, OnResult<TaggedResult> on_result);
  /// Ranks texts for a query. Texts that are too long are truncated.
  std::int64_t rerank(const std::string& query, const std::vector<std::string>& texts,
                      const RerankOptions& options, const RequestLimits& limits,
                      OnResult<RankedResult> on_result);
  /// Translates texts.
  std::int64_t translate(const std::vector<std::string>& texts, const TranslateOptions& options,
                         const RequestLimits& limits, OnResult<TranslatedResult> on_result);
  /// Ends a request with a CancelledError, at the latest after the current batch. Returns false if
  /// it has already ended.
  bool cancel(std::int64_t request);
  /// Returns the state of the queue; see text()->status() for the engine.
  BatchQueueStatus status() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
