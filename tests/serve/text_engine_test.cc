// A TextEngine: every request has the text that it has alone, whatever else runs.
#include "weft/models/serve/text_engine.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "weft/core/error.h"
#include "weft/models/generate/structured/constraint.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(text_engine)
namespace {

using testing::says;
using Clock = std::chrono::steady_clock;

/// A decoder with random weights over 25 characters, some of which have several bytes.
std::shared_ptr<const LanguageModel> tiny_model(
    std::int64_t context = 96, std::uint64_t seed = 4,
    const std::string& characters = "abcdefghijklmnopqrstuvwé€𝄞 .") {
  GptConfig config = GptConfig::llama();
  const Tokenizer tokenizer = CharacterTokenizer::from_text(characters);
  config.vocab = tokenizer.vocab_size();
  config.layers = 2;
  config.heads = 4;
  config.kv_heads = 2;
  config.width = 32;
  config.inner = 48;
  config.context = context;
  config.initializer_range = 0.4;  // large enough for clearly non-uniform predictions
  auto model = std::make_shared<LanguageModel>(build_language_model(config, tokenizer, {}));
  Session(*model->graph, model->store, {.seed = seed}).initialise();
  return model;
}

/// Collects the deltas of requests, which may arrive on any thread.
class Replies {
 public:
  TextEngine::OnDelta collect(std::size_t request) {
    return [this, request](const TextDelta& delta) {
      const std::lock_guard lock(mutex_);
      TextDelta& sum = replies_[request];
      BOOST_TEST(!sum.is_last());
      sum.text += delta.text;
      sum.tokens.insert(sum.tokens.end(), delta.tokens.begin(), delta.tokens.end());
      sum.finish = delta.finish;
      sum.error = delta.error;
      sum.prompt_tokens = delta.prompt_tokens;
      sum.cached_tokens = delta.cached_tokens;
      sum.new_tokens = delta.new_tokens;
      if (sum.is_last()) ended_.push_back(request);
      changed_.notify_all();
    };
  }
  /// Waits until `count` requests have ended, and returns all replies.
  std::map<std::size_t, TextDelta> wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_.size() >= count; });
    return replies_;
  }
  std::vector<std::size_t> ended() {
    const std::lock_guard lock(mutex_);
    return ended_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, TextDelta> replies_;
  std::vector<std::size_t> ended_;  // in order
};

TokenIds ids_of(const TextDelta& reply) {
  TokenIds ids;
  for (const NewToken& token : reply.tokens) ids.push_back(token.token.id);
  return ids;
}

/// The id that ends constrained texts.
std::int64_t end_id(const LanguageModel& model) { return model.tokenizer.find("q"); }

std::shared_ptr<const Constraint> regex(const LanguageModel& model, const std::string& pattern) {
  return Constraint::regex(
      pattern, std::make_shared<const ConstraintVocabulary>(model.tokenizer, model.config.vocab,
                                                            TokenIds{end_id(model)}));
}

/// 64 requests with different prompts, lengths, seeds, rules and ends. Every fourth prompt begins
/// like another one.
std::vector<TextRequest> requests(const LanguageModel& model) {
  std::vector<TextRequest> all(64);
  const auto constraint = regex(model, "(ab|[c-f]{2}){1,3} [g-k€]+\\.");
  std::uint64_t state = 5;
  const auto below = [&](std::int64_t end) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>(state >> 33) % end;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    TextRequest& request = all[i];
    if (i % 4 == 3) request.prompt = all[i - 3].prompt;
    for (std::int64_t n = 1 + below(i % 8 == 0 ? 60 : 20); n > 0 && request.prompt.size() < 62; --n)
      request.prompt.push_back(below(25));
    GenerationOptions& options = request.options;
    options.max_new = 1 + below(i % 4 == 2 ? 90 : 30);
    if (i % 3 != 0) {
      options.sampling =
          SamplingOptions{.temperature = 0.5 + 0.25 * static_cast<double>(below(5)), .seed = i * 7};
      if (i % 5 == 1) options.sampling->top_k = 1 + below(9);
      if (i % 5 == 2) options.sampling->top_p = 0.8;
      if (i % 5 == 3) options.sampling->min_p = 0.1;
    }
    if (i % 7 == 1) options.repetition_penalty = 1.4;
    if (i % 7 == 2) options.frequency_penalty = 0.7;
    if (i % 7 == 3) options.presence_penalty = 1.1;
    if (i % 7 == 4) options.logit_bias = {{3, 2.5}, {7, -100}};
    if (i % 7 == 5) options.no_repeat_ngram = 2;
    if (i % 6 == 0) options.stop_texts = {"e", "ab"};
    if (i % 6 == 1) options.eos_id = 5;
    if (i % 8 == 6) {
      options.constraint = constraint;
      options.eos_id = end_id(model);
    }
    if (i % 6 == 2) options.stop_sequences = {{1}, {2, 3}};
    request.top = i % 9 == 0 ? 3 : -1;
    request.client = std::string(1, static_cast<char>('a' + i % 3));
  }
  return all;
}

void check_equal(const TextDelta& reply, const TextDelta& expected) {
  BOOST_TEST(!reply.error);
  BOOST_TEST(reply.text == expected.text);
  BOOST_TEST((reply.finish == expected.finish));
  BOOST_TEST((ids_of(reply) == ids_of(expected)));
  BOOST_TEST(reply.prompt_tokens == expected.prompt_tokens);
  BOOST_TEST(reply.new_tokens == expected.new_tokens);
  for (std::size_t t = 0; t < std::min(reply.tokens.size(), expected.tokens.size()); ++t) {
    const NewToken &a = reply.tokens[t], &b = expected.tokens[t];
    BOOST_TEST(a.token.log_probability == b.token.log_probability);
    BOOST_TEST_REQUIRE(a.top.size() == b.top.size());
    for (std::size_t i = 0; i < a.top.size(); ++i) {
      BOOST_TEST(a.top[i].id == b.top[i].id);
      BOOST_TEST(a.top[i].log_probability == b.top[i].log_probability);
    }
  }
}

/// Submits all requests at once and compares the texts.
void check_texts(TextEngine& engine, const std::vector<TextRequest>& all,
                 const std::vector<TextDelta>& expected) {
  Replies replies;
  for (std::size_t i = 0; i < all.size(); ++i) engine.submit(all[i], replies.collect(i));
  const auto got = replies.wait(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    BOOST_TEST_CONTEXT("request " << i) check_equal(got.at(i), expected[i]);
  }
}

BOOST_AUTO_TEST_CASE(texts_do_not_depend_on_other_requests_or_threads) {
  const auto model = tiny_model();
  const std::vector<TextRequest> all = requests(*model);
  std::vector<TextDelta> alone;
  std::set<Finish> finishes;
  {
    TextEngine engine(model, {.slots = 1, .threads = 1});
    for (const TextRequest& request : all) {
      alone.push_back(engine.generate(request));
      finishes.insert(*alone.back().finish);
    }
  }
  BOOST_TEST(finishes.size() == 3);  // end, stop, length
  for (const std::int64_t slots : {1, 4, 16, 64}) {
    for (const std::int64_t threads : {1, 2}) {
      BOOST_TEST_CONTEXT(slots << " slots, " << threads << " threads") {
        TextEngine engine(model, {.slots = slots, .chunk = 16, .threads = threads});
        const std::int64_t arena = engine.memory().arena;
        check_texts(engine, all, alone);
        BOOST_TEST(engine.memory().arena == arena);
        const TextEngineStatus status = engine.status();
        BOOST_TEST(status.running == 0);
        BOOST_TEST(status.waiting == 0);
        BOOST_TEST(status.requests == 64);
        BOOST_TEST(status.failed == 0);
        std::int64_t prompt_tokens = 0, new_tokens = 0;
        for (const TextDelta& reply : alone) {
          prompt_tokens += reply.prompt_tokens;
          new_tokens += reply.new_tokens;
        }
        BOOST_TEST(status.prompt_tokens == prompt_tokens);
        BOOST_TEST(status.new_tokens == new_tokens);
        BOOST_TEST(status.cancelled == 0);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(texts_are_the_same_with_few_blocks_and_reused_prefixes) {
  const auto model = tiny_model();
  std::vector<TextRequest> all = requests(*model);
  std::vector<TextDelta> alone;
  std::int64_t block_bytes = 0;
  {
    TextEngine engine(model, {.slots = 1, .reuse_prefixes = false, .threads = 1});
    const TextEngineStatus status = engine.status();
    block_bytes = engine.options().cache_bytes / status.cache_blocks;
    BOOST_TEST(status.cache_blocks * status.block_tokens == 96);
    for (const TextRequest& request : all) {
      alone.push_back(engine.generate(request));
      BOOST_TEST(alone.back().cached_tokens == 0);
    }
    BOOST_TEST(engine.status().used_blocks == 0);
  }
  for (const bool reuse : {false, true}) {
    TextEngine engine(model, {.slots = 16,
                              .chunk = 16,
                              .cache_bytes = 5 * block_bytes + block_bytes - 1,
                              .reuse_prefixes = reuse,
                              .threads = 1});
    BOOST_TEST(engine.options().cache_bytes == 5 * block_bytes);
    BOOST_TEST(engine.memory().caches >= 5 * block_bytes);
    check_texts(engine, all, alone);
    BOOST_TEST(engine.status().preempted > 0);
    BOOST_TEST(engine.status().used_blocks == 0);
    BOOST_TEST((engine.status().cached_tokens > 0) == reuse);
  }
  // Two whole blocks of the prompt are reused by the next request, the last token never is.
  for (const std::size_t length : {64U, 70U}) {
    TextEngine engine(model, {.slots = 2, .threads = 1});
    BOOST_TEST(engine.status().reusable_blocks == 0);
    const TextRequest request{.prompt = TokenIds(length, 0), .options = {.max_new = 20}};
    const TextDelta first = engine.generate(request), second = engine.generate(request);
    check_equal(second, first);
    BOOST_TEST(first.cached_tokens == 0);
    BOOST_TEST(second.cached_tokens == (length == 64 ? 32 : 64));
    BOOST_TEST(engine.status().cached_tokens == second.cached_tokens);
    BOOST_TEST(engine.status().reusable_blocks > 0);
  }
  const std::int64_t least = 3 * block_bytes;
  BOOST_CHECK_EXCEPTION(
      TextEngine(model, {.cache_bytes = least - 1}), ArgumentError,
      says("cache_bytes is " + std::to_string(least - 1) + ", but a text of 96 tokens needs " +
           std::to_string(least) + " bytes of keys and values: increase it"));
  BOOST_TEST(TextEngine(model, {.cache_bytes = least}).status().cache_blocks == 3);
}

BOOST_AUTO_TEST_CASE(proposed_tokens_do_not_change_texts) {
  const auto model = tiny_model();
  const std::vector<TextRequest> all = requests(*model);
  std::vector<TextDelta> alone;
  {
    TextEngine engine(model, {.slots = 1, .threads = 1});
    for (const TextRequest& request : all) alone.push_back(engine.generate(request));
  }
  for (const std::int64_t slots : {1, 4, 16}) {
    for (const auto& draft : {std::shared_ptr<const LanguageModel>(), model, tiny_model(96, 9)}) {
      BOOST_TEST_CONTEXT(slots << " slots, draft model " << (draft != nullptr)) {
        TextEngine engine(
            model, {.slots = slots, .chunk = 16, .threads = 2, .speculate = 6, .draft = draft});
        const TextEngineMemory memory = engine.memory();
        check_texts(engine, all, alone);
        BOOST_TEST(engine.memory().arena == memory.arena);
        BOOST_TEST(engine.memory().caches == memory.caches);
        const TextEngineStatus status = engine.status();
        BOOST_TEST(status.failed == 0);
        BOOST_TEST(status.proposed_tokens > 0);
        if (slots < 16) BOOST_TEST(status.accepted_tokens > 0);
        BOOST_TEST((status.accepted_tokens == status.proposed_tokens) == (draft == model));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_draft_model_needs_the_vocabulary_of_the_model) {
  const auto model = tiny_model(), other = tiny_model(96, 9, "abcdefghijklmnopqrstuvwxé€𝄞 ");
  BOOST_CHECK_EXCEPTION(TextEngine(model, {.speculate = 2, .draft = other}), ArgumentError,
                        says("token 1 is '"));
  BOOST_CHECK_EXCEPTION(TextEngine(model, {.speculate = 2, .draft = tiny_model(96, 9, "abc")}),
                        ArgumentError, says("the draft model has "));
  BOOST_CHECK_EXCEPTION(TextEngine(model, {.draft = model}), ArgumentError,
                        says("there is a draft model, but speculate is 0"));
  BOOST_CHECK_EXCEPTION(TextEngine(model, {.speculate = -1}), ArgumentError,
                        says("speculate must be at least 0, not -1"));
  const TextEngine engine(model, {.slots = 2}),
      drafting(model, {.slots = 2, .speculate = 2, .draft = tiny_model()});
  BOOST_TEST(drafting.memory().weights == 2 * engine.memory().weights);
  BOOST_TEST(drafting.memory().caches > engine.memory().caches);
}

BOOST_AUTO_TEST_CASE(constrained_texts_are_valid_when_they_end) {
  const auto model = tiny_model();
  TextEngine engine(model, {.slots = 2, .threads = 1});
  TextRequest request{.prompt = {3, 1}, .options = {.max_new = 40}};
  request.options.constraint = regex(*model, "ab{2}[cd]");
  const TextDelta reply = engine.generate(request);
  BOOST_TEST((reply.text == "abbc" || reply.text == "abbd"));
  BOOST_TEST((reply.finish == Finish::stop));  // nothing else can follow
  BOOST_TEST(reply.tokens.size() == 4U);
  // An end id is allowed as soon as the text is complete, and not before.
  request.options.constraint = regex(*model, "(ab)+");
  request.options.eos_id = end_id(*model);
  request.options.logit_bias = {{end_id(*model), 1000}};
  const TextDelta ended = engine.generate(request);
  BOOST_TEST(ended.text.substr(0, 2) == "ab");
  BOOST_TEST(ended.tokens.size() == 3U);
  BOOST_TEST((ended.finish == Finish::end));
  // The limit of the length is reported, because the text may be incomplete.
  request.options.max_new = 1;
  BOOST_TEST((engine.generate(request).finish == Finish::length));
}

BOOST_AUTO_TEST_CASE(texts_are_those_of_the_model_s_own_generator) {
  const auto model = tiny_model();
  Session session(*model->graph, model->store, {.threads = 1, .batch_invariant = true});
  const auto generator = model->text_generator(session);
  TextEngine engine(model, {.slots = 4, .chunk = 8, .threads = 1});
  const std::vector<TextRequest> all = requests(*model);
  for (std::size_t i = 0; i < all.size(); i += 5) {
    BOOST_TEST_CONTEXT("request " << i) {
      const TextDelta reply = engine.generate(all[i]);
      const WrittenText expected =
          generator->generate_ids({all[i].prompt}, all[i].options).run().front();
      BOOST_TEST((ids_of(reply) == expected.ids));
      BOOST_TEST((reply.finish == expected.finish));
      const std::size_t stop = std::min(expected.text.find('e'), expected.text.find("ab"));
      BOOST_TEST(reply.text == (reply.finish == Finish::stop && !all[i].options.stop_texts.empty()
                                    ? expected.text.substr(0, stop)
                                    : expected.text));
    }
  }
}

BOOST_AUTO_TEST_CASE(log_probabilities_are_those_of_all_ids_after_the_rules) {
  const auto model = tiny_model();
  TextEngine engine(model, {.slots = 1, .threads = 1});
  TextRequest request{.prompt = {3, 1, 4}, .options = {.max_new = 3}, .top = 25};
  request.options.bad_token_ids = {2};
  request.options.sampling = SamplingOptions{.temperature = 3, .top_k = 3};
  const std::int64_t vocab = model->config.vocab;
  for (const NewToken& token : engine.generate(request).tokens) {
    double sum = 0;
    std::optional<double> own;
    for (std::size_t i = 0; i < token.top.size(); ++i) {
      sum += std::exp(token.top[i].log_probability);
      BOOST_TEST(token.top[i].id != 2);
      if (i > 0) BOOST_TEST(token.top[i].log_probability <= token.top[i - 1].log_probability);
      if (token.top[i].id == token.token.id) own = token.top[i].log_probability;
    }
    BOOST_TEST(std::ssize(token.top) == std::min<std::int64_t>(25, vocab - 1));
    BOOST_TEST(*own == token.token.log_probability);
    if (vocab - 1 <= 25) BOOST_TEST(std::abs(sum - 1) < 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(requests_are_cancelled_in_every_phase) {
  const auto model = tiny_model();
  TextEngine engine(model, {.slots = 2, .chunk = 4, .threads = 1});
  Replies replies;
  std::int64_t running = -1, prefill = -1, waiting = -1;
  std::promise<void> submitted;
  const auto collect = replies.collect(0);
  running = engine.submit({.prompt = {1, 2}, .options = {.max_new = 60}}, [&](TextDelta delta) {
    if (delta.new_tokens == 1) submitted.get_future().wait();
    if (delta.new_tokens == 3) {
      BOOST_TEST(engine.cancel(prefill));
      BOOST_TEST(engine.cancel(waiting));
    }
    if (delta.new_tokens == 5 && !delta.is_last()) BOOST_TEST(engine.cancel(running));
    collect(std::move(delta));
  });
  const TokenIds long_prompt(70, 3);
  prefill = engine.submit({.prompt = long_prompt, .options = {.max_new = 5}}, replies.collect(1));
  waiting = engine.submit({.prompt = {1}, .options = {.max_new = 5}}, replies.collect(2));
  submitted.set_value();
  const auto got = replies.wait(3);
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST((got.at(i).finish == Finish::cancelled));
  BOOST_TEST(got.at(0).tokens.size() == 5U);
  BOOST_TEST(got.at(1).tokens.empty());
  BOOST_TEST(got.at(2).tokens.empty());
  BOOST_TEST(!engine.cancel(running));
  BOOST_TEST(!engine.cancel(1234));
  BOOST_TEST(engine.status().cancelled == 3);
  // The slots are free again.
  BOOST_TEST(engine.generate({.prompt = long_prompt, .options = {.max_new = 5}}).tokens.size() ==
             5U);
}

BOOST_AUTO_TEST_CASE(requests_end_at_their_deadline_in_every_phase) {
  const auto model = tiny_model();
  TextEngine engine(model, {.slots = 1, .threads = 1});
  BOOST_TEST(
      (engine.generate({.prompt = {1}, .deadline = Clock::now()}).finish == Finish::cancelled));
  Replies replies;
  std::promise<void> submitted;
  const auto deadline = Clock::now() + std::chrono::milliseconds(20);
  const auto collect = replies.collect(0);
  engine.submit({.prompt = {1, 2}, .options = {.max_new = 60}, .deadline = deadline},
                [&](TextDelta delta) {
                  if (delta.new_tokens == 1) submitted.get_future().wait();
                  if (delta.new_tokens == 2) std::this_thread::sleep_until(deadline);
                  collect(std::move(delta));
                });
  engine.submit({.prompt = {1}, .deadline = deadline}, replies.collect(1));  // waits
  submitted.set_value();
  const auto got = replies.wait(2);
  BOOST_TEST((got.at(0).finish == Finish::cancelled));
  BOOST_TEST(got.at(0).tokens.size() <= 2U);
  BOOST_TEST((got.at(1).finish == Finish::cancelled));
  BOOST_TEST(got.at(1).tokens.empty());
}

BOOST_AUTO_TEST_CASE(clients_are_served_in_rotation_and_a_full_queue_is_an_error) {
  const auto model = tiny_model();
  TextEngine engine(model, {.slots = 1, .queue = 4, .threads = 1});
  Replies replies;
  std::promise<void> started, submitted;
  const auto collect = replies.collect(0);
  engine.submit({.prompt = {1}, .options = {.max_new = 2}}, [&](TextDelta delta) {
    if (delta.new_tokens == 1) {
      started.set_value();
      submitted.get_future().wait();
    }
    collect(std::move(delta));
  });
  started.get_future().wait();
  const auto ask = [&](const std::string& client, std::size_t number) {
    engine.submit({.prompt = {2}, .options = {.max_new = 2}, .client = client},
                  replies.collect(number));
  };
  ask("a", 1);
  ask("a", 2);
  ask("a", 3);
  ask("b", 4);
  BOOST_TEST(engine.status().waiting == 4);
  BOOST_TEST(engine.status().running == 1);
  BOOST_CHECK_EXCEPTION(ask("c", 5), QueueFullError,
                        says("4 requests wait already, the maximum: try again later"));
  submitted.set_value();
  replies.wait(5);
  BOOST_TEST((replies.ended() == std::vector<std::size_t>{0, 1, 4, 2, 3}));
}

BOOST_AUTO_TEST_CASE(an_error_ends_only_its_own_request) {
  const auto model = tiny_model();
  TextEngine engine(model, {.slots = 3, .threads = 1});
  TextRequest nothing{.prompt = {1, 2}, .options = {.max_new = 3}};
  for (std::int64_t id = 0; id < model->config.vocab; ++id)
    nothing.options.bad_token_ids.push_back(id);
  const TextRequest good{.prompt = {3, 1}, .options = {.max_new = 6}};
  const TextDelta expected = engine.generate(good);
  Replies replies;
  engine.submit(good, replies.collect(0));
  engine.submit(nothing, replies.collect(1));
  engine.submit(good, [](const TextDelta&) { throw std::runtime_error("a faulty callback"); });
  engine.submit(good, replies.collect(2));
  const auto got = replies.wait(3);
  check_equal(got.at(0), expected);
  check_equal(got.at(2), expected);
  BOOST_CHECK_EXCEPTION(std::rethrow_exception(got.at(1).error), DataError,
                        says("exclude every id in the vocabulary"));
  BOOST_CHECK_EXCEPTION(engine.generate(nothing), DataError, says("exclude every id"));
  BOOST_TEST(engine.status().failed == 2);
}

BOOST_AUTO_TEST_CASE(destruction_ends_all_requests) {
  const auto model = tiny_model();
  Replies replies;
  {
    TextEngine engine(model, {.slots = 1, .threads = 1});
    for (std::size_t i = 0; i < 3; ++i)
      engine.submit({.prompt = {1, 2}, .options = {.max_new = 80}}, replies.collect(i));
  }
  const auto got = replies.wait(3);
  BOOST_TEST(got.size() == 3U);
  BOOST_TEST((got.at(2).finish == Finish::cancelled));
}

BOOST_AUTO_TEST_CASE(stop_texts_and_the_capacity_limit_texts) {
  const auto model = tiny_model();
  TextEngine engine(model, {.slots = 1, .capacity = 20, .threads = 1});
  const TextDelta whole = engine.generate({.prompt = {3, 1, 4, 1}, .options = {.max_new = 500}});
  BOOST_TEST(whole.tokens.size() == 16U);
  BOOST_TEST((whole.finish == Finish::length));
  BOOST_TEST(engine.generate({.prompt = {3, 1, 4, 1}, .options = {.max_length = 0}}).text ==
             whole.text);
  BOOST_TEST(whole.prompt_tokens == 4);
  BOOST_TEST(whole.new_tokens == 16);
  // A stop text that several tokens form, and others that only begin like the text.
  std::vector<std::string> characters;
  for (std::size_t i = 0; i < whole.text.size();) {
    std::size_t end = i + 1;
    while (end < whole.text.size() && (static_cast<unsigned char>(whole.text[end]) & 0xC0) == 0x80)
      ++end;
    characters.push_back(whole.text.substr(i, end - i));
    i = end;
  }
  const std::string stop = characters[5] + characters[6] + characters[7];
  Replies replies;
  GenerationOptions options{.max_new = 500};
  options.stop_texts = {stop, characters[1] + "??", characters[15] + "?"};
  engine.submit({.prompt = {3, 1, 4, 1}, .options = options}, replies.collect(0));
  const TextDelta stopped = replies.wait(1).at(0);
  BOOST_TEST(stopped.text == whole.text.substr(0, whole.text.find(stop)));
  BOOST_TEST((stopped.finish == Finish::stop));
  options.stop_texts.erase(options.stop_texts.begin());
  BOOST_TEST(engine.generate({.prompt = {3, 1, 4, 1}, .options = options}).text == whole.text);
}

BOOST_AUTO_TEST_CASE(invalid_requests_and_options_are_rejected) {
  const auto model = tiny_model();
  TextEngine engine(model, {.slots = 1, .capacity = 20, .threads = 1});
  const auto rejects = [&](TextRequest request, const std::string& message) {
    BOOST_CHECK_EXCEPTION(engine.generate(std::move(request)), ArgumentError, says(message));
  };
  rejects({.prompt = {}}, "the prompt is empty");
  rejects({.prompt = TokenIds(20, 1)},
          "the prompt has 20 tokens, but a text has at most 20 together with its prompt: shorten "
          "the prompt");
  rejects({.prompt = {1, 99}}, "id 99 of the prompt is outside the vocabulary");
  rejects({.prompt = {1}, .options = {.beams = 2}}, "does not support beams");
  rejects({.prompt = {1}, .options = {.logit_bias = {{99, 1}}}}, "id 99 is outside the vocabulary");
  rejects({.prompt = {1}, .options = {.stop_texts = {""}}}, "a stop text is empty");
  rejects({.prompt = {1}, .top = -2}, "top must be at least -1, not -2");
  rejects({.prompt = {1}, .adapter = "poems"}, "there is no adapter 'poems'");
  const auto refuses = [&](const TextEngineOptions& options, const std::string& message) {
    BOOST_CHECK_EXCEPTION(TextEngine(model, options), ArgumentError, says(message));
  };
  refuses({.slots = 0}, "slots");
  refuses({.capacity = -1}, "capacity");
  refuses({.chunk = 0}, "chunk");
  refuses({.queue = -1}, "queue must be at least 0, not -1");
  refuses({.threads = -1}, "threads is -1; it must be in 1..4096");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
