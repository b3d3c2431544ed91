#include "weft/models/serve/text_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "weft/models/generate/batch_generator.h"
#include "weft/models/generate/stop_texts.h"
#include "weft/models/serve/adapters.h"
#include "weft/models/serve/draft.h"
#include "weft/models/serve/fair_queue.h"
#include "weft/models/text/tokenizers/text_stream.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

/// The text of a new id depends on few of the preceding ids.
constexpr std::ptrdiff_t kTextContext = 64;

void at_least(const char* name, std::int64_t value, std::int64_t low) {
  if (value < low)
    throw ArgumentError(fmt::format("{} must be at least {}, not {}", name, low, value));
}

/// Returns the options of the caches, whose size is limited by `options.cache_bytes`. Sets the
/// options that have defaults.
DecodeSlotsOptions slots_options(TextEngineOptions& options, const GptConfig& config,
                                 const Program& slots) {
  constexpr std::int64_t kDefaultBytes = std::int64_t{1} << 30;
  at_least("queue", options.queue, 0);
  at_least("cache_bytes", options.cache_bytes, 0);
  at_least("speculate", options.speculate, 0);
  if (options.draft != nullptr && options.speculate == 0) {
    throw ArgumentError(
        "there is a draft model, but speculate is 0: set TextEngineOptions::speculate to the "
        "maximum number of tokens that it proposes per step");
  }
  if (options.capacity == 0) options.capacity = config.context;
  DecodeSlotsOptions result{.slots = options.slots,
                            .capacity = options.capacity,
                            .chunk = options.chunk,
                            .reuse_prefixes = options.reuse_prefixes};
  result.check(config);
  const std::int64_t bytes = cache_bytes(slots, result.block, 1);
  const std::int64_t least = (options.capacity + result.block - 1) / result.block;
  if (options.cache_bytes > 0) {
    result.blocks = options.cache_bytes / bytes;
    if (result.blocks < least) {
      throw ArgumentError(fmt::format(
          "cache_bytes is {}, but a text of {} tokens needs {} bytes of keys and values: increase "
          "it, or limit texts with TextEngineOptions::capacity",
          options.cache_bytes, options.capacity, least * bytes));
    }
  } else {
    result.blocks = std::max(least, std::min(options.slots * least, kDefaultBytes / bytes));
  }
  options.cache_bytes = result.blocks * bytes;
  return result;
}

/// A request that waits or runs. Only the engine's thread uses it after submit(), except for
/// `cancelled`, which the mutex of the engine guards.
struct Request {
  Request(std::int64_t number, TextRequest&& given, TextEngine::OnDelta&& on_delta,
          const LanguageModel& model)
      : number(number),
        given(std::move(given)),
        on_delta(std::move(on_delta)),
        stops(std::exchange(this->given.options.stop_texts, {})) {
    const TokenIds& prompt = this->given.prompt;
    if (model.no_tokenizer.empty()) {
      const auto context = std::min(std::ssize(prompt), kTextContext);
      text.emplace(model.tokenizer, std::span(prompt).last(static_cast<std::size_t>(context)));
    }
  }

  bool is_late() const { return given.deadline && Clock::now() >= *given.deadline; }

  std::int64_t number;
  TextRequest given;
  TextEngine::OnDelta on_delta;
  std::optional<TextStream> text;  // empty if the model has no tokenizer
  StopTextFilter stops;
  std::int64_t in_batch = -1;  // its number in the BatchGenerator; -1 = it waits
  std::int64_t new_tokens = 0, cached_tokens = 0;
  bool cancelled = false;
};

}  // namespace

struct TextEngine::Impl {
  using RequestPointer = std::shared_ptr<Request>;

  Impl(std::shared_ptr<const LanguageModel> given, const TextEngineOptions& given_options)
      : model(std::move(given)),
        options(given_options),
        slots(slots_model(*model, options.adapters)),
        session(*slots.graph, slots.store,
                {.threads = static_cast<int>(options.threads),
                 .plan_cache = 256,
                 .batch_invariant = true}),
        batch(session, slots.program, model->config,
              slots_options(options, model->config, slots.program)) {
    plan_memory();
    thread = std::thread([this] { run(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    wake.notify_all();
    thread.join();
  }

  /// Plans the memory of the largest runs before the first request.
  void plan_memory() {
    if (options.draft != nullptr) {
      draft = std::make_unique<Draft>(*model, options.draft, batch.slots().options(),
                                      session.options());
      batch.speculate(draft->take_proposer(), options.speculate);
    } else if (options.speculate > 0) {
      batch.speculate(std::make_unique<PromptLookup>(), options.speculate);
    }
    batch.run_largest();
    for (const VariableStore::MemoryEntry& entry : slots.store->memory())
      memory.weights += static_cast<std::int64_t>(entry.bytes + entry.packed_bytes);
    if (draft) memory.weights += draft->memory().weights;
    measure();
    counters.cache_blocks = batch.slots().options().blocks;
    counters.block_tokens = batch.slots().options().block;
  }

  void measure() {
    counters.used_blocks = batch.slots().options().blocks - batch.slots().free_blocks();
    counters.reusable_blocks = batch.slots().reusable_blocks();
    counters.preempted = batch.preempted();
    if (const Speculation* speculation = batch.speculation()) {
      counters.proposed_tokens = speculation->proposed();
      counters.accepted_tokens = speculation->accepted();
    }
    memory.caches = static_cast<std::int64_t>(session.own_bytes());
    memory.arena = static_cast<std::int64_t>(session.arena_bytes());
    if (draft) {
      const TextEngineMemory more = draft->memory();
      memory.caches += more.caches, memory.arena += more.arena;
    }
  }

  /// Checks a request, and limits its length to the capacity.
  void prepare(TextRequest& request) const {
    GenerationOptions& wanted = request.options;
    const std::int64_t length = std::ssize(request.prompt);
    if (length >= options.capacity) {
      throw ArgumentError(fmt::format(
          "the prompt has {} tokens, but a text has at most {} together with its prompt: shorten "
          "the prompt, or increase TextEngineOptions::capacity",
          length, options.capacity));
    }
    if (wanted.max_new >= 0) {
      wanted.max_new = std::min(wanted.max_new, options.capacity - length);
    } else {
      wanted.max_length =
          wanted.max_length == 0 ? options.capacity : std::min(wanted.max_length, options.capacity);
    }
    if (!wanted.stop_texts.empty() && !model->no_tokenizer.empty())
      throw ArgumentError(fmt::format("stop_texts require a tokenizer: {}", model->no_tokenizer));
    wanted.check();
    GenerationOptions for_batch = wanted;
    for_batch.stop_texts.clear();
    batch.check(request.prompt, for_batch);
    adapter_number(request.adapter);
    if (request.top < -1)
      throw ArgumentError(fmt::format("top must be at least -1, not {}", request.top));
  }

  /// Returns the number of an adapter, 0 for the model itself.
  std::int64_t adapter_number(const std::string& name) const {
    if (name.empty()) return 0;
    std::string names;
    for (std::size_t i = 0; i < options.adapters.size(); ++i) {
      if (options.adapters[i].first == name) return static_cast<std::int64_t>(i) + 1;
      names += (names.empty() ? "" : ", ") + options.adapters[i].first;
    }
    throw ArgumentError(fmt::format("there is no adapter '{}': {}", name,
                                    names.empty() ? "the engine has none" : "use one of " + names));
  }

  std::int64_t submit(TextRequest&& given, OnDelta&& on_delta) {
    prepare(given);
    const std::lock_guard lock(mutex);
    if (std::ssize(requests) >= options.slots + options.queue) {
      throw QueueFullError(
          fmt::format("{} requests wait already, the maximum: try again later, or increase "
                      "TextEngineOptions::queue",
                      waiting.size()));
    }
    const std::int64_t number = counters.requests++;
    auto request = std::make_shared<Request>(number, std::move(given), std::move(on_delta), *model);
    requests.emplace(number, request);
    waiting.push(request->given.client, request);
    wake.notify_one();
    return number;
  }

  bool cancel(std::int64_t number) {
    const std::lock_guard lock(mutex);
    const auto found = requests.find(number);
    if (found == requests.end()) return false;
    found->second->cancelled = true;
    wake.notify_one();
    return true;
  }

  // All functions below run on the engine's thread.

  void run() {
    std::exception_ptr failure;
    for (;;) {
      try {
        // A run of the model failed, for example for lack of memory. It would fail again.
        while (failure != nullptr && !running.empty())
          end(RequestPointer(running.begin()->second), {.error = failure});
        failure = nullptr;
        if (!take_turn()) return;
      } catch (...) {
        failure = std::current_exception();
      }
    }
  }

  /// Ends and starts requests, and runs the model once. Returns false if the engine stops.
  bool take_turn() {
    std::vector<RequestPointer> ended;
    bool last = false;
    {
      std::unique_lock lock(mutex);
      wake.wait(lock, [&] { return stopping || !requests.empty(); });
      last = stopping;
      for (const auto& [number, request] : requests) {
        if (last || request->cancelled || request->is_late()) ended.push_back(request);
      }
      for (const RequestPointer& request : ended) {
        request->cancelled = true;
        waiting.erase(request->given.client, request);
      }
    }
    for (const RequestPointer& request : ended) end(request, {.finish = Finish::cancelled});
    if (last) return false;
    {
      const std::lock_guard lock(mutex);
      while (!waiting.empty() &&
             batch.can_start(waiting.front()->given.prompt, waiting.front()->given.options))
        start(waiting.pop());
    }
    if (!running.empty()) advance();
    return true;
  }

  void start(const RequestPointer& request) {
    const TextRequest& given = request->given;
    request->in_batch =
        batch.add(given.prompt, given.options, given.top, adapter_number(given.adapter));
    running.emplace(request->in_batch, request);
  }

  void advance() {
    const auto begin = Clock::now();
    std::vector<RequestToken> tokens = batch.step();
    {
      const std::lock_guard lock(mutex);
      counters.busy_seconds += std::chrono::duration<double>(Clock::now() - begin).count();
      measure();
    }
    for (RequestToken& token : tokens) {
      const auto found = running.find(token.request);
      if (found == running.end()) continue;  // it has ended since the run
      const RequestPointer request = found->second;
      if (token.error) {
        end(request, {.error = token.error});
      } else {
        deliver(request, token);
      }
    }
  }

  void deliver(const RequestPointer& request, RequestToken& token) {
    request->cached_tokens = token.cached;
    {
      const std::lock_guard lock(mutex);
      ++counters.new_tokens;
      if (++request->new_tokens == 1) {
        counters.prompt_tokens += std::ssize(request->given.prompt);
        counters.cached_tokens += token.cached;
      }
    }
    TextDelta delta;
    try {
      if (request->text) delta.text = request->stops.add(request->text->add(token.id));
      if (token.finish && request->text && !request->stops.stopped())
        delta.text += request->stops.add(request->text->finish());
    } catch (...) {
      return end(request, {.error = std::current_exception()});
    }
    if (token.finish && !request->stops.stopped()) delta.text += request->stops.finish();
    delta.finish = request->stops.stopped() ? Finish::stop : token.finish;
    delta.tokens.push_back({{token.id, token.log_probability}, std::move(token.top)});
    if (delta.finish) return end(request, std::move(delta));
    send(request, std::move(delta));
  }

  void send(const RequestPointer& request, TextDelta&& delta) {
    delta.prompt_tokens = std::ssize(request->given.prompt);
    delta.cached_tokens = request->cached_tokens;
    delta.new_tokens = request->new_tokens;
    try {
      request->on_delta(std::move(delta));
    } catch (...) {
      cancel(request->number);
    }
  }

  /// Frees the slot of the request and sends its last delta.
  void end(const RequestPointer& request, TextDelta&& delta) {
    if (request->in_batch >= 0) {
      batch.cancel(request->in_batch);
      running.erase(request->in_batch);
    }
    {
      const std::lock_guard lock(mutex);
      requests.erase(request->number);
      if (request->cancelled)
        delta = {.tokens = std::move(delta.tokens), .finish = Finish::cancelled};
      counters.cancelled += request->cancelled;
      counters.failed += delta.error != nullptr;
      measure();
    }
    send(request, std::move(delta));
  }

  TextEngineStatus status() {
    const std::lock_guard lock(mutex);
    TextEngineStatus status = counters;
    status.waiting = waiting.size();
    status.running = std::ssize(requests) - waiting.size();
    return status;
  }

  std::shared_ptr<const LanguageModel> model;
  TextEngineOptions options;
  SlotsModel slots;
  Session session;
  std::unique_ptr<Draft> draft;
  BatchGenerator batch;                            // used by the engine's thread only
  std::map<std::int64_t, RequestPointer> running;  // by number in the batch; ditto

  std::mutex mutex;  // guards the members below, and Request::cancelled
  std::condition_variable wake;
  bool stopping = false;
  std::map<std::int64_t, RequestPointer> requests;  // that have not ended
  FairQueue<RequestPointer> waiting;
  TextEngineStatus counters;
  TextEngineMemory memory;

  std::thread thread;  // the last member: it uses the others
};

TextEngine::TextEngine(std::shared_ptr<const LanguageModel> model, const TextEngineOptions& options)
    : impl_(std::make_unique<Impl>(std::move(model), options)) {}
TextEngine::~TextEngine() = default;

const LanguageModel& TextEngine::model() const { return *impl_->model; }
const TextEngineOptions& TextEngine::options() const { return impl_->options; }
TextEngineStatus TextEngine::status() const { return impl_->status(); }
TextEngineMemory TextEngine::memory() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->memory;
}
std::vector<std::string> TextEngine::adapters() const {
  std::vector<std::string> names;
  for (const auto& [name, path] : impl_->options.adapters) names.push_back(name);
  return names;
}

std::int64_t TextEngine::submit(TextRequest request, OnDelta on_delta) {
  return impl_->submit(std::move(request), std::move(on_delta));
}
bool TextEngine::cancel(std::int64_t request) { return impl_->cancel(request); }

TextDelta TextEngine::generate(TextRequest request) {
  const auto whole = std::make_shared<std::promise<TextDelta>>();
  submit(std::move(request), [whole, sum = TextDelta()](TextDelta delta) mutable {
    sum.text += delta.text;
    std::move(delta.tokens.begin(), delta.tokens.end(), std::back_inserter(sum.tokens));
    if (!delta.is_last()) return;
    if (delta.error) return whole->set_exception(delta.error);
    delta.text = std::move(sum.text);
    delta.tokens = std::move(sum.tokens);
    whole->set_value(std::move(delta));
  });
  return whole->get_future().get();
}

}  // namespace weft
