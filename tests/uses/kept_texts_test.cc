// Continuing texts over several turns from cached keys and values.
#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/gpt.h"
#include "weft/models/generate/generator.h"
#include "weft/tests/models/gpt_variants.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(kept_texts)
namespace {

using Sequences = std::vector<TokenIds>;

using testing::says;

struct Decoder {
  explicit Decoder(const GptConfig& config)
      : gpt(Scope(graph), config),
        decode(gpt.decode_program(graph.input("tokens", DType::i64, {"rows", "new"}))),
        session(graph, {.seed = 4, .threads = 2, .poison = true}),
        generator(session, decode, config) {}

  Sequences operator()(const Sequences& prompts, const GenerationOptions& options) {
    return generator.generate(prompts, options).run().sequences;
  }
  /// Reuses the cached keys and values of the previous prompt.
  Generation continue_text(const TokenIds& prompt, GenerationOptions options) {
    options.reuse_caches = true;
    return generator.generate({prompt}, options);
  }

  Graph graph;
  Gpt gpt;
  Program decode;
  Session session;
  Generator generator;
};

const Sequences kPrompts = {{3, 1, 4, 1, 5}, {9}, {2, 6, 5}};

BOOST_AUTO_TEST_CASE(continuation_matches_recomputation) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Decoder kept(variant.config), fresh(variant.config);
      TokenIds text = {3, 1};
      const GenerationOptions options{.max_new = 2, .repetition_penalty = 1.3};
      for (std::int64_t turn = 0; turn < 3; ++turn) {
        const TokenIds said = kept.continue_text(text, options).run().sequences.front();
        BOOST_TEST((said == fresh({text}, options).front()));
        // All ids of the previous turn are reused except the last one, which was never an input of
        // the model.
        BOOST_TEST(kept.generator.reused() == (turn == 0 ? 0 : std::ssize(text) - 3));
        text = said;
        text.insert(text.end(), {(7 * turn + 2) % 23, 8});
      }
      // Replace the last turn by a different one, then start a different conversation.
      text[text.size() - 4] = 22;
      BOOST_TEST((kept.continue_text(text, options).run().sequences == fresh({text}, options)));
      BOOST_TEST(kept.generator.reused() == std::ssize(text) - 4);
      BOOST_TEST((kept.continue_text({9, 9}, options).run().sequences == fresh({{9, 9}}, options)));
      BOOST_TEST(kept.generator.reused() == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_cache_stays_valid_after_growth_cancellation_and_other_calls) {
  GptConfig config = variants()[1].config;
  BOOST_TEST_REQUIRE((config.positions == GptPositions::rotary));
  config.context = 4096;
  Decoder kept(config), fresh(config);
  TokenIds text;
  for (std::int64_t i = 0; i < 250; ++i) text.push_back((i * i + 3 * i) % 23);
  const GenerationOptions options{.max_new = 5};
  const auto agree = [&] {
    const Sequences said = kept.continue_text(text, options).run().sequences;
    BOOST_TEST((said == fresh({text}, options)));
    text = said.front();
  };
  agree();
  text.push_back(4);
  agree();  // exceeds the capacity of 256, so a larger cache is computed from scratch
  BOOST_TEST(kept.generator.reused() == 0);
  text.push_back(5);
  agree();
  BOOST_TEST(kept.generator.reused() == std::ssize(text) - 7);
  // Generation is cancelled after two ids.
  {
    Generation cancelled = kept.continue_text(text, options);
    for (int i = 0; i < 2; ++i) BOOST_TEST(cancelled.next().has_value());
    BOOST_TEST(cancelled.stop(0));
    BOOST_TEST(std::ssize(cancelled.run().sequences.front()) == std::ssize(text) + 2);
  }
  agree();
  BOOST_TEST(kept.generator.reused() == std::ssize(text) - 6);
  // Neither failed calls nor an intervening batch changes the results.
  BOOST_CHECK_THROW(kept.continue_text({}, options), ArgumentError);
  BOOST_CHECK_THROW(kept.continue_text(text, {.max_length = 3}), ArgumentError);
  BOOST_CHECK_EXCEPTION(kept.continue_text(text, {.beams = 2}), ArgumentError,
                        says("beams and results must be 1"));
  BOOST_CHECK_THROW(kept.continue_text({1, 99}, options).run(), DataError);
  agree();
  BOOST_TEST((kept(kPrompts, options) == fresh(kPrompts, options)));
  agree();
  BOOST_TEST(kept.generator.reused() == 0);
}

BOOST_AUTO_TEST_CASE(continued_texts_support_sliding_windows) {
  Decoder kept(variants().front().config), fresh(variants().front().config);
  const GenerationOptions options{.max_new = 9, .slide = true};
  TokenIds text = {3, 1, 4};
  for (int turn = 0; turn < 4; ++turn) {
    const TokenIds said = kept.continue_text(text, options).run().sequences.front();
    BOOST_TEST((said == fresh({text}, options).front()));
    text = said;
  }
  // The first ids of a prompt that exceeds the window are dropped, even if the caches contain them.
  static_cast<void>(kept.continue_text({3, 1, 4}, {.max_new = 1, .slide = true}).run());
  text.resize(20);
  const GenerationOptions one{.max_new = 1, .slide = true};
  BOOST_TEST((kept.continue_text(text, one).run().sequences == fresh({text}, one)));
  BOOST_TEST(kept.generator.reused() == 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
