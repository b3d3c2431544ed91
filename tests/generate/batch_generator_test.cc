// Continuous batching: requests that join and leave have the texts that they have alone.
#include "weft/models/generate/batch_generator.h"

#include <boost/test/unit_test.hpp>
#include <map>

#include "weft/core/error.h"
#include "weft/tests/generate/serving_model.h"
#include "weft/tests/models/gpt_variants.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(batch_generator)
namespace {

using testing::says;
using testing::ServingModel;

struct Asked {
  TokenIds prompt;
  GenerationOptions options;
};

/// Returns eight requests of different lengths with different searches, rules and limits. Texts
/// have at most 16 ids.
std::vector<Asked> requests() {
  std::vector<Asked> all(8);
  all[0] = {{3, 1, 4, 1, 5}, {.max_length = 14}};
  all[1] = {{9}, {.max_new = 9}};
  all[1].options.sampling = SamplingOptions{.temperature = 1.3, .top_k = 5, .seed = 8};
  all[2] = {{2, 6, 5}, {.max_length = 16, .min_new = 5, .eos_id = 7}};
  all[2].options.stop_ids = {4, 11};
  all[3] = {{8, 9, 7, 9, 3, 2, 3, 8, 4}, {.max_new = 4}};
  all[3].options.repetition_penalty = 1.5;
  all[3].options.no_repeat_ngram = 2;
  all[4] = {{6, 2}, {.max_new = 12}};
  all[4].options.sampling =
      SamplingOptions{.temperature = 0.7, .top_p = 0.8, .min_p = 0.05, .seed = 3, .first_row = 2};
  all[5] = {{6, 4, 3, 3, 8, 3, 2, 7, 9, 5, 0, 2, 8}, {.max_length = 15}};
  all[5].options.forced = {{13, 20}};
  all[6] = {{1, 1}, {.max_new = 10}};
  all[6].options.bad_token_ids = {1, 2, 3};
  all[6].options.stop_sequences = {{5}, {6, 8}, {10}};
  all[7] = {{22}, {.max_new = 1}};
  return all;
}

BOOST_AUTO_TEST_CASE(texts_that_outgrow_the_first_factors_of_longrope_are_processed_again) {
  for (Variant variant : variants()) {
    GptConfig& config = variant.config;
    if (config.rotary_scaling != RotaryScalingKind::longrope) continue;
    config.rotary_context = 7;
    ServingModel model(config);
    BatchGenerator batch(model.session, model.slots, config,
                         {.slots = 2, .capacity = 24, .chunk = 3});
    const std::vector<TokenIds> prompts = {
        {3, 1, 4, 1, 5}, {9}, {2, 6, 5, 3, 5, 8, 9}, {7, 9, 3, 2, 3, 8, 4, 6, 2, 6}};
    std::vector<TokenIds> texts = prompts;
    for (const TokenIds& prompt : prompts) batch.add(prompt, {.max_new = 12});
    while (const auto token = batch.next())
      texts[static_cast<std::size_t>(token->request)].push_back(token->id);
    for (std::size_t i = 0; i < prompts.size(); ++i)
      BOOST_TEST((texts[i] == model.generate(prompts[i], {.max_new = 12})));
  }
}

BOOST_AUTO_TEST_CASE(requests_that_join_and_leave_have_the_texts_that_they_have_alone) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      ServingModel model(variant.config);
      BatchGenerator batch(model.session, model.slots, variant.config,
                           {.slots = 3, .capacity = 16, .chunk = 4});
      const std::vector<Asked> asked = requests();
      std::map<std::int64_t, TokenIds> texts;
      std::map<std::int64_t, bool> ended;
      std::size_t added = 0;
      std::int64_t received = 0, most = 0;
      const auto add = [&] {
        const Asked& next = asked[added];
        BOOST_TEST(batch.add(next.prompt, next.options) == static_cast<std::int64_t>(added));
        texts[static_cast<std::int64_t>(added++)] = next.prompt;
      };
      while (added < 5) add();  // more than there are slots
      while (const auto token = batch.next()) {
        BOOST_TEST(!ended[token->request]);
        texts[token->request].push_back(token->id);
        ended[token->request] = token->finish.has_value();
        most = std::max(most, batch.running());
        if (++received % 5 == 0 && added < asked.size()) add();
      }
      BOOST_TEST(most == 3);
      BOOST_TEST(added == asked.size());
      BOOST_TEST(batch.running() == 0);
      BOOST_TEST(batch.waiting() == 0);
      for (std::size_t i = 0; i < asked.size(); ++i) {
        BOOST_TEST_CONTEXT("request " << i) {
          BOOST_TEST(ended[static_cast<std::int64_t>(i)]);
          BOOST_TEST((texts[static_cast<std::int64_t>(i)] ==
                      model.generate(asked[i].prompt, asked[i].options)));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_cancelled_request_frees_its_slot_and_leaves_the_others_unchanged) {
  ServingModel model(variants()[1].config);
  BatchGenerator batch(model.session, model.slots, model.gpt.config(),
                       {.slots = 2, .capacity = 16, .chunk = 2});
  const GenerationOptions options{.max_new = 6};
  const std::vector<TokenIds> prompts = {{3, 1, 4}, {1, 5, 9, 2, 6, 5}, {3, 5}, {8}};
  for (const TokenIds& prompt : prompts) batch.add(prompt, options);
  BOOST_TEST(batch.waiting() == 2);
  std::map<std::int64_t, TokenIds> texts;
  const auto receive = [&] {
    const auto token = batch.next();
    if (token) texts[token->request].push_back(token->id);
    return token;
  };
  receive();
  BOOST_TEST(batch.running() == 2);
  BOOST_TEST(batch.cancel(1));  // its prompt is being processed
  BOOST_TEST(!batch.cancel(1));
  BOOST_TEST(batch.cancel(3));  // it waits
  BOOST_TEST(batch.running() == 1);
  while (receive()) {
    if (texts[0].size() == 3 && !texts[2].empty()) batch.cancel(0);  // it runs
  }
  BOOST_TEST(texts[0].size() == 3U);
  BOOST_TEST(!texts.contains(1));
  BOOST_TEST(!texts.contains(3));
  BOOST_TEST(!batch.cancel(2));
  TokenIds expected = model.generate(prompts[2], options);
  BOOST_TEST((texts[2] == TokenIds(expected.begin() + 2, expected.end())));
  BOOST_CHECK_EXCEPTION(batch.cancel(4), ArgumentError,
                        says("there is no request 4: 4 were added"));
  // Ids that next() has not returned yet are dropped as well.
  const std::int64_t a = batch.add({3}, options), b = batch.add({4}, options);
  while (batch.next()->request != b) {
  }
  BOOST_TEST(batch.next()->request == a);
  BOOST_TEST(batch.cancel(b));
  while (const auto token = batch.next()) BOOST_TEST(token->request == a);
}

BOOST_AUTO_TEST_CASE(an_error_ends_only_its_own_request) {
  ServingModel model(variants()[0].config);
  BatchGenerator batch(model.session, model.slots, model.gpt.config(), {.slots = 3});
  GenerationOptions nothing{.max_new = 3};
  for (std::int64_t id = 0; id < 23; ++id) nothing.bad_token_ids.push_back(id);
  batch.add({3, 1, 4}, {.max_new = 4});
  batch.add({1, 5}, nothing);
  batch.add({9, 2}, {.max_new = 4});
  std::map<std::int64_t, TokenIds> texts = {{0, {3, 1, 4}}, {2, {9, 2}}};
  int errors = 0;
  for (;;) {
    try {
      const auto token = batch.next();
      if (!token) break;
      texts.at(token->request).push_back(token->id);
    } catch (const DataError& error) {
      ++errors;
      BOOST_TEST(says("exclude every id in the vocabulary after 2 ids in request 1")(error));
    }
  }
  BOOST_TEST(errors == 1);
  BOOST_TEST((texts[0] == model.generate({3, 1, 4}, {.max_new = 4})));
  BOOST_TEST((texts[2] == model.generate({9, 2}, {.max_new = 4})));
}

BOOST_AUTO_TEST_CASE(invalid_requests_are_rejected_when_they_are_added) {
  ServingModel model(variants()[1].config);
  BatchGenerator batch(model.session, model.slots, model.gpt.config(), {.capacity = 20});
  const auto rejects = [&](TokenIds prompt, const GenerationOptions& options,
                           const std::string& message) {
    BOOST_CHECK_EXCEPTION(batch.add(std::move(prompt), options), ArgumentError, says(message));
  };
  rejects({}, {}, "the prompt is empty");
  rejects({1, 23}, {}, "id 23 of the prompt is outside the vocabulary (size 23)");
  rejects({1, -1}, {}, "id -1 of the prompt is outside the vocabulary");
  rejects({1}, {.max_new = 20}, "a sequence of 21 ids exceeds the capacity of a slot, 20");
  rejects({1, 2, 3}, {.max_length = 3}, "there is no room for new tokens");
  rejects({1}, {.max_new = 2, .eos_id = 30}, "id 30 is outside the vocabulary");
  rejects({1}, {.beams = 2}, "does not support beams: use a Generator for beam search");
  rejects({1}, {.sampling = SamplingOptions{}, .results = 2},
          "does not support several results: add one request for each sample");
  rejects({1}, {.slide = true}, "does not support slide");
  rejects({1}, {.reuse_caches = true},
          "does not support reuse_caches: DecodeSlotsOptions::reuse_prefixes");
  rejects({1}, {.start = {1}}, "does not support start, which is for encoder-decoders");
  rejects({1}, {.stop_texts = {"x"}}, "stop_texts require a tokenizer");
  rejects({1}, {.sampling = SamplingOptions{.temperature = 0}}, "temperature");
  BOOST_TEST(!batch.next().has_value());
  BOOST_TEST(batch.add({1}, {.max_new = 19}) == 0);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
