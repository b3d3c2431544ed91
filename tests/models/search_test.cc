// Greedy and beam search over models that are tables.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/models/generate/seq2seq.h"

namespace weft {
namespace {

auto says(const std::string& part) {
  return [part](const std::exception& e) {
    BOOST_TEST_INFO(e.what());
    BOOST_TEST(std::string(e.what()).find(part) != std::string::npos);
    return true;
  };
}

// Probabilities of ids 0 (end), 1, 2, 3 after each id: 1 is likelier first, 2 leads farther.
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
const Tensor kStart = Tensor::of<std::int64_t>({1, 1}, {0});

BOOST_AUTO_TEST_CASE(beams_find_what_greed_misses) {
  SearchOptions o{.max_length = 6, .eos_id = 0, .pad_id = 9};
  BOOST_TEST((search(table(), kStart, o).sequences == Sequences{{0, 1, 0}}));
  o.beams = 3;
  o.results = 2;
  o.length_penalty = 0;
  const SearchResult best = search(table(), kStart, o);
  BOOST_TEST((best.sequences.front() == std::vector<std::int64_t>{0, 2, 3, 0}));
  BOOST_TEST(std::abs(best.scores.front() - std::log(0.4 * 0.9 * 0.9)) < 1e-6);
  BOOST_TEST(best.scores[0] >= best.scores[1]);
}

BOOST_AUTO_TEST_CASE(lengths_repetitions_and_ids_can_be_ruled) {
  SearchOptions o{.max_length = 5, .min_length = 3, .eos_id = 0};
  BOOST_TEST((search(table(), kStart, o).sequences == Sequences{{0, 1, 1, 0}}));
  o.no_repeat_ngram = 1;
  o.min_length = 4;
  BOOST_TEST((search(table(), kStart, o).sequences.front().size() == 5U));
  o = {.max_length = 4, .eos_id = 0, .forced_eos_id = 0, .forced_bos_id = 3};
  o.min_length = 4;
  BOOST_TEST((search(table(), kStart, o).sequences == Sequences{{0, 3, 1, 0}}));
  o = {.beams = 2, .max_length = 4, .eos_id = 0, .never = {2}};
  BOOST_TEST((search(table(), kStart, {.max_length = 3, .eos_id = 0, .forbidden = {1}}).sequences ==
              Sequences{{0, 2, 3}}));
  const SearchResult without = search(table(), kStart, o);
  for (const std::int64_t id : without.sequences.front()) BOOST_TEST(id != 2);
}

BOOST_AUTO_TEST_CASE(searches_refuse_what_makes_no_sense) {
  const auto refuses = [](const SearchOptions& o, const std::string& message) {
    BOOST_CHECK_EXCEPTION(search(table(), kStart, o), ArgumentError, says(message));
  };
  refuses({.beams = 0}, "beams must be at least 1, not 0");
  refuses({.beams = 2, .results = 3}, "results must be at most beams, 2, not 3");
  refuses({.max_length = 0}, "max_length must be at least 1, not 0");
  refuses({.eos_id = 4}, "the id 4 is outside the vocabulary of 4");
  refuses({.beams = 2, .length_penalty = HUGE_VAL}, "length_penalty must be finite");
  BOOST_CHECK_EXCEPTION(search(table(), Tensor::of<std::int64_t>({1}, {0}), {}), ShapeError,
                        says("starts must be i64 [prompts, length]"));
  const DecodeStep wrong = [](const Tensor&, std::int64_t, const Tensor&) {
    return Tensor::full(DType::f32, {2, 4}, 0);
  };
  BOOST_CHECK_EXCEPTION(search(wrong, kStart, {}), ShapeError, says("must give f32[1, vocab]"));
}

BOOST_AUTO_TEST_CASE(prompts_and_masks_must_fit) {
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
  BOOST_CHECK_EXCEPTION(generate(session, programs, ids, mask, 0, {}), ShapeError,
                        says("not i64[2, 3] and i64[2, 2]"));
  const SearchResult result = generate(session, programs, ids, ids, 0, {.max_length = 5});
  BOOST_TEST(result.sequences.size() == 2U);
  BOOST_TEST((result.sequences[0] == result.sequences[1]));
}

}  // namespace
}  // namespace weft
