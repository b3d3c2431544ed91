// Speculative decoding: proposals from the text and from a draft model, and unchanged texts.
#include "weft/models/generate/speculation.h"

#include <boost/test/unit_test.hpp>

#include "weft/models/generate/batch_generator.h"
#include "weft/models/generate/next_id.h"
#include "weft/tests/generate/serving_model.h"
#include "weft/tests/models/gpt_variants.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(speculation)
namespace {

using testing::ServingModel;

constexpr std::int64_t kCapacity = 48;

SessionOptions invariant() { return {.seed = 4, .threads = 2, .batch_invariant = true}; }

/// A text with greedy options.
struct Text {
  TokenIds ids;
  GenerationOptions options{.max_length = kCapacity};
  LengthRules lengths = checked_length_rules(options, std::ssize(ids));

  SpeculatedText speculated(std::int64_t number, std::int64_t most) const {
    return {number, ids, options, lengths, nullptr, most};
  }
};

TokenIds looked_up(const TokenIds& ids, std::int64_t most) {
  const Text text{ids};
  return PromptLookup().propose(std::vector{text.speculated(0, most)}).front();
}

BOOST_AUTO_TEST_CASE(lookup_continues_the_longest_match_and_the_latest_of_equal_length) {
  BOOST_TEST((looked_up({1, 2, 3, 4, 5, 1, 2}, 2) == TokenIds{3, 4}));
  BOOST_TEST((looked_up({1, 2, 3, 1, 2, 4, 1, 2}, 1) == TokenIds{4}));
  BOOST_TEST((looked_up({9, 1, 2, 3, 8, 1, 2, 4, 9, 1, 2}, 1) == TokenIds{3}));
  BOOST_TEST((looked_up({1, 2, 3, 4, 2}, 3) == TokenIds{}));  // one id alone is no match
  BOOST_TEST((looked_up({1, 2, 3, 4, 5}, 3) == TokenIds{}));
  BOOST_TEST((looked_up({1}, 3) == TokenIds{}));
  // Repetitions continue.
  BOOST_TEST((looked_up({7, 7, 7}, 4) == TokenIds{7, 7, 7, 7}));
  BOOST_TEST((looked_up({5, 1, 2, 1, 2}, 5) == TokenIds{1, 2, 1, 2, 1}));
  BOOST_TEST((looked_up({1, 2, 3, 1, 2}, 0) == TokenIds{}));
}

/// A proposer that records the requested numbers of ids and proposes zeros
class Counting : public Proposer {
 public:
  std::vector<TokenIds> propose(std::span<const SpeculatedText> texts) override {
    most.clear();
    std::vector<TokenIds> result;
    for (const SpeculatedText& text : texts) {
      most.push_back(text.most);
      result.emplace_back(static_cast<std::size_t>(text.most));
    }
    return result;
  }
  void drop(std::int64_t number) override { dropped.push_back(number); }

  TokenIds most, dropped;
};

/// Speculation with the number of proposals of each text in each step.
class Paced {
 public:
  explicit Paced(std::int64_t most, std::size_t texts)
      : texts_(texts, Text{{1, 2, 3}}),
        speculation(std::unique_ptr<Proposer>(counting = new Counting), most) {}

  TokenIds step(const TokenIds& accepted) {
    std::vector<SpeculatedText> given;
    for (std::size_t i = 0; i < texts_.size(); ++i)
      given.push_back(texts_[i].speculated(static_cast<std::int64_t>(i), 0));
    speculation.propose(given, static_cast<std::int64_t>(texts_.size()));
    for (std::size_t i = 0; i < accepted.size(); ++i) {
      speculation.record(static_cast<std::int64_t>(i), counting->most[i],
                         std::min(accepted[i], counting->most[i]));
    }
    return counting->most;
  }
  Text& text(std::size_t i) { return texts_[i]; }

 private:
  std::vector<Text> texts_;

 public:
  Counting* counting;
  Speculation speculation;
};

BOOST_AUTO_TEST_CASE(proposals_grow_with_success_and_pause_after_failures) {
  Paced paced(64, 1);
  for (const auto& [accepted, most] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{9, 2},
                                                          {9, 4},
                                                          {9, 7},
                                                          {3, 7},
                                                          {0, 3},
                                                          {1, 1},
                                                          {0, 2},
                                                          {0, 1},  // two failures
                                                          {0, 0},
                                                          {0, 0},
                                                          {0, 0},
                                                          {0, 0},
                                                          {0, 1},
                                                          {0, 0}}) {
    BOOST_TEST((paced.step({accepted}) == TokenIds{most}));
  }
  BOOST_TEST(paced.speculation.proposed() == 2 + 4 + 7 + 7 + 3 + 1 + 2 + 1 + 1);
  BOOST_TEST(paced.speculation.accepted() == 2 + 4 + 7 + 3 + 1);
  paced.speculation.drop(0);
  BOOST_TEST((paced.counting->dropped == TokenIds{0}));
  BOOST_TEST((paced.step({0}) == TokenIds{2}));
}

BOOST_AUTO_TEST_CASE(texts_share_the_proposals_of_a_step_and_do_not_exceed_their_length) {
  Paced four(4, 3);
  BOOST_TEST((four.step({}) == TokenIds{2, 1, 1}));
  four.text(0) = Text{{1, 2}, {.max_length = 4}};  // a step yields one id, and a proposal another
  BOOST_TEST((four.step({}) == TokenIds{1, 2, 1}));
  four.text(0) = Text{{1, 2}, {.max_length = 3}};
  BOOST_TEST((four.step({}) == TokenIds{0, 2, 2}));
  BOOST_TEST((Paced(64, 6).step({}) == TokenIds{1, 1, 0, 0, 0, 0}));
  BOOST_TEST((Paced(64, 8).step({}) == TokenIds(8, 0)));
}

/// A draft model over the weights of `model`, in another session.
struct Draft {
  explicit Draft(ServingModel& model, std::int64_t vocab, const DecodeSlotsOptions& options)
      : session(model.graph, model.store, invariant()),
        proposer(session, model.slots, model.gpt.config(), vocab, options) {}

  TokenIds operator()(std::int64_t number, const Text& text, std::int64_t most) {
    return proposer.propose(std::vector{text.speculated(number, most)}).front();
  }

  Session session;
  DraftModel proposer;
};

TokenIds slice(const TokenIds& ids, std::int64_t begin, std::int64_t count) {
  return {ids.begin() + begin, ids.begin() + begin + count};
}

BOOST_AUTO_TEST_CASE(a_draft_model_proposes_what_it_would_generate) {
  for (const bool sampled : {false, true}) {
    ServingModel model(variants()[1].config, invariant());
    Draft draft(model, model.gpt.config().vocab, {.slots = 2, .capacity = kCapacity, .chunk = 8});
    GenerationOptions options{.max_length = kCapacity};
    if (sampled) options.sampling = SamplingOptions{.temperature = 1.5, .seed = 3};
    Text text{{3, 1, 4, 1, 5}, options};
    const TokenIds whole = model.generate(text.ids, options);
    BOOST_TEST((draft(0, text, 4) == slice(whole, 5, 4)));
    BOOST_TEST((draft(0, text, 4) == slice(whole, 5, 4)));  // the same text again
    // All of them and one more id, as after a step, then only some of them and another id.
    text.ids = slice(whole, 0, 10);
    BOOST_TEST((draft(0, text, 3) == slice(whole, 10, 3)));
    text.ids = slice(whole, 0, 11);
    text.ids.push_back((whole[11] + 1) % model.gpt.config().vocab);
    Text other{text.ids, options, text.lengths};
    const TokenIds changed = draft(0, other, 2);
    Draft fresh(model, model.gpt.config().vocab, {.slots = 1, .capacity = kCapacity, .chunk = 16});
    BOOST_TEST((changed == fresh(5, other, 2)));
    BOOST_TEST(std::ssize(changed) == 2);
  }
}

BOOST_AUTO_TEST_CASE(a_draft_model_without_room_proposes_nothing) {
  ServingModel model(variants()[1].config, invariant());
  const std::int64_t vocab = model.gpt.config().vocab;
  Draft draft(model, vocab, {.slots = 1, .capacity = 24, .chunk = 8});
  const Text text{{3, 1, 4, 1, 5}}, longer{{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}};
  BOOST_TEST(draft(0, text, 2).size() == 2U);
  BOOST_TEST(draft(1, text, 2).empty());  // the only slot is in use
  draft.proposer.drop(0);
  // A prompt is processed in chunks.
  BOOST_TEST(draft(1, longer, 2).empty());
  BOOST_TEST((draft(1, longer, 2) == slice(model.generate(longer.ids, longer.options), 11, 2)));
  // Beyond the capacity.
  BOOST_TEST(draft(1, Text{TokenIds(22, 3)}, 3).empty());
  BOOST_TEST(draft(2, text, 2).size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_draft_model_proposes_only_ids_that_both_models_have) {
  ServingModel model(variants()[1].config, invariant());
  const std::int64_t vocab = model.gpt.config().vocab;
  const Text text{{3, 1, 4, 1, 5}};
  Draft fewer(model, 2, {.slots = 1, .capacity = kCapacity});
  for (const std::int64_t id : fewer(0, text, 8)) BOOST_TEST(id < 2);
  Draft more(model, vocab + 5, {.slots = 1, .capacity = kCapacity});
  BOOST_TEST((more(0, text, 3) == slice(model.generate(text.ids, text.options), 5, 3)));
  BOOST_TEST(more(0, Text{{3, 1, 4, vocab + 1}}, 3).empty());
}

/// Requests with different searches, rules and ends.
std::vector<Text> requests() {
  std::vector<Text> all;
  const auto add = [&](const TokenIds& prompt, const GenerationOptions& options) {
    all.push_back({prompt, options});
  };
  add({3, 1, 4, 1, 5}, {.max_length = 40});
  GenerationOptions sampled{.max_new = 30};
  sampled.sampling = SamplingOptions{.temperature = 1.3, .top_k = 5, .seed = 8};
  add({9}, sampled);
  add({2, 6, 5}, {.max_length = 38, .min_new = 5, .eos_id = 7});
  GenerationOptions penalised{.max_new = 30};
  penalised.repetition_penalty = 1.5;
  penalised.no_repeat_ngram = 2;
  add({8, 9, 7, 9, 3, 2, 3, 8, 4}, penalised);
  GenerationOptions stops{.max_new = 30};
  stops.stop_sequences = {{5}, {6, 8}, {10}};
  add({1, 1}, stops);
  GenerationOptions repeats{.max_new = 36};
  repeats.bad_token_ids = {1, 2, 3};
  add({6, 4, 6, 4, 6, 4, 6, 4}, repeats);
  return all;
}

std::vector<TokenIds> texts_of(BatchGenerator& batch) {
  const std::vector<Text> asked = requests();
  std::vector<TokenIds> texts;
  for (const Text& text : asked) {
    batch.add(text.ids, text.options);
    texts.push_back(text.ids);
  }
  while (const auto token = batch.next())
    texts[static_cast<std::size_t>(token->request)].push_back(token->id);
  return texts;
}

BOOST_AUTO_TEST_CASE(proposals_do_not_change_texts) {
  const DecodeSlotsOptions options{.slots = 3, .capacity = kCapacity, .chunk = 8};
  std::int64_t looked_up = 0;
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      if (variant.config.context < kCapacity && variant.config.positions == GptPositions::learned)
        continue;
      ServingModel model(variant.config, invariant());
      BatchGenerator plain(model.session, model.slots, variant.config, options);
      const std::vector<TokenIds> expected = texts_of(plain);
      Session session(model.graph, model.store, invariant());
      for (const std::int64_t blocks : {0, 16}) {  // 16 are not enough for three long texts
        DecodeSlotsOptions scarce = options;
        scarce.block = 4, scarce.blocks = blocks;
        BatchGenerator batch(session, model.slots, variant.config, scarce);
        batch.speculate(std::make_unique<PromptLookup>(), 8);
        BOOST_TEST((texts_of(batch) == expected));
        // With dynamic scaling, texts are not preempted, because their keys would change.
        const bool preempts =
            blocks > 0 && variant.config.rotary_scaling != RotaryScalingKind::dynamic;
        BOOST_TEST((batch.preempted() > 0) == preempts);
        looked_up += batch.speculation()->accepted();
      }
      {
        Session own(model.graph, model.store, invariant());
        BatchGenerator batch(session, model.slots, variant.config, options);
        batch.speculate(std::make_unique<DraftModel>(own, model.slots, variant.config,
                                                     variant.config.vocab, options),
                        8);
        BOOST_TEST((texts_of(batch) == expected));
        BOOST_TEST(batch.speculation()->accepted() > 10);
        BOOST_TEST(batch.speculation()->accepted() == batch.speculation()->proposed());
      }
      {
        ServingModel other(variant.config, {.seed = 77, .threads = 2});
        BatchGenerator batch(session, model.slots, variant.config, options);
        batch.speculate(std::make_unique<DraftModel>(other.session, other.slots, variant.config,
                                                     variant.config.vocab, options),
                        8);
        BOOST_TEST((texts_of(batch) == expected));
        BOOST_TEST(batch.speculation()->accepted() < batch.speculation()->proposed());
      }
    }
  }
  BOOST_TEST(looked_up > 100);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
