// Properties from the literature that must hold for every configuration of an architecture.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "encoder_decoder_kinds.h"
#include "gpt_variants.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_decoder.h"
#include "weft/models/families/gpt.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(claims)
namespace {

double largest(const Tensor& t) {
  double most = 0;
  for (std::int64_t i = 0; i < t.numel(); ++i) most = std::max(most, std::abs(t.at(i)));
  return most;
}

BOOST_AUTO_TEST_CASE(padding_on_either_side_does_not_change_decoder_logits) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Graph g;
      const Gpt model(Scope(g), variant.config);
      const Value ids = g.input("ids", DType::i64, {"batch", "seq"});
      const Value mask = g.input("mask", DType::i64, {"batch", "seq"});
      const Value positions = g.input("positions", DType::i64, {"batch", "seq"});
      const Program alone = Program("alone").output("logits", model({.ids = ids}).logits);
      const Program padded = Program("padded").output(
          "logits", model({.ids = ids, .attention_mask = mask, .position_ids = positions}).logits);
      Session session(g, {.seed = 3, .threads = 2});
      const Tensor text = Tensor::of<std::int64_t>({1, 5}, {4, 9, 2, 11, 7});
      const Tensor expected = session.run(alone, {{"ids", text}})["logits"];
      // The first row is padded on the left, the second on the right.
      const Tensor both = session.run(
          padded, {{"ids", Tensor::of<std::int64_t>({2, 8}, {1, 2, 3, 4, 9, 2, 11, 7,  //
                                                             4, 9, 2, 11, 7, 3, 2, 1})},
                   {"mask", Tensor::of<std::int64_t>(
                                {2, 8}, {0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0})},
                   {"positions", Tensor::of<std::int64_t>({2, 8}, {0, 0, 0, 0, 1, 2, 3, 4, 0, 1, 2,
                                                                   3, 4, 5, 6, 7})}})["logits"];
      const std::int64_t vocab = variant.config.vocab;
      double worst = 0;
      for (std::int64_t i = 0; i < 5 * vocab; ++i) {
        worst = std::max(worst, std::abs(expected.at(i) - both.at(3 * vocab + i)));
        worst = std::max(worst, std::abs(expected.at(i) - both.at(8 * vocab + i)));
      }
      BOOST_TEST(worst < 1e-5 * largest(expected));
    }
  }
}

/// Returns ids in which token t of row b is (first + b + t) modulo `vocab`.
Tensor cycles(std::int64_t batch, std::int64_t seq, std::int64_t vocab, std::int64_t first) {
  Tensor ids = Tensor::empty(DType::i64, {batch, seq});
  for (std::int64_t i = 0; i < ids.numel(); ++i)
    ids.mutable_data<std::int64_t>()[i] = (i / seq + i % seq + first) % vocab;
  return ids;
}

BOOST_AUTO_TEST_CASE(linear_biases_extrapolate_beyond_the_training_length) {
  GptConfig config = variants().front().config;
  config.positions = GptPositions::linear_bias;
  config.vocab = 7;
  config.initializer_range = 0.1;
  Graph g;
  const Gpt model(Scope(g), config);
  const Value ids = g.input("ids", DType::i64, {"batch", "seq"});
  const Value targets = g.input("targets", DType::i64, {"batch", "seq"});
  const Value loss = cross_entropy(model({.ids = ids}).logits, targets);
  const Program evaluate = Program("evaluate").output("loss", loss);
  const Program train = Program("train").update(adamw(loss, g.parameters(), {.lr = 0.01}).updates);
  Session session(g, {.seed = 3, .threads = 2});
  for (int step = 0; step < 60; ++step)
    session.run(train, {{"ids", cycles(7, 12, 7, 0)}, {"targets", cycles(7, 12, 7, 1)}});
  const auto loss_at = [&](std::int64_t length) {
    return session
        .run(evaluate,
             {{"ids", cycles(7, length, 7, 0)}, {"targets", cycles(7, length, 7, 1)}})["loss"]
        .item<float>();
  };
  BOOST_TEST(loss_at(12) < 0.2 * std::log(7));
  BOOST_TEST(loss_at(96) < 0.4 * std::log(7));
}

BOOST_AUTO_TEST_CASE(relative_biases_extrapolate_beyond_the_training_length) {
  EncoderDecoderConfig config = shrink(EncoderDecoderConfig::t5());
  config.dropout = config.attention_dropout = config.activation_dropout = config.final_dropout = 0;
  config.vocab = 9;
  Graph g;
  const EncoderDecoder net(Scope(g, "net"), config);
  const Value ids = g.input("ids", DType::i64, {"batch", "seq"});
  const Value labels = g.input("labels", DType::i64, {"batch", "seq"});
  const Value memory = net.encode(ids, {}).last_hidden_state;
  const Value logits =
      net.logits(net.decode(net.shift_right(labels), {}, memory, {}).last_hidden_state);
  const Value loss = net.loss(logits, labels);
  const Program evaluate = Program("evaluate").output("loss", loss);
  const Program train = Program("train").update(adamw(loss, g.parameters(), {.lr = 0.01}).updates);
  Session session(g, {.seed = 3, .threads = 2});
  // Every row repeats a single token. The target equals the input.
  const auto rows = [](std::int64_t length) {
    Tensor result = Tensor::empty(DType::i64, {7, length});
    for (std::int64_t i = 0; i < result.numel(); ++i)
      result.mutable_data<std::int64_t>()[i] = 2 + i / length;
    return result;
  };
  for (int step = 0; step < 100; ++step)
    session.run(train, {{"ids", rows(8)}, {"labels", rows(8)}});
  const auto loss_at = [&](std::int64_t length) {
    return session.run(evaluate, {{"ids", rows(length)}, {"labels", rows(length)}})["loss"]
        .item<float>();
  };
  BOOST_TEST(loss_at(8) < 0.2 * std::log(9));
  BOOST_TEST(loss_at(64) < 0.4 * std::log(9));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
