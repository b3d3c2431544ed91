// Log-probabilities of continuations: a single forward pass gives the same results as cached
// decoding.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/models/generate/generator.h"
#include "weft/models/generate/score.h"
#include "weft/models/generate/seq2seq.h"
#include "weft/models/generate/window_caches.h"
#include "weft/tests/models/encoder_decoder_kinds.h"
#include "weft/tests/models/gpt_variants.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(scoring)
namespace {

const std::vector<TokenIds> kPrompts = {{3, 1, 4, 1, 5}, {9}, {2, 6, 5}};
const std::vector<TokenIds> kContinuations = {{8, 9, 7}, {9, 3, 2, 3, 8, 4, 6}, {2}};

using testing::says;

/// Checks the total and the perplexity. Returns the largest difference between the
/// log-probabilities, relative to the larger of 1 and their largest magnitude.
double check_against(const ContinuationScore& score, const std::vector<double>& expected) {
  BOOST_TEST_REQUIRE(score.log_probabilities.size() == expected.size());
  double most = 0, total = 0, scale = 1;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    most = std::max(most, std::abs(score.log_probabilities[i] - expected[i]));
    total += expected[i];
    scale = std::max(scale, std::abs(expected[i]));
  }
  BOOST_TEST(std::abs(score.total() - total) < 1e-4);
  BOOST_TEST(
      std::abs(score.perplexity() - std::exp(-total / static_cast<double>(expected.size()))) <
      1e-4 * score.perplexity());
  return most / scale;
}

double log_probability(const Tensor& logits, std::int64_t id) {
  double sum = 0;
  for (std::int64_t v = 0; v < logits.size(1); ++v) sum += std::exp(logits.at(v));
  return logits.at(id) - std::log(sum);
}

BOOST_AUTO_TEST_CASE(decoder_scores_match_cached_decoding) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Graph graph;
      const Gpt gpt(Scope(graph), variant.config);
      const Value tokens = graph.input("tokens", DType::i64, {"rows", "new"});
      const Value targets = graph.input("targets", DType::i64, {"rows", "new"});
      const Program program = make_score_program(gpt, tokens, targets);
      const Program decode = gpt.decode_program(tokens);
      Session session(graph, {.seed = 4, .threads = 2, .poison = true});
      const auto scores = score(session, program, variant.config, kPrompts, kContinuations);
      const auto cached =
          Generator(session, decode, variant.config).score(kPrompts, kContinuations);
      for (std::size_t p = 0; p < kPrompts.size(); ++p) {
        BOOST_TEST(check_against(cached[p], scores[p].log_probabilities) < 1e-5);
        session.reset_caches();
        WindowCaches caches(graph, variant.config);
        caches.resize(16, 16);
        std::vector<double> expected;
        TokenIds added = kPrompts[p];
        std::int64_t position = 0;
        for (const std::int64_t id : kContinuations[p]) {
          const auto count = static_cast<std::int64_t>(added.size());
          TokenIds positions;
          for (std::int64_t i = 0; i < count; ++i) positions.push_back(position + i);
          const Tensor logits = session.run(decode,
                                            {{"tokens", Tensor::of({1, count}, added)},
                                             {"position", Tensor::of<std::int64_t>({}, {position})},
                                             {"positions", Tensor::of({1, count}, positions)},
                                             {"visible", Tensor::full(DType::boolean, {1, 16}, 1)}},
                                            {.dims = caches.sizes()})["logits"];
          expected.push_back(log_probability(logits, id));
          position += count;
          added = {id};
        }
        BOOST_TEST(check_against(scores[p], expected) < 1e-5);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(encoder_decoder_scores_match_cached_decoding) {
  for (const EncoderDecoderConfig& config : kinds()) {
    Graph graph;
    const EncoderDecoder net(Scope(graph, "net"), config);
    const Seq2SeqPrograms programs = make_seq2seq_programs(net);
    const Program program = make_score_program(net);
    Session session(graph, {.seed = 6, .threads = 2, .poison = true});
    for (const TokenIds& start : {TokenIds{0}, TokenIds{0, 4, 2}}) {
      const auto scores = score(session, program, start, kPrompts, kContinuations);
      for (std::size_t p = 0; p < kPrompts.size(); ++p) {
        session.reset_caches();
        const DimValues sizes = {{"capacity", 12}};
        const auto length = static_cast<std::int64_t>(kPrompts[p].size());
        session.run(programs.prompt,
                    {{"prompt_ids", Tensor::of({1, length}, kPrompts[p])},
                     {"prompt_mask", Tensor::full(DType::i64, {1, length}, 1)},
                     {"prompt_of_row", Tensor::of<std::int64_t>({1}, {0})}},
                    {.dims = sizes});
        std::vector<double> expected;
        TokenIds added = start;
        std::int64_t position = 0;
        for (const std::int64_t id : kContinuations[p]) {
          const auto count = static_cast<std::int64_t>(added.size());
          const Tensor logits =
              session.run(programs.step,
                          {{"tokens", Tensor::of({1, count}, added)},
                           {"position", Tensor::of<std::int64_t>({}, {position})}},
                          {.dims = sizes})["logits"];
          expected.push_back(log_probability(logits, id));
          position += count;
          added = {id};
        }
        BOOST_TEST(check_against(scores[p], expected) < 1e-5);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(scores_match_beam_search_scores) {
  const GptConfig config = variants()[1].config;
  Graph graph;
  const Gpt gpt(Scope(graph), config);
  const Value tokens = graph.input("tokens", DType::i64, {"rows", "new"});
  const Program program =
      make_score_program(gpt, tokens, graph.input("targets", DType::i64, {"rows", "new"}));
  const Program decode = gpt.decode_program(tokens);
  Session session(graph, {.seed = 4});
  Generator generator(session, decode, config);
  const SearchResult found =
      generator.generate(kPrompts, {.beams = 4, .max_new = 6, .length_penalty = 0}).run();
  std::vector<TokenIds> continuations;
  for (std::size_t p = 0; p < kPrompts.size(); ++p)
    continuations.emplace_back(found.sequences[p].begin() + static_cast<long>(kPrompts[p].size()),
                               found.sequences[p].end());
  const auto scores = score(session, program, config, kPrompts, continuations);
  for (std::size_t p = 0; p < kPrompts.size(); ++p)
    BOOST_TEST(std::abs(scores[p].total() - found.scores[p]) < 1e-4);
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_prompts_and_continuations) {
  const GptConfig config = variants()[0].config;
  Graph graph;
  const Gpt gpt(Scope(graph), config);
  const Value tokens = graph.input("tokens", DType::i64, {"rows", "new"});
  const Program program =
      make_score_program(gpt, tokens, graph.input("targets", DType::i64, {"rows", "new"}));
  const Program decode = gpt.decode_program(tokens);
  Session session(graph);
  const auto rejects = [&](const std::vector<TokenIds>& prompts,
                           const std::vector<TokenIds>& continuations, const std::string& message) {
    BOOST_CHECK_EXCEPTION(score(session, program, config, prompts, continuations), ArgumentError,
                          says(message));
  };
  rejects({{1}}, {{2}, {3}}, "there are 1 prompts and 2 continuations");
  rejects({{}}, {{2}}, "prompt 0 is empty: there is nothing to continue");
  rejects({{1}, {1}}, {{2}, {}}, "continuation 1 is empty: there is nothing to score");
  rejects({{1}}, {TokenIds(17, 2)}, "require 17 positions, but the model has 16");
  rejects({}, {}, "there are 0 prompts");
  Generator generator(session, decode, config);
  BOOST_CHECK_EXCEPTION(generator.score({{1}, {1}}, {{2}, {3, 1000}}), DataError,
                        says("id 1000 of continuation 1 is outside the vocabulary"));
  BOOST_CHECK_EXCEPTION(generator.score({{1}}, {{}}), ArgumentError,
                        says("continuation 0 is empty"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
