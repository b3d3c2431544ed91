// Greedy and beam search over models with given probabilities.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/models/generate/seq2seq.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(beam_search)
namespace {

using testing::says;

using DecodeStep =
    std::function<Tensor(const Tensor& tokens, std::int64_t position, const Tensor& parents)>;

struct FunctionModel final : StepModel {
  explicit FunctionModel(DecodeStep function) : decode(std::move(function)) {}
  Tensor step(const Tensor& tokens, std::int64_t position, const Tensor& parents) override {
    return decode(tokens, position, parents);
  }
  DecodeStep decode;
};

SearchResult search(const DecodeStep& step, const SearchStarts& starts,
                    const GenerationOptions& options) {
  FunctionModel model(step);
  return Generation(model, starts, options).run();
}

// Returns a model in which the probabilities of the ids 0 (end), 1, 2 and 3 depend only on the
// previous id. Id 1 is the most likely first id, but the most likely sequence starts with 2.
DecodeStep table() {
  return [](const Tensor& tokens, std::int64_t, const Tensor&) {
    static const float probabilities[4][4] = {{0.1f, 0.5f, 0.4f, 0},
                                              {0.3f, 0.3f, 0.2f, 0.2f},
                                              {0.05f, 0.05f, 0.0f, 0.9f},
                                              {0.9f, 0.05f, 0.05f, 0}};
    const std::int64_t rows = tokens.size(0);
    Tensor logits = Tensor::empty(DType::f32, {rows, 4});
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t last = tokens.data<std::int64_t>()[(r + 1) * tokens.size(1) - 1];
      for (std::int64_t v = 0; v < 4; ++v)
        logits.mutable_data<float>()[r * 4 + v] = std::log(probabilities[last][v]);
    }
    return logits;
  };
}

using Sequences = std::vector<std::vector<std::int64_t>>;
const SearchStarts kStart{{{0}}};

BOOST_AUTO_TEST_CASE(beam_search_finds_more_likely_sequences_than_greedy_search) {
  GenerationOptions o{.max_length = 6, .eos_id = 0, .pad_id = 9};
  BOOST_TEST((search(table(), kStart, o).sequences == Sequences{{0, 1, 0}}));
  o.beams = 3;
  o.results = 2;
  o.length_penalty = 0;
  const SearchResult best = search(table(), kStart, o);
  BOOST_TEST((best.sequences.front() == std::vector<std::int64_t>{0, 2, 3, 0}));
  BOOST_TEST(std::abs(best.scores.front() - std::log(0.4 * 0.9 * 0.9)) < 1e-6);
  BOOST_TEST(best.scores[0] >= best.scores[1]);
}

/// Returns a model whose scores depend on the last two ids. In most cases, they clearly favour one
/// successor.
DecodeStep mixed(std::uint64_t seed, std::int64_t vocab) {
  auto before = std::make_shared<std::vector<std::int64_t>>();
  return [=](const Tensor& tokens, std::int64_t position, const Tensor& parents) {
    const std::int64_t rows = tokens.size(0), added = tokens.size(1);
    std::vector<std::int64_t> last;
    Tensor logits = Tensor::empty(DType::f32, {rows, vocab});
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t* row = tokens.data<std::int64_t>() + r * added;
      const std::int64_t
          one = row[added - 1],
          two = added > 1 ? row[added - 2]
                : position == 0
                    ? 0
                    : (*before)[static_cast<std::size_t>(parents.data<std::int64_t>()[r])];
      last.push_back(one);
      for (std::int64_t v = 0; v < vocab; ++v) {
        std::uint64_t x = seed * 977 + static_cast<std::uint64_t>(one * 31 + two * 7 + v * 131) + 1;
        for (int i = 0; i < 3; ++i) x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        logits.mutable_data<float>()[r * vocab + v] = static_cast<float>(x % 1000) / 100;
      }
    }
    *before = last;
    return logits;
  };
}

BOOST_AUTO_TEST_CASE(ids_shared_by_all_beams_are_reported_early) {
  const SearchStarts starts{{{1, 2}, {3, 4}}};
  std::int64_t early = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    for (const EarlyStopping stopping :
         {EarlyStopping::heuristic, EarlyStopping::first, EarlyStopping::never}) {
      const GenerationOptions options{
          .beams = 3, .max_length = 14, .eos_id = 0, .early_stopping = stopping};
      const SearchResult silent = search(mixed(seed, 9), starts, options);
      Sequences reported = {{1, 2}, {3, 4}};
      std::int64_t steps = 0, at_last = 0;
      const DecodeStep step = mixed(seed, 9);
      const DecodeStep counted = [&](const Tensor& t, std::int64_t p, const Tensor& parents) {
        ++steps;
        return step(t, p, parents);
      };
      std::vector<std::int64_t> reported_at;
      FunctionModel model(counted);
      Generation generation(model, starts, options);
      while (const auto token = generation.next()) {
        reported[static_cast<std::size_t>(token->row)].push_back(token->id);
        reported_at.push_back(steps);
      }
      const SearchResult observed = generation.run();
      BOOST_TEST((observed.sequences == silent.sequences));
      BOOST_TEST(observed.scores == silent.scores, boost::test_tools::per_element());
      BOOST_TEST((reported == silent.sequences));
      at_last = steps;
      early += std::count_if(reported_at.begin(), reported_at.end(),
                             [&](std::int64_t at) { return at < at_last; });
      // If a row is stopped, the result contains only the ids of that row reported so far. Other
      // rows are complete.
      Sequences few = {{1, 2}, {3, 4}};
      FunctionModel again(mixed(seed, 9));
      Generation stopped(again, starts, options);
      while (const auto token = stopped.next()) {
        few[static_cast<std::size_t>(token->row)].push_back(token->id);
        if (few[0].size() == 5) stopped.stop(0);
      }
      const SearchResult cut = stopped.run();
      BOOST_TEST((cut.sequences == few));
      BOOST_TEST((few[1] == silent.sequences[1]));
      BOOST_TEST(few[0].size() == std::min<std::size_t>(5, silent.sequences[0].size()));
    }
  }
  BOOST_TEST(early > 200);
}

BOOST_AUTO_TEST_CASE(rules_restrict_lengths_repetitions_and_ids) {
  GenerationOptions o{.max_length = 5, .min_length = 3, .eos_id = 0};
  BOOST_TEST((search(table(), kStart, o).sequences == Sequences{{0, 1, 1, 0}}));
  o.max_length = 4;
  o.no_repeat_ngram = 1;
  o.min_length = 4;
  BOOST_TEST((search(table(), kStart, o).sequences == Sequences{{0, 1, 2, 3}}));
  o.max_length = 5;
  BOOST_CHECK_EXCEPTION(search(table(), kStart, o), DataError,
                        says("exclude every id in the vocabulary after 4 ids in row 0"));
  o = {.max_length = 4, .eos_id = 0, .forced_eos_id = 0, .forced_bos_id = 3};
  o.min_length = 4;
  BOOST_TEST((search(table(), kStart, o).sequences == Sequences{{0, 3, 1, 0}}));
  o = {.beams = 2, .max_length = 4, .eos_id = 0, .suppressed = {2}};
  BOOST_TEST(
      (search(table(), kStart, {.max_length = 3, .eos_id = 0, .bad_token_ids = {1}}).sequences ==
       Sequences{{0, 2, 3}}));
  const SearchResult without = search(table(), kStart, o);
  for (const std::int64_t id : without.sequences.front()) BOOST_TEST(id != 2);
}

BOOST_AUTO_TEST_CASE(ngrams_of_the_source_are_not_repeated) {
  const SearchStarts start{.ids = {{0}, {0}}, .sources = {{1, 1, 9}, {2}}};
  GenerationOptions o{.max_length = 4, .eos_id = 0, .encoder_no_repeat_ngram = 1};
  BOOST_TEST((search(table(), start, o).sequences == Sequences{{0, 2, 3, 0}, {0, 1, 0}}));
  o.encoder_no_repeat_ngram = 2;
  o.min_length = 3;
  BOOST_TEST((search(table(), start, o).sequences == Sequences{{0, 1, 2, 3}, {0, 1, 1, 0}}));
  o.beams = 2;
  for (const TokenIds& ids : search(table(), start, o).sequences) BOOST_TEST(ids.size() >= 3U);
  BOOST_TEST((search(table(), start, o).sequences[0][1] != 1 ||
              search(table(), start, o).sequences[0][2] != 1));
  // For decoders, the source is the prompt.
  o = {.max_length = 4, .min_length = 4, .eos_id = 0, .encoder_no_repeat_ngram = 2};
  BOOST_TEST((search(table(), {.ids = {{1, 1}}}, o).sequences == Sequences{{1, 1, 2, 3}}));
  BOOST_TEST((search(table(), {.ids = {{0, 1, 1}}, .padding = {1}}, o).sequences[0][2] == 2));
}

BOOST_AUTO_TEST_CASE(sequences_end_at_stop_ids_and_stop_sequences_or_when_the_caller_stops_them) {
  GenerationOptions o{.max_length = 6, .eos_id = 0, .stop_ids = {3}};
  BOOST_TEST((search(table(), SearchStarts{{{2}}}, o).sequences == Sequences{{2, 3}}));
  o = {.max_length = 9, .stop_sequences = {{3, 0}}};
  BOOST_TEST((search(table(), SearchStarts{{{2}}}, o).sequences == Sequences{{2, 3, 0}}));
  // Stop sequences apply to generated ids only, so the sequence 2 3 in the prompt does not end the
  // search.
  o = {.max_length = 4, .stop_sequences = {{2, 3}}};
  BOOST_TEST((search(table(), SearchStarts{{{2, 3}}}, o).sequences.front().size() == 4U));
  o = {.max_length = 9};
  FunctionModel model(table());
  Generation generation(model, SearchStarts{{{2}, {2}}}, o);
  for (std::int64_t ids = 0; const auto token = generation.next();)
    if (token->row == 1 && ++ids == 2) BOOST_TEST(generation.stop(1));
  const auto two = generation.run().sequences;
  BOOST_TEST(two[0].size() == 9U);
  BOOST_TEST((two[1] == TokenIds{2, 3, 0}));
}

BOOST_AUTO_TEST_CASE(every_id_of_every_row_is_reported_immediately) {
  std::vector<std::pair<std::int64_t, std::int64_t>> reported;
  FunctionModel model(table());
  Generation generation(model, SearchStarts{{{2}, {1}}}, {.max_length = 4, .eos_id = 0});
  while (const auto token = generation.next()) {
    reported.emplace_back(token->row, token->id);
    // Row 1 has ended with id 0.
    if (token->row == 1 && token->id == 0) BOOST_TEST(!generation.stop(1));
    if (reported.size() == 3) generation.stop(token->row);
  }
  const SearchResult result = generation.run();
  const decltype(reported) expected = {{0, 3}, {1, 0}, {0, 0}};
  BOOST_TEST((reported == expected));
  BOOST_TEST((result.sequences == Sequences{{2, 3, 0}, {1, 0}}));
}

BOOST_AUTO_TEST_CASE(several_results_of_a_beam_search_are_reported_at_the_end) {
  const GenerationOptions options{.beams = 3, .max_length = 6, .eos_id = 0, .results = 2};
  FunctionModel model(table());
  Generation generation(model, SearchStarts{{{2}, {1}}}, options);
  Sequences reported = {{2}, {2}, {1}, {1}};
  while (const auto token = generation.next()) {
    reported[static_cast<std::size_t>(token->row)].push_back(token->id);
    if (token->row == 3 && reported[3].size() == 2) BOOST_TEST(generation.stop(3));
  }
  const Sequences expected = search(table(), SearchStarts{{{2}, {1}}}, options).sequences;
  for (std::size_t row = 0; row < 3; ++row) BOOST_TEST((reported[row] == expected[row]));
  BOOST_TEST((generation.run().sequences == reported));
  BOOST_TEST(reported[3].size() == 2U);
}

BOOST_AUTO_TEST_CASE(sampling_several_results_per_prompt_is_reproducible) {
  const SearchStarts starts{{{0}, {2}}};
  GenerationOptions o{.max_length = 8, .sampling = SamplingOptions{.seed = 5}, .results = 3};
  const auto a = search(table(), starts, o).sequences;
  BOOST_TEST(a.size() == 6U);
  BOOST_TEST((a[0] != a[1] || a[1] != a[2]));
  for (std::size_t i = 0; i < 6; ++i) BOOST_TEST(a[i].front() == (i < 3 ? 0 : 2));
  BOOST_TEST((search(table(), starts, o).sequences == a));
  o.sampling->seed = 6;
  BOOST_TEST((search(table(), starts, o).sequences != a));
  // Samples follow the given probabilities: 3 follows 2 with a probability of 0.9.
  o = {.max_new = 1, .sampling = SamplingOptions{}, .results = 2000};
  int threes = 0;
  for (const TokenIds& ids : search(table(), SearchStarts{{{2}}}, o).sequences)
    threes += ids.back() == 3 ? 1 : 0;
  BOOST_TEST(std::abs(threes - 1800) < 54);  // 4 standard deviations
}

BOOST_AUTO_TEST_CASE(beam_search_stops_early_as_configured) {
  GenerationOptions o{.beams = 2, .max_length = 8, .eos_id = 0, .results = 2};
  o.length_penalty = 2;
  int steps = 0;
  const DecodeStep counting = [&](const Tensor& tokens, std::int64_t position,
                                  const Tensor& parents) {
    ++steps;
    return table()(tokens, position, parents);
  };
  const auto run = [&](EarlyStopping early) {
    o.early_stopping = early;
    steps = 0;
    const SearchResult result = search(counting, kStart, o);
    BOOST_TEST(result.scores[0] >= result.scores[1]);
    return std::pair(result.scores[0], steps);
  };
  const auto first = run(EarlyStopping::first), heuristic = run(EarlyStopping::heuristic),
             never = run(EarlyStopping::never);
  BOOST_TEST(first.second <= heuristic.second);
  BOOST_TEST(heuristic.second <= never.second);
  BOOST_TEST(first.second < never.second);
  BOOST_TEST(first.first <= never.first);
}

BOOST_AUTO_TEST_CASE(left_padding_does_not_affect_rules_and_length_limits) {
  // Rules and length limits apply to a padded row in the same way as to the row without padding.
  for (const std::int64_t beams : {1, 3}) {
    for (const double penalty : {1.0, 1.7}) {
      GenerationOptions o{.beams = beams, .max_length = 6, .min_length = 4, .eos_id = 0};
      o.repetition_penalty = penalty;
      o.no_repeat_ngram = 3;
      const SearchStarts padded{{{9, 9, 2}, {1, 1, 2}}, {2, 0}};
      const auto both = search(table(), padded, o).sequences;
      BOOST_TEST((both[0] == search(table(), SearchStarts{{{2}}}, o).sequences[0]));
      BOOST_TEST((both[1] == search(table(), SearchStarts{{{1, 1, 2}}}, o).sequences[0]));
    }
  }
}

BOOST_AUTO_TEST_CASE(searches_reject_invalid_options) {
  const auto rejects = [](const GenerationOptions& o, const std::string& message) {
    BOOST_CHECK_EXCEPTION(search(table(), kStart, o), ArgumentError, says(message));
  };
  rejects({.beams = 0}, "beams must be in [1, 4096], not 0");
  rejects({.beams = 2, .results = 3},
          "without sampling, results must not exceed beams (2), but it is 3");
  rejects({.max_length = 0}, "max_length is 0: only a TextGenerator has a default length");
  rejects({.max_length = -1}, "max_length must be in [1, 1099511627776], not -1");
  rejects({.eos_id = 4}, "id 4 is outside the vocabulary (size 4)");
  rejects({.beams = 2, .length_penalty = HUGE_VAL}, "length_penalty must be finite");
  rejects({.beams = 2, .length_penalty = 300}, "length_penalty must be in [-30, 30], not 300");
  rejects({.beams = 2, .length_penalty = -300}, "length_penalty must be in [-30, 30], not -300");
  rejects({.max_new = -2}, "max_new must be in [-1, 1099511627776], not -2");
  rejects({.min_new = -1}, "min_new must be at least 0, not -1");
  rejects({.repetition_penalty = 0}, "repetition_penalty must be positive, not 0");
  rejects({.logit_bias = {{3, std::nan("")}}}, "the logit_bias of id 3 must be finite, not nan");
  rejects({.frequency_penalty = std::nan("")}, "frequency_penalty must be finite, not nan");
  rejects({.presence_penalty = std::nan("")}, "presence_penalty must be finite, not nan");
  rejects({.no_repeat_ngram = -1}, "no_repeat_ngram must be at least 0, not -1");
  rejects({.encoder_no_repeat_ngram = 0}, "encoder_no_repeat_ngram must be at least 1, not 0");
  rejects({.bad_token_sequences = {{}}}, "bad_token_sequences contains an empty sequence");
  rejects({.stop_sequences = {{1}, {}}}, "stop_sequences contains an empty sequence");
  rejects({.beams = 2, .sampling = SamplingOptions{}}, "sampling with 2 beams is not supported");
  rejects({.results = 2}, "without sampling, results must not exceed beams (1), but it is 2");
  rejects({.beams = 2, .stop_sequences = {{1}}}, "stop_texts are not supported with beams");
  rejects({.max_length = 1}, "the prompt has 1 tokens and max_length is 1: there is no room");
  rejects({.max_new = 0}, "the prompt has 1 tokens and max_new is 0: there is no room");
  rejects({.stop_ids = {7}}, "id 7 is outside the vocabulary (size 4)");
  rejects({.stop_texts = {"a"}}, "stop_texts require a tokenizer");
  rejects({.stop_texts = {""}}, "a stop text is empty");
  rejects({.batch = 0}, "batch must be at least 1, not 0");
  const DecodeStep broken = [](const Tensor&, std::int64_t, const Tensor&) {
    return Tensor::full(DType::f32, {1, 4}, std::nan(""));
  };
  BOOST_CHECK_EXCEPTION(search(broken, kStart, {}), DataError, says("logits are not finite"));
  BOOST_CHECK_EXCEPTION(search(table(), SearchStarts{}, {}), ArgumentError,
                        says("starts must not be empty"));
  const DecodeStep wrong = [](const Tensor&, std::int64_t, const Tensor&) {
    return Tensor::full(DType::f32, {2, 4}, 0);
  };
  BOOST_CHECK_EXCEPTION(search(wrong, kStart, {}), ShapeError, says("must return f32[1, vocab]"));
}

BOOST_AUTO_TEST_CASE(prompts_and_masks_must_have_the_same_shape) {
  EncoderDecoderConfig config = EncoderDecoderConfig::t5();
  config.vocab = 8;
  config.width = config.head_size = config.encoder_inner = config.decoder_inner = 4;
  config.encoder_layers = config.decoder_layers = 1;
  Graph graph;
  const EncoderDecoder net(Scope(graph), config);
  const Seq2SeqPrograms programs = make_seq2seq_programs(net);
  Session session(graph);
  const Tensor ids = Tensor::full(DType::i64, {2, 3}, 1),
               mask = Tensor::full(DType::i64, {2, 2}, 1);
  Seq2SeqGenerator generator(session, programs);
  BOOST_CHECK_EXCEPTION(generator.generate(ids, mask, {.start = {0}}), ShapeError,
                        says("not i64[2, 3] and i64[2, 2]"));
  const SearchResult result = generator.generate(ids, ids, {.max_length = 5, .start = {0}}).run();
  BOOST_TEST(result.sequences.size() == 2U);
  BOOST_TEST((result.sequences[0] == result.sequences[1]));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
