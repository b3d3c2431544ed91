// Slots of key and value caches: texts of different lengths that join, leave, move and share
// beginnings, compared with whole forward passes.
#include "weft/models/generate/slots.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <random>

#include "weft/core/error.h"
#include "weft/graph/weights/quantize.h"
#include "weft/tests/generate/serving_model.h"
#include "weft/tests/models/gpt_variants.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(decode_slots)
namespace {

using testing::relative_difference;
using testing::says;
using testing::ServingModel;

constexpr double kTolerance = 1e-5;  // docs/serving/batching.md

/// Random requests over slots, with the text of each slot.
class Schedule {
 public:
  Schedule(ServingModel& model, const DecodeSlotsOptions& options, unsigned seed)
      : model_(model),
        slots_(model.session, model.slots, model.gpt.config(), options),
        random_(seed) {}

  void run(int actions) {
    for (int i = 0; i < actions; ++i) {
      const int action = below(10);
      if (texts_.empty() || (action == 0 && slots_.free_slots() > 0))
        join();
      else if (action == 1)
        leave();
      else if (action == 2)
        step(3);
      else if (action == 3 && slots_.free_slots() > 0)
        share();
      else if (action == 4)
        shorten();
      else if (action == 5)
        extend(any_slot());
      else
        step(1);
    }
  }
  double worst() const { return worst_; }
  std::int64_t reused() const { return reused_; }

 private:
  int below(std::int64_t n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::int64_t any_slot() { return std::next(texts_.begin(), below(std::ssize(texts_)))->first; }
  TokenIds random_ids(std::int64_t count) {
    TokenIds ids;
    while (std::ssize(ids) < count) ids.push_back(below(model_.gpt.config().vocab));
    return ids;
  }
  std::int64_t room(std::int64_t slot) {
    return slots_.options().capacity - std::ssize(texts_[slot]);
  }
  void compare(const Tensor& logits, std::size_t row, std::int64_t slot) {
    worst_ = std::max(worst_, relative_difference(logits, row, model_.next(texts_[slot])));
    BOOST_REQUIRE(slots_.length(slot) == std::ssize(texts_[slot]));
  }

  void extend(std::int64_t slot) {
    if (room(slot) == 0) return;
    const TokenIds ids = random_ids(1 + below(room(slot)));
    const Tensor logits = slots_.prefill(slot, ids);
    texts_[slot].insert(texts_[slot].end(), ids.begin(), ids.end());
    compare(logits, 0, slot);
  }
  /// Adds a text that often begins like another one.
  void join() {
    TokenIds prompt = random_ids(1 + below(slots_.options().capacity));
    if (!texts_.empty() && below(2) == 0) {
      const TokenIds& other = texts_[any_slot()];
      std::copy_n(other.begin(), std::min(other.size(), prompt.size()), prompt.begin());
    }
    const auto [slot, reused] = slots_.add(prompt);
    reused_ += reused;
    BOOST_REQUIRE(reused < std::ssize(prompt));
    texts_[slot] = prompt;
    compare(slots_.prefill(slot, std::span(prompt).subspan(static_cast<std::size_t>(reused))), 0,
            slot);
  }
  void leave() {
    const std::int64_t slot = any_slot();
    slots_.drop(slot);
    texts_.erase(slot);
  }
  void share() {
    const std::int64_t from = any_slot(), length = below(std::ssize(texts_[from]) + 1);
    const std::int64_t to = slots_.copy(from, length);
    texts_[to] = TokenIds(texts_[from].begin(), texts_[from].begin() + length);
  }
  void shorten() {
    const std::int64_t slot = any_slot(), length = below(std::ssize(texts_[slot]) + 1);
    slots_.truncate(slot, length);
    texts_[slot].resize(static_cast<std::size_t>(length));
  }
  /// Appends up to `most` ids to some texts, and compares the logits after all of them.
  void step(std::int64_t most) {
    std::vector<SlotTokens> tokens;
    for (auto& [slot, text] : texts_) {
      if (room(slot) == 0 || below(4) == 0) continue;
      const TokenIds ids = random_ids(1 + below(std::min(most, room(slot))));
      tokens.push_back({slot, ids, below(std::ssize(ids) + 1)});
    }
    std::shuffle(tokens.begin(), tokens.end(), random_);
    if (tokens.empty()) return;
    const Tensor logits = slots_.step(tokens);
    std::size_t row = 0;
    for (const SlotTokens& added : tokens) {
      TokenIds& text = texts_[added.slot];
      for (std::size_t i = 0; i < added.ids.size(); ++i) {
        text.push_back(added.ids[i]);
        if (std::ssize(added.ids) - added.wanted > static_cast<std::int64_t>(i)) continue;
        worst_ = std::max(worst_, relative_difference(logits, row++, model_.next(text)));
      }
      BOOST_REQUIRE(slots_.length(added.slot) == std::ssize(text));
    }
    BOOST_REQUIRE(logits.size(0) == static_cast<std::int64_t>(row));
  }

  ServingModel& model_;
  DecodeSlots slots_;
  std::mt19937 random_;
  std::map<std::int64_t, TokenIds> texts_;
  double worst_ = 0;
  std::int64_t reused_ = 0;
};

BOOST_AUTO_TEST_CASE(random_joins_steps_and_copies_match_whole_forward_passes) {
  unsigned seed = 0;
  std::int64_t reused = 0;
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      ServingModel model(variant.config);
      // The keys of a text that exceeds rotary_context keep their earlier rotation.
      const bool longrope = variant.config.rotary_scaling == RotaryScalingKind::longrope;
      const std::int64_t capacity = longrope ? variant.config.rotary_context : 16;
      Schedule schedule(model, {.slots = 4, .capacity = capacity, .chunk = 4, .block = 3}, ++seed);
      schedule.run(60);
      BOOST_TEST(schedule.worst() < kTolerance);
      reused += schedule.reused();
    }
  }
  BOOST_TEST(reused > 0);
}

BOOST_AUTO_TEST_CASE(models_without_learned_positions_exceed_their_context) {
  for (const Variant& variant : variants()) {
    if (variant.config.positions == GptPositions::learned) continue;
    // The keys of slots keep their rotation when the text exceeds the context.
    if (variant.config.rotary_scaling == RotaryScalingKind::dynamic ||
        variant.config.rotary_scaling == RotaryScalingKind::longrope)
      continue;
    BOOST_TEST_CONTEXT(variant.name) {
      ServingModel model(variant.config);
      Schedule schedule(model, {.slots = 3, .capacity = 45, .chunk = 7, .block = 8}, 3);
      schedule.run(25);
      BOOST_TEST(schedule.worst() < kTolerance);
    }
  }
}

BOOST_AUTO_TEST_CASE(layers_with_a_window_match_whole_forward_passes) {
  GptConfig config = variants()[1].config;  // LLaMA
  config.context = 200;
  config.kv_heads = 2;
  config.window_layers = "10";
  for (const bool chunks : {false, true}) {
    config.window_chunks = chunks;
    for (const std::int64_t window : {1, 4, 9, 150}) {
      config.window = window;
      for (const std::int64_t block : {1, 5, 16}) {
        BOOST_TEST_CONTEXT("window " << window << " block " << block) {
          ServingModel model(config);
          Schedule schedule(model, {.slots = 3, .capacity = 60, .chunk = 7, .block = block}, 7);
          schedule.run(40);
          BOOST_TEST(schedule.worst() < kTolerance);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(chunks_of_a_long_prompt_are_rotated_for_the_whole_text) {
  GptConfig config = variants()[1].config;  // LLaMA
  config.rotary_scaling = RotaryScalingKind::dynamic;
  config.rotary_factor = 2;
  config.rotary_context = config.context;
  ServingModel model(config);
  TokenIds prompt;
  for (std::int64_t i = 0; i < 29; ++i) prompt.push_back(i * 7 % 23);
  DecodeSlots slots(model.session, model.slots, config, {.slots = 3, .capacity = 40, .chunk = 8});
  // Another text of another length, so that the rows of a step have different bases.
  const std::int64_t other = slots.add(), slot = slots.add();
  slots.prefill(other, TokenIds{3, 1, 4});
  Tensor logits = slots.prefill(slot, std::span(prompt).first(20), 29);
  logits = slots.prefill(slot, std::span(prompt).subspan(20));
  BOOST_TEST(relative_difference(logits, 0, model.next(prompt)) < kTolerance);
  // Continue greedily: the Generator also leaves the rotation of earlier keys unchanged.
  const TokenIds expected = model.generate(prompt, {.max_new = 8});
  const TokenIds expected_other = model.generate({3, 1, 4, 2}, {.max_new = 8});
  TokenIds text = prompt, other_text = {3, 1, 4};
  const auto best = [&](std::int64_t row) {
    const auto scores = logits.span<float>().subspan(static_cast<std::size_t>(row * 23), 23);
    return std::max_element(scores.begin(), scores.end()) - scores.begin();
  };
  text.push_back(best(0));
  other_text.push_back(2);
  while (text.size() < expected.size()) {
    logits =
        slots.step(std::vector<SlotTokens>{{slot, {text.back()}}, {other, {other_text.back()}}});
    text.push_back(best(0));
    other_text.push_back(best(1));
  }
  BOOST_TEST((text == expected));
  BOOST_TEST((other_text == TokenIds(expected_other.begin(), expected_other.begin() + 11)));
}

BOOST_AUTO_TEST_CASE(quantised_weights_and_narrow_caches_give_the_results_of_a_single_row) {
  // Without dynamic scaling and (ALiBi) without positions, some inputs are not used.
  for (const auto& [variant, format] :
       std::vector<std::pair<std::string, WeightFormat>>{{"grouped", WeightFormat::bf16},
                                                         {"dynamic_scaling", WeightFormat::int8},
                                                         {"alibi", WeightFormat::int8}}) {
    const std::vector<Variant> all = variants();
    const GptConfig config =
        std::find_if(all.begin(), all.end(), [&, &name = variant](const Variant& v) {
          return v.name == name;
        })->config;
    ServingModel model(config);
    model.session.initialise();
    const CacheFormat caches = variant == "alibi" ? CacheFormat::int8 : CacheFormat::bf16;
    const QuantizedModel narrow =
        quantize({model.decode, model.slots}, *model.store, {.weights = format, .caches = caches});
    BOOST_TEST(narrow.narrow_caches == 8U);  // two layers, keys and values, both programs
    Session alone(*narrow.graph, narrow.store), session(*narrow.graph, narrow.store);
    Generator generator(alone, narrow.programs[0], config);
    DecodeSlots slots(session, narrow.programs[1], config,
                      {.slots = 3, .capacity = 16, .chunk = 4});
    std::vector<TokenIds> texts = {{3, 1, 4, 1, 5, 9, 2}, {6}, {5, 3}};
    std::vector<std::int64_t> of;
    std::vector<std::int64_t> next;
    const auto best = [&](const Tensor& logits, std::size_t row) {
      const auto scores = logits.span<float>().subspan(row * 23, 23);
      return std::max_element(scores.begin(), scores.end()) - scores.begin();
    };
    for (const TokenIds& text : texts) {
      of.push_back(slots.add());
      next.push_back(best(slots.prefill(of.back(), text), 0));
    }
    for (int i = 0; i < 5; ++i) {
      std::vector<SlotTokens> tokens;
      for (std::size_t r = 0; r < 3; ++r) {
        texts[r].push_back(next[r]);
        tokens.push_back({of[r], {next[r]}});
      }
      const Tensor logits = slots.step(tokens);
      for (std::size_t r = 0; r < 3; ++r) next[r] = best(logits, r);
    }
    for (const TokenIds& text : texts) {
      const TokenIds prompt(text.begin(), text.end() - 5);
      BOOST_TEST((generator.generate({prompt}, {.max_new = 5}).run().sequences.front() == text));
    }
  }
}

BOOST_AUTO_TEST_CASE(caches_are_extended_and_read_in_place) {
  ServingModel model(variants()[1].config);
  const auto arena = [&](std::int64_t slots, std::int64_t capacity) {
    Session session(model.graph, model.store, {.threads = 1});
    DecodeSlots decode(session, model.slots, model.gpt.config(),
                       {.slots = slots, .capacity = capacity});
    const std::int64_t slot = decode.add();
    decode.prefill(slot, TokenIds{1, 2, 3});
    decode.step(std::vector<SlotTokens>{{slot, {4}}});
    const std::size_t before = session.arena_bytes();
    if (slots > 1) decode.copy(slot, 3);
    return before;
  };
  // A copy of one cache would take 2 MB.
  BOOST_TEST(arena(2, 16) == arena(1000, 16));
}

BOOST_AUTO_TEST_CASE(a_memory_budget_and_the_number_of_threads_change_no_bit) {
  const GptConfig config = variants()[1].config;
  const auto run = [&](const SessionOptions& options) {
    ServingModel model(config, options);
    DecodeSlots slots(model.session, model.slots, config, {.slots = 2, .capacity = 16, .chunk = 8});
    const std::int64_t a = slots.add(), b = slots.add();
    slots.prefill(a, TokenIds{3, 1, 4, 1, 5, 9, 2, 6, 5});
    slots.prefill(b, TokenIds{2});
    const Tensor logits = slots.step(std::vector<SlotTokens>{{a, {3}}, {b, {5}}});
    return std::pair(logits, model.session.arena_bytes());
  };
  const auto [expected, arena] = run({.seed = 4, .threads = 1});
  BOOST_TEST(bitwise_equal(run({.seed = 4, .threads = 3}).first, expected));
  // The error for an impossible budget names the smallest possible one.
  std::size_t least = 0;
  try {
    run({.seed = 4, .memory_budget = 1});
  } catch (const ArgumentError& error) {
    constexpr std::string_view kBefore = "and at least ";
    const std::string text = error.what();
    least = std::stoull(text.substr(text.find(kBefore) + kBefore.size()));
  }
  BOOST_TEST(least <= arena);
  const auto [logits, used] = run({.seed = 4, .threads = 2, .memory_budget = least});
  BOOST_TEST(used <= least);
  BOOST_TEST(bitwise_equal(logits, expected));
}

BOOST_AUTO_TEST_CASE(errors_leave_all_slots_unchanged) {
  const GptConfig config = variants()[0].config;
  ServingModel model(config), same(config);
  const DecodeSlotsOptions options{.slots = 3, .capacity = 10, .chunk = 4};
  DecodeSlots slots(model.session, model.slots, config, options);
  DecodeSlots expected(same.session, same.slots, config, options);
  for (DecodeSlots* each : {&slots, &expected}) {
    each->prefill(each->add(), TokenIds{3, 1, 4, 1, 5, 9});
    each->prefill(each->add(), TokenIds{2, 6});
  }
  const auto step = [&](std::vector<SlotTokens> tokens) { return slots.step(tokens); };
  const auto rejects = [](const auto& call, const std::string& message) {
    BOOST_CHECK_EXCEPTION(call(), ArgumentError, says(message));
  };
  rejects([&] { slots.prefill(0, TokenIds(5, 1)); },
          "slot 0 has 6 tokens, and 5 more exceed its capacity of 10: drop the slot, or construct "
          "DecodeSlots with a larger capacity");
  rejects([&] { slots.prefill(0, {}); }, "slot 0: there are no ids to process");
  rejects([&] { slots.prefill(2, TokenIds{1}); }, "slot 2 is not in use");
  rejects([&] { slots.prefill(3, TokenIds{1}); }, "slot 3 does not exist: the slots are 0 to 2");
  rejects([&] { slots.drop(-1); }, "slot -1 does not exist");
  rejects([&] { slots.length(2); }, "slot 2 is not in use: use a slot that add() returned");
  rejects([&] { step({}); }, "a step needs at least one slot");
  rejects([&] { step({{0, {1}}, {1, {1}}, {0, {2}}}); }, "slot 0 occurs twice in a step");
  rejects([&] { step({{0, {1}}, {2, {1}}}); }, "slot 2 is not in use");
  rejects([&] { slots.truncate(1, 3); }, "slot 1 has 2 tokens: its first 3 cannot be kept");
  rejects([&] { slots.copy(1, 3); }, "slot 1 has 2 tokens: its first 3 cannot be copied");
  rejects([&] { step({{0, {}}}); }, "slot 0: there are no ids to process");
  rejects(
      [&] {
        step({{0, {1, 2}, 3}});
      },
      "slot 0: wanted is 3: it must be from 0 to 2, the number of new ids");
  BOOST_CHECK_THROW(step({{0, {1}}, {1, {23}}}), DataError);
  // The first chunk is valid, the second one is not.
  BOOST_CHECK_THROW(slots.prefill(1, TokenIds{1, 2, 3, 4, 99}), DataError);
  // Data that DecodeSlots itself would not feed.
  const Tensor keys = model.session.value("slots.h.0.keys");
  const auto run = [&](TokenIds blocks, TokenIds positions) {
    const auto i64 = [](const TokenIds& ids) {
      return Tensor::of<std::int64_t>({std::ssize(ids)}, ids);
    };
    model.session.run(model.slots,
                      {{"tokens", Tensor::full(DType::i64, {2, 1}, 1)},
                       {"slot_blocks", i64(blocks).reshape({2, 1})},
                       {"slot_positions", i64(positions)},
                       {"slot_counts", i64({1, 1})},
                       {"slot_wanted", i64({1})},
                       {"slot_lengths", i64({1, 1})}},
                      {.dims = {{"cache_blocks", 3}, {"cache_block", 32}}});
  };
  BOOST_CHECK_EXCEPTION(run({0, 3}, {1, 1}), DataError, says("rows[1, 0] is 3, but x has 3 rows"));
  BOOST_CHECK_EXCEPTION(run({1, 1}, {4, 4}), DataError, says("are both 1"));
  BOOST_CHECK_EXCEPTION(run({0, 1}, {1, -1}), DataError, says("-1"));
  BOOST_TEST(bitwise_equal(model.session.value("slots.h.0.keys"), keys));
  const Tensor now = step({{1, {7}}, {0, {8}}});
  BOOST_TEST(bitwise_equal(now, expected.step(std::vector<SlotTokens>{{1, {7}}, {0, {8}}})));

  BOOST_TEST(slots.add() == 2);
  rejects([&] { slots.add(); },
          "all 3 slots are in use: drop one, or construct DecodeSlots with more slots");
  rejects([&] { slots.copy(0, 1); }, "all 3 slots are in use");
  slots.drop(0);
  BOOST_TEST(slots.free_slots() == 1);
  BOOST_TEST(slots.add() == 0);
  BOOST_TEST(slots.length(0) == 0);
}

BOOST_AUTO_TEST_CASE(invalid_options_and_programs_are_rejected) {
  const GptConfig config = variants()[0].config;
  ServingModel model(config);
  const auto rejects = [&](const DecodeSlotsOptions& options, const std::string& message) {
    BOOST_CHECK_EXCEPTION(DecodeSlots(model.session, model.slots, config, options), ArgumentError,
                          says(message));
  };
  rejects({.slots = 0}, "slots is 0: it must be from 1 to 4096");
  rejects({.slots = 5000}, "slots is 5000: it must be from 1 to 4096");
  rejects({.capacity = -1}, "capacity is -1: it must be positive, or 0 for the context");
  rejects({.capacity = 17}, "capacity is 17: it must be at most 16, the number of positions");
  rejects({.chunk = 0}, "chunk is 0: it must be positive");
  rejects({.block = 0}, "block is 0: it must be positive");
  rejects({.block = 5, .blocks = 3},
          "blocks is 3: it must be at least 4, for a text of 16 tokens in blocks of 5, or 0");
  BOOST_CHECK_EXCEPTION(DecodeSlots(model.session, model.decode, config), ArgumentError,
                        says("the program 'decode' has no input 'slot_blocks': use a program of "
                             "Gpt::slots_program"));
  BOOST_TEST(DecodeSlots(model.session, model.slots, config).options().capacity == 16);
  BOOST_CHECK_EXCEPTION(model.gpt.slots_program(model.tokens), GraphError,
                        says("already has an incremental program"));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
