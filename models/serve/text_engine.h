// Text generation for many clients with one decoder, on a separate thread.
//
//   const auto model = std::make_shared<LanguageModel>(load_model<LanguageModel>("gpt.weft"));
//   TextEngine engine(model, {.slots = 16, .cache_bytes = 4LL << 30});
//   engine.submit({.prompt = ids, .options = {.max_new = 100}}, [](TextDelta delta) {
//     std::cout << delta.text;
//   });
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/generate/next_id.h"
#include "weft/models/generate/options.h"
#include "weft/models/serve/errors.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/tasks/next_token/language_model.h"

namespace WEFT_API weft {

/// Options of a TextEngine.
struct TextEngineOptions {
  std::int64_t slots = 16;    // maximum number of texts that run at the same time
  std::int64_t capacity = 0;  // maximum length of a text, in tokens; 0 = the context of the model
  std::int64_t chunk = 256;   // maximum number of tokens of prompts that one run processes
  /// Bytes for keys and values. 0 = enough for `slots` texts of `capacity` tokens, at most 1 GiB
  /// unless a single text needs more.
  std::int64_t cache_bytes = 0;
  std::int64_t queue = 256;    // maximum number of requests that wait while all slots are in use
  bool reuse_prefixes = true;  // keep keys and values of ended texts, for requests that share them
  std::int64_t threads = 0;    // 0 = all processors
  /// Speculative decoding: maximum number of tokens that are proposed per step; 0 = none. Tokens
  /// are proposed by `draft` or, without a draft model, by looking up the last tokens in the text.
  std::int64_t speculate = 0;
  std::shared_ptr<const LanguageModel> draft = {};
  /// Adapters (LoRA) by name, which requests choose: paths as for load_adapted_model().
  std::vector<std::pair<std::string, std::string>> adapters = {};
};

/// A request for one text.
struct TextRequest {
  TokenIds prompt;
  /// As for BatchGenerator, and stop texts. `sampling.seed` determines the text, whatever else
  /// runs.
  GenerationOptions options = {};
  /// The number of most likely alternatives that are returned with every token; -1 = not even the
  /// log-probability of the token itself.
  std::int64_t top = -1;
  std::string adapter = {};  // the name of an adapter; empty: the model itself
  /// Requests of the same client share its turns: waiting clients are served in rotation.
  std::string client = {};
  /// The request ends with Finish::cancelled at this time, wherever it is.
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
};

/// New text of a request.
struct TextDelta {
  /// Whole characters, except at the end. Text that may be a part of a stop text is held back; the
  /// stop text itself and all text after it are not returned.
  std::string text = {};
  /// The tokens since the last delta, also if their text is held back. Scores and alternatives are
  /// set only if TextRequest::top is not negative.
  std::vector<NewToken> tokens = {};
  /// Set in the last delta, unless there is an error.
  std::optional<Finish> finish = {};
  /// The last delta may contain an error instead: DataError if logits are not finite or no id is
  /// allowed, or the exception of a run of the model, for example for lack of memory.
  std::exception_ptr error = {};
  // In every delta:
  std::int64_t prompt_tokens = 0;  // length of the prompt
  std::int64_t cached_tokens = 0;  // tokens of the prompt with reused keys and values
  std::int64_t new_tokens = 0;     // tokens so far

  bool is_last() const { return finish.has_value() || error != nullptr; }
};

/// Counters since the construction, and the current state.
struct TextEngineStatus {
  std::int64_t running = 0, waiting = 0;
  std::int64_t cache_blocks = 0, used_blocks = 0, reusable_blocks = 0;
  std::int64_t block_tokens = 0;  // tokens per block
  std::int64_t requests = 0, cancelled = 0, failed = 0;
  std::int64_t prompt_tokens = 0, cached_tokens = 0, new_tokens = 0;
  std::int64_t proposed_tokens = 0, accepted_tokens = 0;  // of speculative decoding
  std::int64_t preempted = 0;  // texts that gave up their blocks and were computed again
  double busy_seconds = 0;     // time in runs of the model
};

/// The memory of an engine. It is planned before the first request and does not grow.
struct TextEngineMemory {
  std::int64_t weights = 0, caches = 0, arena = 0;  // bytes
};

/// Serves a decoder. All functions may be called by any thread.
class TextEngine {
 public:
  /// A callback receives all deltas of a request, in order, on the engine's thread. It must return
  /// quickly and must not call the engine, except for cancel().
  using OnDelta = std::function<void(TextDelta)>;

  /// `model` may be shared with other engines. Plans all memory: allocates the caches and runs the
  /// largest batches. Throws ArgumentError if `cache_bytes` is too small for one text of `capacity`
  /// tokens (the message contains the least number of bytes), or if an option or an adapter does
  /// not fit the model.
  TextEngine(std::shared_ptr<const LanguageModel> model, const TextEngineOptions& options = {});
  /// Ends all requests with Finish::cancelled.
  ~TextEngine();
  TextEngine(const TextEngine&) = delete;
  TextEngine& operator=(const TextEngine&) = delete;

  const LanguageModel& model() const;
  const TextEngineOptions& options() const;  // with the defaults resolved
  TextEngineMemory memory() const;
  TextEngineStatus status() const;
  std::vector<std::string> adapters() const;

  /// Adds a request and returns its number. Throws ArgumentError if the request is invalid (an
  /// empty prompt, a prompt that leaves no room within the capacity with both lengths, an unknown
  /// adapter, options that are not supported), and QueueFullError.
  std::int64_t submit(TextRequest request, OnDelta on_delta);
  /// Ends a request with Finish::cancelled. Returns false if it has already ended.
  bool cancel(std::int64_t request);

  /// Generates one text and returns it with all its tokens: submit() for callers that wait.
  TextDelta generate(TextRequest request);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
