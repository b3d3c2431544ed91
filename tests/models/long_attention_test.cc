// Attention for long texts, Longformer's and PEGASUS-X's, in double precision against one softmax
// over all visible keys; gradients, and memory that grows linearly with the length.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "weft/autodiff/check_gradients.h"
#include "weft/core/error.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/encoder.h"
#include "weft/models/families/encoder_decoder.h"
#include "weft/models/layers/attention/block_attention.h"
#include "weft/models/layers/attention/heads.h"
#include "weft/models/layers/attention/longformer_attention.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(long_attention)
namespace {

using testing::says;

constexpr std::int64_t kBatch = 3, kWidth = 6, kHeads = 2;
constexpr double kTolerance = 1e-12;

/// Returns softmax(q k^T / sqrt(size)) v over the keys that `visible` selects; q, k and v are split
/// into heads, and queries without keys yield 0.
Value dense(Value q, Value k, Value v, Value visible) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3).constant()));
  const Value scores = where(visible, matmul(q, k, {.transpose_b = true}) * scale, -1e30);
  const Value any_key = any(visible, {3}, true);
  return join_heads(where(any_key, matmul(softmax(scores, -1), v), 0));
}

double difference(const Tensor& a, const Tensor& b) {
  BOOST_TEST_REQUIRE(a.type_str() == b.type_str());
  double most = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const double d = std::abs(a.at(i) - b.at(i));
    most = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(most, d);
  }
  return most;
}

Tensor of_rows(std::int64_t length, const std::function<bool(std::int64_t, std::int64_t)>& value) {
  std::vector<std::int32_t> flat;
  for (std::int64_t b = 0; b < kBatch; ++b) {
    for (std::int64_t i = 0; i < length; ++i) flat.push_back(value(b, i) ? 1 : 0);
  }
  return Tensor::of<std::int32_t>({kBatch, length}, flat);
}

/// Padding at the end of row 1 and at the beginning of row 2.
bool is_token(std::int64_t length, std::int64_t b, std::int64_t i) {
  if (b == 1) return i < (length + 1) / 2;
  return b != 2 || i >= length / 3;
}

struct Globals {
  std::string name;
  std::function<bool(std::int64_t, std::int64_t)> selected;
};
const std::vector<Globals> kGlobals = {
    {"none", [](std::int64_t, std::int64_t) { return false; }},
    {"first", [](std::int64_t, std::int64_t i) { return i == 0; }},
    {"some", [](std::int64_t b, std::int64_t i) { return b != 0 && i % 4 == b; }},
    {"all", [](std::int64_t, std::int64_t) { return true; }}};

/// Returns the values of a layer with the same weights and global tokens, from whole matrices of
/// scores.
Value dense_longformer(const LongformerAttention& layer, Value x, Value tokens, Value selected) {
  Graph& graph = x.graph();
  const Dim &batch = x.size(0), &length = x.size(1);
  const auto split = [&](const Value& v) { return split_heads(v, kHeads); };
  const auto keys = [&](const Value& v) { return reshape(v, {batch, 1, 1, length}); };
  const Value is_global = logical_and(not_equal(selected, 0), not_equal(tokens, 0));
  const Value near =
      reshape(abs(position_differences(graph, length)) <= static_cast<double>(layer.window / 2),
              {1, 1, length, length});
  const Value seen = logical_and(keys(not_equal(tokens, 0)), logical_or(near, keys(is_global)));
  const Value local =
      dense(split(layer.query(x)), split(layer.key(x)), split(layer.value(x)), seen);
  const Value all = broadcast_to(keys(not_equal(tokens, 0)), {batch, 1, length, length});
  const Value global = dense(split(layer.global_query(x)), split(layer.global_key(x)),
                             split(layer.global_value(x)), all);
  const Value y = where(unsqueeze(is_global, 2), global, local);
  return layer.out(where(unsqueeze(not_equal(tokens, 0), 2), y, 0));
}

BOOST_AUTO_TEST_CASE(windows_with_global_tokens_equal_one_softmax_over_the_visible_keys) {
  for (const std::int64_t length : {1, 2, 7, 70, 131}) {
    for (const std::int64_t window : {2, 6, 300}) {
      for (const Globals& globals : kGlobals) {
        BOOST_TEST_CONTEXT(length << " " << window << " " << globals.name) {
          Graph g;
          const Scope net(g, "net");
          const LongformerAttention layer = make_longformer_attention(
              net, DType::f64, kWidth, {.heads = kHeads, .window = window});
          const Value x = g.input("x", DType::f64, {"batch", "seq", kWidth});
          const Value mask = g.input("mask", DType::i32, {"batch", "seq"});
          const Value selected = g.input("selected", DType::i32, {"batch", "seq"});
          Session session(g, {.seed = 3, .threads = 2});
          const Results found = session.run(
              Program("p")
                  .output("y", layer(x, {.mask = mask, .global_mask = selected}))
                  .output("expected", dense_longformer(layer, x, mask, selected)),
              {{"x", normal_tensor({kBatch, length, kWidth}, 7, DType::f64)},
               {"mask", of_rows(length, [&](auto b, auto i) { return is_token(length, b, i); })},
               {"selected", of_rows(length, globals.selected)}});
          BOOST_TEST(difference(found["y"], found["expected"]) < kTolerance);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(global_attention_without_global_tokens_is_local_attention) {
  Graph g;
  const LongformerAttention layer =
      make_longformer_attention(Scope(g, "net"), DType::f32, kWidth, {.heads = 3, .window = 4});
  const Value x = g.input("x", DType::f32, {"batch", "seq", kWidth});
  const Value none = g.input("none", DType::boolean, {"batch", "seq"});
  Session session(g, {.seed = 3});
  for (const std::int64_t length : {0, 1, 9}) {
    const Results found = session.run(
        Program("p").output("local", layer(x)).output("global", layer(x, {.global_mask = none})),
        {{"x", normal_tensor({2, length, kWidth}, 7)},
         {"none", Tensor::zeros(DType::boolean, {2, length})}});
    BOOST_TEST(bitwise_equal(found["local"], found["global"]));
  }
  BOOST_CHECK_EXCEPTION(
      make_longformer_attention(Scope(g, "wrong"), DType::f32, kWidth, {.heads = 4}), ArgumentError,
      says("width 6 is not a multiple of heads 4"));
}

struct Blocks {
  std::int64_t length, block, shift, globals;
};

BOOST_AUTO_TEST_CASE(blocks_with_global_tokens_equal_one_softmax_over_the_visible_keys) {
  for (const Blocks& blocks : std::vector<Blocks>{{9, 4, 0, 2},
                                                  {9, 4, 2, 2},
                                                  {1, 4, 2, 1},
                                                  {3, 8, 4, 3},
                                                  {12, 4, 2, 1},
                                                  {5, 1, 0, 2},
                                                  {200, 6, 3, 70}}) {
    for (const bool masked : {false, true}) {
      BOOST_TEST_CONTEXT(blocks.length << " " << blocks.block << " " << blocks.shift << masked) {
        Graph g;
        const MultiHeadAttention layer =
            make_multi_head_attention(Scope(g, "net"), DType::f64, kWidth, {.heads = kHeads});
        const Value x = g.input("x", DType::f64, {"batch", "seq", kWidth});
        const Value globals = g.input("globals", DType::f64, {"batch", blocks.globals, kWidth});
        const Value mask = g.input("mask", DType::i32, {"batch", "seq"});
        const Dim &batch = x.size(0), &length = x.size(1);
        const auto [y, z] = block_attention(
            layer, x, globals,
            {.block = blocks.block, .shift = blocks.shift, .mask = masked ? mask : Value()});
        // The keys are all tokens, then all global tokens.
        const Value both = concat({x, globals}, 1);
        const Value k = split_heads(layer.key(both), kHeads),
                    v = split_heads(layer.value(both), kHeads);
        const Value block = (iota(g, {length}, 0, DType::i64) + blocks.shift) / blocks.block;
        const Value same = equal(unsqueeze(block, 1), unsqueeze(block, 0));
        const Value tokens =
            masked ? not_equal(mask, 0) : broadcast_to(equal(block, block), {batch, length});
        const Value always =
            broadcast_to(equal(iota(g, {1}, 0, DType::i64), 0), {batch, 1, 1, blocks.globals});
        const auto with_globals = [&](const Value& seen, const Dim& queries) {
          return concat({broadcast_to(logical_and(reshape(tokens, {batch, 1, 1, length}), seen),
                                      {batch, 1, queries, length}),
                         broadcast_to(always, {batch, 1, queries, blocks.globals})},
                        3);
        };
        const Value near = reshape(same, {1, 1, length, length});
        const Value all = equal(iota(g, {1, 1, 1, 1}, 0, DType::i64), 0);
        const Value expected_y =
            layer.out(dense(split_heads(layer.query(x), kHeads), k, v, with_globals(near, length)));
        const Value expected_z = layer.out(dense(split_heads(layer.query(globals), kHeads), k, v,
                                                 with_globals(all, blocks.globals)));
        Session session(g, {.seed = 3, .threads = 2});
        const Results found = session.run(
            Program("p")
                .output("y", y)
                .output("z", z)
                .output("expected_y", expected_y)
                .output("expected_z", expected_z),
            {{"x", normal_tensor({kBatch, blocks.length, kWidth}, 7, DType::f64)},
             {"globals", normal_tensor({kBatch, blocks.globals, kWidth}, 8, DType::f64)},
             {"mask", of_rows(blocks.length,
                              [&](auto b, auto i) { return is_token(blocks.length, b, i); })}});
        BOOST_TEST(difference(found["y"], found["expected_y"]) < kTolerance);
        BOOST_TEST(difference(found["z"], found["expected_z"]) < kTolerance);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_first_and_second_order_equal_finite_differences) {
  constexpr std::int64_t kLength = 7;
  const Tensor mask = of_rows(kLength, [&](auto b, auto i) { return is_token(kLength, b, i); });
  const Tensor selected = of_rows(kLength, kGlobals[2].selected);
  Graph g;
  const Value x = g.input("x", DType::f64, {kBatch, kLength, kWidth});
  const Value m = g.constant(mask);
  const LongformerAttention windows = make_longformer_attention(
      Scope(g, "windows"), DType::f64, kWidth, {.heads = kHeads, .window = 2});
  const MultiHeadAttention blocks =
      make_multi_head_attention(Scope(g, "blocks"), DType::f64, kWidth, {.heads = kHeads});
  const auto [tokens, globals] =
      block_attention(blocks, x, slice(x, 1, {.end = Dim(2)}), {.block = 4, .shift = 2, .mask = m});
  const std::vector<std::pair<const char*, Value>> outputs = {
      {"windows.", windows(x, {.mask = m, .global_mask = g.constant(selected)})},
      {"blocks.", concat({tokens, globals}, 1)}};
  for (const auto& [name, y] : outputs) {
    BOOST_TEST_CONTEXT(name) {
      GradientCheckOptions check{.feeds = {{"x", normal_tensor({kBatch, kLength, kWidth}, 7)}}};
      check.directions = 3;
      check.second_order = true;
      std::vector<Value> wrt = {x};
      std::uint64_t seed = 20;
      for (const Variable& v : g.parameters()) {
        if (!v.name().starts_with(name)) continue;
        wrt.push_back(v);
        check.variables.emplace_back(v.name(),
                                     normal_tensor(v.shape().constant(), seed++, DType::f64));
      }
      BOOST_TEST(check_gradients(y, wrt, check));
    }
  }
}

/// Returns the bytes of the arena for a training step of a program with texts of this length.
std::size_t arena(Graph& g, const Value& loss, std::int64_t length) {
  const auto parameters = g.parameters();
  const auto grads = gradients(loss, parameters, {.unreachable = Unreachable::zeros});
  Program program("train");
  program.output("loss", loss);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    program.output("grad." + std::to_string(i), grads[i]);
  Session session(g, {.threads = 1});
  std::vector<std::pair<std::string, Sizes>> sizes = {{"ids", {1, length}}, {"mask", {1, length}}};
  return session.plan(program, {sizes.begin(), sizes.end()})->memory().arena;
}

BOOST_AUTO_TEST_CASE(training_memory_grows_linearly_with_the_length_of_texts) {
  // With 4 heads, one matrix of scores takes 4 length^2 floats.
  const auto is_linear = [](const std::function<Value(Graph&, Value, Value)>& build,
                            std::int64_t length) {
    std::vector<std::size_t> bytes;
    for (const std::int64_t size : {length / 4, length}) {
      Graph g;
      const Value loss = build(g, g.input("ids", DType::i32, {"batch", "seq"}),
                               g.input("mask", DType::i32, {"batch", "seq"}));
      bytes.push_back(arena(g, loss, size));
    }
    BOOST_TEST(static_cast<double>(bytes[1]) < 4.5 * static_cast<double>(bytes[0]));
    BOOST_TEST(bytes[1] < static_cast<std::size_t>(length * length) * 4);
  };
  EncoderConfig longformer{.vocab = 50,
                           .context = 4098,
                           .padding_id = 1,
                           .layers = 1,
                           .heads = 4,
                           .width = 16,
                           .inner = 16,
                           .positions_skip_padding = true,
                           .window = 512,
                           .global_attention = true};
  is_linear(
      [&](Graph& g, Value ids, Value mask) {
        const Encoder net(Scope(g), longformer);
        return mean(
            net.evaluation()(
                   {.ids = ids, .attention_mask = mask, .global_attention_mask = not_equal(ids, 3)})
                .last_hidden_state);
      },
      4096);
  EncoderDecoderConfig pegasus;
  pegasus.vocab = 50;
  pegasus.width = 16;
  pegasus.encoder_layers = pegasus.decoder_layers = 1;
  pegasus.encoder_heads = pegasus.decoder_heads = 4;
  pegasus.encoder_inner = pegasus.decoder_inner = 16;
  pegasus.norm = Seq2SeqNorm::pre_norm;
  EncoderDecoderConfig longt5 = pegasus;
  pegasus.encoder_block = 512;
  pegasus.global_tokens = 32;
  pegasus.stagger_blocks = true;
  pegasus.encoder_layers = 2;
  longt5.positions = Seq2SeqPositions::relative_bias;
  longt5.encoder_window = 128;
  for (const EncoderDecoderConfig& config : {pegasus, longt5}) {
    is_linear(
        [&](Graph& g, Value ids, Value mask) {
          const EncoderDecoder net(Scope(g), config, Stacks::encoder);
          return mean(net.evaluation().encode(ids, mask).last_hidden_state);
        },
        16384);
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
