// Runs the code on docs/serving/batching.md.
#include <boost/test/unit_test.hpp>

#include "weft/graph/run/session.h"
#include "weft/models/families/gpt.h"
#include "weft/models/generate/generator.h"

namespace weft {

BOOST_AUTO_TEST_SUITE(serving_page)

BOOST_AUTO_TEST_CASE(requests_and_slots_run_as_on_the_page) {
  GptConfig config = GptConfig::llama();
  config.vocab = 23;
  config.layers = 1;
  config.heads = 2;
  config.width = 16;
  config.context = 64;

  Graph g;
  const Gpt gpt(Scope(g), config);
  const Value tokens = g.input("tokens", DType::i64, {"rows", "new"});
  const Program slots = gpt.slots_program(tokens);
  Session session(g, {.seed = 1});

  BatchGenerator batch(session, slots, config, {.slots = 4, .capacity = 64, .chunk = 16});
  GenerationOptions sampled{.max_new = 8};
  sampled.sampling = SamplingOptions{.temperature = 0.8, .top_p = 0.9, .seed = 7};
  batch.add({3, 1, 4, 1, 5}, {.max_new = 10});
  const std::int64_t second = batch.add({9, 2}, sampled);
  while (const auto token = batch.next()) {
    if (token->request == second && token->finish)
      batch.add({6, 5}, {.max_new = 3});  // at any time
  }
  BOOST_TEST(batch.waiting() == 0);

  DecodeSlots caches(session, slots, config, {.slots = 4, .capacity = 64});
  const TokenIds system = {3, 1, 4, 1, 5, 9};
  const std::int64_t first = caches.add();
  Tensor logits = caches.prefill(first, system);     // [1, vocab]
  const std::int64_t other = caches.copy(first, 6);  // a shared beginning
  logits = caches.step(std::vector<SlotTokens>{      // [3, vocab]: the logits after 2, 7 and 1
                                               {.slot = first, .ids = {2}},
                                               {.slot = other, .ids = {7, 1}, .wanted = 2}});
  caches.truncate(other, 7);  // removes the last id
  caches.drop(first);
  const AddedSlot again = caches.add(system);  // finds blocks of earlier texts
  logits = caches.prefill(again.slot, std::span(system).subspan(again.reused));
  BOOST_TEST((logits.sizes() == Sizes{1, 23}));
  BOOST_TEST(caches.length(other) == 7);
  BOOST_TEST(again.reused == 0);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
