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
#include "weft/models/serve/fair_queue.h"
#include "weft/models/text/tokenizers/text_stream.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

/// The text of a new id depends on few of the preceding ids.
constexpr std::ptrdiff_t kTextContext = 64;

TextEngineOptions resolved(TextEngineOptions options, const GptConfig& config) {
  if (options.capacity == 0) options.capacity = config.context;
  if (options.queue < 0)
    throw ArgumentError(fmt::format("queue must be at least 0, not {}", options.queue));
  if (options.threads < 0)
    throw ArgumentError(fmt::format("threads must be at least 0, not {}", options.threads));
  return options;
}

DecodeSlotsOptions slots_options(const TextEngineOptions& options) {
  return {.slots = options.slots, .capacity = options.capacity, .chunk = options.chunk};
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
  std::int64_t new_tokens = 0;
  bool cancelled = false;
};

}  // namespace

struct TextEngine::Impl {
  using RequestPointer = std::shared_ptr<Request>;

  Impl(std::shared_ptr<const LanguageModel> given, const TextEngineOptions& given_options)
      : model(std::move(given)),
        options(resolved(given_options, model->config)),
        slots(slots_model(*model, options.adapters)),
        session(*slots.graph, slots.store,
                {.threads = static_cast<int>(options.threads),
                 .plan_cache = 128,
                 .batch_invariant = true}),
        batch(session, slots.program, model->config, slots_options(options)),
        memory(used_memory()),
        thread([this] { run(); }) {}

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    wake.notify_all();
    thread.join();
  }

  TextEngineMemory used_memory() const {
    TextEngineMemory used;
    for (const VariableStore::MemoryEntry& entry : slots.store->memory())
      used.weights += static_cast<std::int64_t>(entry.bytes + entry.packed_bytes);
    used.caches = static_cast<std::int64_t>(session.own_bytes());
    used.arena = static_cast<std::int64_t>(session.arena_bytes());
    return used;
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
    if (!request.adapter.empty())
      throw ArgumentError(fmt::format("there is no adapter '{}'", request.adapter));
    if (request.top < -1)
      throw ArgumentError(fmt::format("top must be at least -1, not {}", request.top));
  }

  std::int64_t submit(TextRequest&& given, OnDelta&& on_delta) {
    prepare(given);
    const std::lock_guard lock(mutex);
    if (waiting.size() >= options.queue) {
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
    for (;;) {
      std::vector<RequestPointer> ended;
      bool idle = false, last = false;
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
      if (last) return;
      {
        const std::lock_guard lock(mutex);
        while (!waiting.empty() && batch.has_room()) start(waiting.pop());
        idle = running.empty();
      }
      if (!idle) advance();
    }
  }

  void start(const RequestPointer& request) {
    const TextRequest& given = request->given;
    request->in_batch = batch.add(given.prompt, given.options, given.top);
    running.emplace(request->in_batch, request);
  }

  void advance() {
    std::vector<RequestToken> tokens;
    const auto begin = Clock::now();
    try {
      tokens = batch.step();
    } catch (...) {
      // A run of the model failed, for example for lack of memory. It would fail again.
      const auto failed = running;
      for (const auto& [number, request] : failed)
        end(request, {.error = std::current_exception()});
    }
    {
      const std::lock_guard lock(mutex);
      counters.busy_seconds += std::chrono::duration<double>(Clock::now() - begin).count();
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
    ++request->new_tokens;
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
      counters.new_tokens += request->new_tokens;
      if (request->new_tokens > 0) counters.prompt_tokens += std::ssize(request->given.prompt);
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
  BatchGenerator batch;                            // used by the engine's thread only
  std::map<std::int64_t, RequestPointer> running;  // by number in the batch; ditto

  TextEngineMemory memory;

  std::mutex mutex;  // guards the members below, and Request::cancelled
  std::condition_variable wake;
  bool stopping = false;
  std::map<std::int64_t, RequestPointer> requests;  // that have not ended
  FairQueue<RequestPointer> waiting;
  TextEngineStatus counters;

  std::thread thread;  // the last member: it uses the others
};

TextEngine::TextEngine(std::shared_ptr<const LanguageModel> model, const TextEngineOptions& options)
    : impl_(std::make_unique<Impl>(std::move(model), options)) {}
TextEngine::~TextEngine() = default;

const LanguageModel& TextEngine::model() const { return *impl_->model; }
const TextEngineOptions& TextEngine::options() const { return impl_->options; }
TextEngineStatus TextEngine::status() const { return impl_->status(); }
TextEngineMemory TextEngine::memory() const { return impl_->memory; }
std::vector<std::string> TextEngine::adapters() const { return {}; }

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
