// Models by name, with an engine or a queue for every use that they support.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/models/fields/model_path.h"
#include "weft/models/serve/text_engine.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/tasks/text_ranking/rerank.h"

namespace WEFT_API weft {

struct ServedModelOptions {
  TextEngineOptions text = {};       // of decoders
  std::int64_t batch_tokens = 4096;  // maximum number of tokens per batch of the other models
  std::int64_t queue = 256;          // maximum number of requests that wait
  std::int64_t threads = 0;
};

/// The result of a request, or an error. Called once, on a thread of the model.
template <class Result>
using OnResult = std::function<void(Result, std::exception_ptr error)>;

/// Limits of a request.
struct RequestLimits {
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
};

struct EmbeddingResult {
  Tensor vectors;  // f32 [texts, width]
  std::int64_t tokens = 0;
};
struct ClassesResult {
  std::vector<std::vector<ClassScore>> classes;  // for each text
  std::int64_t tokens = 0;
};
struct TaggedResult {
  std::vector<std::vector<std::pair<std::string, std::string>>> words;  // for each text: word, tag
  std::int64_t tokens = 0;
};
struct RankedResult {
  std::vector<RankedText> texts;
  std::int64_t tokens = 0;
};
struct TranslatedResult {
  std::vector<std::string> texts;
  std::int64_t tokens = 0;
};

/// A loaded model and what it can do. Requests of different clients are batched by length. All
/// functions may be called by any thread; they throw ArgumentError if the model does not support
/// the use or the request is invalid, and QueueFullError. A returned number can be passed to
/// cancel().
class ServedModel {
 public:
  ServedModel(std::string name, const ModelPath& path, const ServedModelOptions& options = {});
  ~ServedModel();

  const std::string& name() const;
  const TrainedModel& model() const;
  std::vector<Use> uses() const;
  bool supports(Use use) const;
  std::int64_t created() const;  // time of the file, in seconds since 1970

  TextEngine* text();  // null unless the model is a decoder
  const TextGenerator* generator()
      const;  // null unless the model generates text: tokenizer, chat format, default options

  std::int64_t embed(std::vector<std::string> texts, EmbedOptions options, RequestLimits limits,
                     OnResult<EmbeddingResult> on_result);
  std::int64_t classify(std::vector<std::string> texts, std::int64_t most, RequestLimits limits,
                        OnResult<ClassesResult> on_result);
  std::int64_t tag(std::vector<std::string> texts, RequestLimits limits,
                   OnResult<TaggedResult> on_result);
  std::int64_t rerank(std::string query, std::vector<std::string> texts, RerankOptions options,
                      RequestLimits limits, OnResult<RankedResult> on_result);
  std::int64_t translate(std::vector<std::string> texts, TranslateOptions options,
                         RequestLimits limits, OnResult<TranslatedResult> on_result);
  bool cancel(std::int64_t request);

  struct Status {
    std::int64_t running = 0, waiting = 0, requests = 0, failed = 0, cancelled = 0, tokens = 0;
    double busy_seconds = 0;
  };
  Status status() const;  // of the queue; text()->status() for decoders

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
