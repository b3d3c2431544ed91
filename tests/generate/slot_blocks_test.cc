// Blocks of key and value caches: texts that share them, copy them before they write, find them
// after other texts have been dropped, and run out of them.
#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/generate/block_pool.h"
#include "weft/models/generate/slots.h"
#include "weft/tests/generate/serving_model.h"
#include "weft/tests/models/gpt_variants.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(slot_blocks)
namespace {

using testing::says;
using testing::ServingModel;

/// A decoder without learned positions, and a text of 40 ids.
struct Fixture {
  GptConfig config = [] {
    GptConfig made = variants()[1].config;
    made.context = 64;
    return made;
  }();
  ServingModel model{config, {.seed = 4, .threads = 2, .batch_invariant = true, .poison = true}};
  TokenIds text = [] {
    TokenIds ids;
    for (std::int64_t i = 0; i < 40; ++i) ids.push_back((i * i + 3) % 23);
    return ids;
  }();

  std::span<const std::int64_t> first(std::size_t count) const {
    return std::span(text).first(count);
  }
  /// Returns the logits after `ids`, computed alone.
  Tensor alone(std::span<const std::int64_t> ids) {
    Session session(model.graph, model.store, {.threads = 1, .batch_invariant = true});
    DecodeSlots slots(session, model.slots, config, {.slots = 1, .reuse_prefixes = false});
    return slots.prefill(slots.add(), ids);
  }
};

Tensor step(DecodeSlots& slots, std::vector<SlotTokens> tokens) { return slots.step(tokens); }

BOOST_AUTO_TEST_CASE(blocks_are_counted_indexed_and_evicted_least_recently_used_first) {
  BlockPool pool(3);
  const std::int64_t a = pool.take(), b = pool.take();
  BOOST_TEST(pool.available() == 1);
  const BlockPool::Entry first = pool.insert(BlockPool::kBeginning, {1, 2}, a);
  const BlockPool::Entry second = pool.insert(first.place, {3, 4}, b);
  BOOST_TEST((first.block == a && second.block == b && first.place != second.place));
  // The ids and the place before them must be equal.
  BOOST_TEST(pool.find(BlockPool::kBeginning, {1, 2})->block == a);
  BOOST_TEST(pool.find(first.place, {3, 4})->block == b);
  BOOST_TEST(!pool.find(BlockPool::kBeginning, {3, 4}).has_value());
  BOOST_TEST(!pool.find(first.place, {3, 5}).has_value());
  const std::int64_t c = pool.take();
  BOOST_TEST(pool.insert(first.place, {3, 4}, c).block == b);  // already there
  BOOST_CHECK_EXCEPTION(pool.take(), StateError, says("no block of the caches is free"));
  pool.share(a);
  BOOST_TEST(pool.is_shared(a));
  pool.release(b);
  pool.release(a);
  BOOST_TEST(pool.available() == 1);
  pool.release(a);
  BOOST_TEST(pool.available() == 2);
  pool.share(b);  // found again, and therefore used later than a
  pool.release(b);
  BOOST_TEST(pool.take() == a);
  BOOST_TEST(!pool.find(BlockPool::kBeginning, {1, 2}).has_value());
  BOOST_TEST(pool.find(first.place, {3, 4})->block == b);
  pool.share(b);
  pool.forget(b);
  BOOST_TEST(!pool.find(first.place, {3, 4}).has_value());
  pool.release(b);
  BOOST_TEST(pool.take() == b);
}

BOOST_FIXTURE_TEST_CASE(prefixes_of_running_and_dropped_texts_are_reused_bit_for_bit, Fixture) {
  DecodeSlots slots(model.session, model.slots, config, {.slots = 3, .block = 8});
  BOOST_TEST(slots.options().blocks == 24);
  const auto begin = [&](std::span<const std::int64_t> prompt, std::int64_t adapter = 0) {
    const auto [slot, reused] = slots.add(prompt, adapter);
    BOOST_TEST(slots.length(slot) == reused);
    const Tensor logits = slots.prefill(slot, prompt.subspan(static_cast<std::size_t>(reused)));
    if (adapter == 0) BOOST_TEST(bitwise_equal(logits, alone(prompt)));
    return std::pair(slot, reused);
  };
  const auto [a, none] = begin(first(20));
  BOOST_TEST(none == 0);
  BOOST_TEST(slots.free_blocks() == 21);
  const auto [b, shared] = begin(first(20));  // while the other text runs
  BOOST_TEST(shared == 16);
  BOOST_TEST(slots.free_blocks() == 20);
  const auto [c, other] = begin(first(20), 1);  // another adapter
  BOOST_TEST(other == 0);
  slots.drop(c);
  for (std::size_t i = 20; i < 33; ++i) step(slots, {{b, {text[i]}}, {a, {22 - text[i]}}});
  slots.drop(a);
  slots.drop(b);
  BOOST_TEST(slots.free_blocks() == 24);
  const auto [d, most] = begin(first(33));
  BOOST_TEST(most == 32);
  slots.drop(d);
  BOOST_TEST(slots.add(first(32)).reused == 24);  // the last id is always computed
  TokenIds changed = text;
  changed[9] = 22 - changed[9];
  BOOST_TEST(slots.add(changed).reused == 8);
  DecodeSlots forgetful(model.session, model.slots, config,
                        {.slots = 2, .block = 8, .reuse_prefixes = false});
  forgetful.prefill(forgetful.add(), first(20));
  BOOST_TEST(forgetful.add(first(20)).reused == 0);
}

BOOST_FIXTURE_TEST_CASE(texts_copy_shared_blocks_before_they_append, Fixture) {
  DecodeSlots slots(model.session, model.slots, config, {.slots = 3, .block = 8, .blocks = 8});
  const std::int64_t a = slots.add();
  slots.prefill(a, first(20));
  const std::int64_t b = slots.copy(a, 18);
  BOOST_TEST(slots.free_blocks() == 5);
  BOOST_TEST(slots.blocks_needed(a, 1) == 1);
  BOOST_TEST(slots.blocks_needed(a, 5) == 2);
  BOOST_TEST(slots.blocks_needed(a, 0) == 0);
  TokenIds other(text.begin(), text.begin() + 18);
  other.push_back(11);
  BOOST_TEST(bitwise_equal(step(slots, {{b, {11}}}), alone(other)));
  BOOST_TEST(slots.free_blocks() == 4);
  BOOST_TEST(slots.blocks_needed(a, 1) == 0);
  BOOST_TEST(bitwise_equal(step(slots, {{a, {text[20]}}}), alone(first(21))));
  // An indexed block that is overwritten is no longer found with its old ids.
  slots.truncate(a, 12);
  step(slots, {{a, {11}}});
  slots.drop(a);
  slots.drop(b);
  BOOST_TEST(slots.add(first(20)).reused == 16);  // of the copy
  slots.truncate(0, 12);
  step(slots, {{0, {11}}});
  BOOST_TEST(slots.add(first(20)).reused == 8);
}

BOOST_FIXTURE_TEST_CASE(texts_without_free_blocks_are_unchanged, Fixture) {
  DecodeSlots slots(model.session, model.slots, config, {.slots = 3, .block = 8, .blocks = 8});
  const std::int64_t a = slots.add(), b = slots.add();
  slots.prefill(a, first(31));
  slots.prefill(b, std::span(text).subspan(8, 31));
  BOOST_TEST(slots.free_blocks() == 0);
  step(slots, {{a, {text[31]}}, {b, {text[39]}}});
  const auto both = [&] { step(slots, {{b, {1}, 0}, {a, {text[32], text[33]}, 2}}); };
  BOOST_CHECK_EXCEPTION(
      both(), CacheFullError,
      says("the texts need 2 more blocks of the caches, but only 0 of 8 are free: "
           "drop a text, or construct DecodeSlots with more blocks"));
  BOOST_CHECK_THROW(slots.prefill(slots.add(), first(3)), CacheFullError);
  BOOST_TEST(slots.length(a) == 32);
  slots.drop(b);
  BOOST_TEST(slots.free_blocks() == 4);
  slots.truncate(2, 0);
  const Tensor logits = step(slots, {{2, {7}, 0}, {a, {text[32], text[33]}, 2}});
  BOOST_TEST((logits.sizes() == Sizes{2, 23}));
  const auto row = [&](std::int64_t i) {
    return Tensor::of<float>({1, 23},
                             logits.span<float>().subspan(static_cast<std::size_t>(i) * 23, 23));
  };
  BOOST_TEST(bitwise_equal(row(0), alone(first(33))));
  BOOST_TEST(bitwise_equal(row(1), alone(first(34))));
  const Tensor nothing = step(slots, {{2, {7, 8, 9}, 0}});
  BOOST_TEST((nothing.sizes() == Sizes{0, 23}));
}

BOOST_FIXTURE_TEST_CASE(keys_that_depend_on_the_length_of_a_text_are_not_reused, Fixture) {
  config.rotary_scaling = RotaryScalingKind::dynamic;
  config.rotary_factor = 2;
  config.rotary_context = 24;
  ServingModel scaled(config);
  DecodeSlots slots(scaled.session, scaled.slots, config, {.slots = 4, .block = 8});
  slots.prefill(slots.add(), first(24));
  BOOST_TEST(slots.add(first(24)).reused == 16);
  BOOST_TEST(slots.add(first(25)).reused == 0);
  slots.drop(2);
  slots.truncate(0, 0);
  TokenIds other(text.rbegin(), text.rend());
  slots.prefill(0, std::span(other).first(16), 30);  // the beginning of a longer prompt
  BOOST_TEST(slots.add(std::span(other).first(20)).reused == 0);
}

BOOST_FIXTURE_TEST_CASE(the_bytes_of_blocks_are_those_of_the_caches, Fixture) {
  // 2 layers, keys and values of 2 heads with 6 numbers per token.
  const std::int64_t numbers = 2 * 2 * config.key_heads() * 6;
  BOOST_TEST(config.head_size() == 6);
  BOOST_TEST(cache_bytes(model.slots, 8, 3) == numbers * 8 * 3 * 4);
  model.session.initialise();
  for (const auto& [format, bytes] : std::vector<std::pair<CacheFormat, std::int64_t>>{
           {CacheFormat::bf16, 12}, {CacheFormat::int8, 10}}) {
    const QuantizedModel narrow =
        quantize({model.slots}, *model.store, {.weights = WeightFormat::bf16, .caches = format});
    BOOST_TEST(cache_bytes(narrow.programs[0], 8, 3) == numbers / 6 * bytes * 8 * 3);
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
