// Incremental decoding with a position per row and with selected rows of larger caches: every layer
// and family with a cache, compared with whole forward passes.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/core/error.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_decoder.h"
#include "weft/models/families/gpt.h"
#include "weft/models/layers/attention/attention.h"
#include "weft/models/layers/attention/attention_maps.h"
#include "weft/models/layers/attention/multi_head_attention.h"
#include "weft/tests/models/encoder_decoder_kinds.h"
#include "weft/tests/models/gpt_variants.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(ragged_decoding)
namespace {

using testing::says;
using Ids = std::vector<std::int64_t>;

Tensor integers(const Ids& values) {
  return Tensor::of<std::int64_t>({std::ssize(values)}, values);
}

/// Returns the largest difference between row `row` of `got` [rows, n] and the last n numbers of
/// `expected`, relative to the largest magnitude in `expected`.
double relative_difference(const Tensor& got, std::int64_t row, const Tensor& expected) {
  const std::int64_t n = got.numel() / got.size(0);
  double most = 0, difference = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double wanted = expected.at(expected.numel() - n + i);
    most = std::max(most, std::abs(wanted));
    difference = std::max(difference, std::abs(wanted - got.at(row * n + i)));
  }
  return difference / most;
}

/// Texts of different lengths that grow by one id per step.
struct Texts {
  std::vector<Ids> rows;
  std::vector<Ids> steps(std::int64_t vocab) {
    std::vector<Ids> added(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      added[r] = {static_cast<std::int64_t>(3 * rows[r].size() + 7 * r + 2) % vocab};
      rows[r].push_back(added[r][0]);
    }
    return added;
  }
};

Tensor matrix(const std::vector<Ids>& rows) {
  Ids all;
  for (const Ids& row : rows) all.insert(all.end(), row.begin(), row.end());
  return Tensor::of<std::int64_t>({std::ssize(rows), std::ssize(rows[0])}, all);
}

BOOST_AUTO_TEST_CASE(rows_of_a_gpt_continue_from_their_own_positions) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Graph g;
      const Gpt gpt(Scope(g), variant.config);
      const Value tokens = g.input("tokens", DType::i64, {"batch", "new"});
      const Value position = g.input("position", DType::i64, {"batch"});
      const GptDecoding decoding = gpt.decode(tokens, position, g.dim("capacity"));
      const Program decode =
          Program("decode").output("logits", decoding.logits).update(decoding.updates);
      const Program full = Program("full").output("logits", gpt({.ids = tokens}).logits);
      Session session(g, {.seed = 4, .threads = 2, .poison = true});
      const RunOptions capacity{.dims = {{"capacity", 14}}};
      // Row 2 begins a new text while the others continue; all rows of a step have equally many new
      // tokens.
      Texts texts{{{3, 1, 4, 1}, {5, 9, 2, 6}, {5, 3, 5, 8}}};
      Ids positions = {0, 0, 0};
      std::vector<Ids> added = texts.rows;
      for (int step = 0; step < 8; ++step) {
        const Tensor logits =
            session.run(decode, {{"tokens", matrix(added)}, {"position", integers(positions)}},
                        capacity)["logits"];
        for (std::size_t r = 0; r < 3; ++r) {
          const Tensor expected =
              session.run(full, {{"tokens", matrix({texts.rows[r]})}})["logits"];
          BOOST_TEST(relative_difference(logits, static_cast<std::int64_t>(r), expected) < 1e-5);
          positions[r] = std::ssize(texts.rows[r]);
        }
        if (step == 2) texts.rows[2].clear(), positions[2] = 0;
        if (step == 4) texts.rows[0].resize(2), positions[0] = 2;
        added = texts.steps(variant.config.vocab);
      }
      const auto run = [&](const Ids& at) {
        session.run(decode, {{"tokens", matrix({{1}, {1}, {1}})}, {"position", integers(at)}},
                    capacity);
      };
      const Tensor keys = session.value("cache.h.1.keys");
      BOOST_CHECK_EXCEPTION(
          run({1, 14, 2}), DataError,
          says("start[1] is 14: a block of 1 in axis 2 of size 14 can begin at 0 to 13"));
      BOOST_TEST(bitwise_equal(session.value("cache.h.1.keys"), keys));
    }
  }
}

BOOST_AUTO_TEST_CASE(padding_on_the_right_of_new_tokens_changes_no_result) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Graph g;
      const Gpt gpt(Scope(g), variant.config);
      const Value tokens = g.input("tokens", DType::i64, {"batch", "new"});
      const GptDecoding decoding =
          gpt.decode({.tokens = tokens,
                      .position = g.input("position", DType::i64, {"batch"}),
                      .counts = g.input("counts", DType::i64, {"batch"})},
                     g.dim("capacity"));
      const Program decode =
          Program("decode").output("logits", decoding.logits).update(decoding.updates);
      const Program full = Program("full").output("logits", gpt({.ids = tokens}).logits);
      Session session(g, {.seed = 4, .threads = 2, .poison = true});
      // The last step has padding up to the end of the caches and of the context.
      std::vector<Ids> texts(3);
      for (const Ids& counts : std::vector<Ids>{{5, 1, 3}, {1, 5, 2}, {4, 2, 1}, {1, 3, 5}}) {
        Ids positions;
        std::vector<Ids> added(3);
        for (std::size_t r = 0; r < 3; ++r) {
          positions.push_back(std::ssize(texts[r]));
          for (std::int64_t i = 0; i < counts[r]; ++i) {
            texts[r].push_back((3 * std::ssize(texts[r]) + 7 * static_cast<std::int64_t>(r)) % 23);
            added[r].push_back(texts[r].back());
          }
          added[r].resize(5, 22);
        }
        const Tensor logits = session.run(decode,
                                          {{"tokens", matrix(added)},
                                           {"position", integers(positions)},
                                           {"counts", integers(counts)}},
                                          {.dims = {{"capacity", 16}}})["logits"];
        for (std::size_t r = 0; r < 3; ++r) {
          const Tensor expected = session.run(full, {{"tokens", matrix({texts[r]})}})["logits"];
          BOOST_TEST(relative_difference(logits, static_cast<std::int64_t>(r), expected) < 1e-5);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_of_an_encoder_decoder_continue_from_their_own_positions) {
  for (const EncoderDecoderConfig& c : kinds()) {
    Graph g;
    const EncoderDecoder net(Scope(g, "net").evaluation(), c);
    const Dim rows = g.dim("rows");
    const Value ids = g.input("ids", DType::i64, {rows, "source"});
    const Value tokens = g.input("tokens", DType::i64, {rows, "new"});
    const EncoderDecoderDecoding decoding =
        net.decoding({.ids = ids,
                      .prompt_of_row = g.input("prompt_of_row", DType::i64, {rows}),
                      .tokens = tokens,
                      .position = g.input("position", DType::i64, {rows}),
                      .capacity = g.dim("capacity")});
    const Program prompt = Program("prompt").update(decoding.prompt);
    const Program step = Program("step").output("logits", decoding.logits).update(decoding.step);
    const Program full = Program("full").output(
        "logits",
        net.logits(
            net.decode(tokens, {}, net.encode(ids, {}).last_hidden_state, {}).last_hidden_state));
    Session session(g, {.seed = 5, .threads = 2, .poison = true});
    const RunOptions capacity{.dims = {{"capacity", 12}}};
    const std::int64_t vocab = std::min(c.vocab, c.target_vocab());
    const std::vector<Ids> sources = {{3, 1, 4, 1, 5}, {9, 2, 6, 5, 3}};
    session.run(prompt, {{"ids", matrix(sources)}, {"prompt_of_row", integers({0, 1})}}, capacity);
    Texts texts{{{2, 7, 4}, {2, 8, 3}}};  // without the padding id
    Ids positions = {0, 0};
    std::vector<Ids> added = texts.rows;
    for (int i = 0; i < 6; ++i) {
      const Tensor logits = session.run(
          step, {{"tokens", matrix(added)}, {"position", integers(positions)}}, capacity)["logits"];
      for (std::size_t r = 0; r < 2; ++r) {
        const Tensor expected = session.run(
            full, {{"ids", matrix({sources[r]})}, {"tokens", matrix({texts.rows[r]})}})["logits"];
        BOOST_TEST(relative_difference(logits, static_cast<std::int64_t>(r), expected) < 1e-5);
        positions[r] = std::ssize(texts.rows[r]);
      }
      if (i == 1) texts.rows[1].resize(1), positions[1] = 1;
      added = texts.steps(vocab);
    }
  }
}

BOOST_AUTO_TEST_CASE(self_attention_in_double_appends_to_selected_rows_of_a_cache) {
  for (const std::int64_t window : {0, 3}) {
    for (const bool linear_bias : {false, true}) {
      Graph g;
      const Scope net(g, "net");
      const Value x = g.input("x", DType::f64, {"batch", "new", 12});
      const SelfAttention layer = make_self_attention(net, DType::f64, 12,
                                                      {.heads = 4,
                                                       .kv_heads = 2,
                                                       .window = window,
                                                       .projection = QkvProjection::separate,
                                                       .rotary = linear_bias ? 0 : 2,
                                                       .linear_bias = linear_bias});
      const ValueType type{DType::f64, {5, 2, 9, 3}};
      AttentionCache cache{g.variable("keys", type, {.kind = VariableKind::cache}),
                           g.variable("values", type, {.kind = VariableKind::cache}),
                           g.input("position", DType::i64, {"batch"}),
                           g.input("rows", DType::i32, {"batch"})};
      Updates updates;
      const Value y = layer(x, {.cache = &cache}, &updates);
      const Program step = Program("step").output("y", y).update(updates);
      const Program full = Program("full").output("y", layer(x));
      Session session(g, {.seed = 3});
      const std::vector<Tensor> texts = {normal_tensor({1, 9, 12}, 1), normal_tensor({1, 9, 12}, 2),
                                         normal_tensor({1, 9, 12}, 3)};
      const auto part = [&](std::size_t text, std::int64_t begin, std::int64_t count) {
        return Tensor::of<double>({1, count, 12},
                                  std::span(texts[text].to(DType::f64).data<double>() + begin * 12,
                                            static_cast<std::size_t>(count * 12)));
      };
      // Each step: pairs of text and number of earlier tokens. Text t is in row 4 - t.
      std::vector<std::int64_t> done = {0, 0, 0};
      for (const auto& [included, count] :
           std::vector<std::pair<std::vector<std::size_t>, std::int64_t>>{
               {{0}, 4}, {{2, 0}, 1}, {{1}, 6}, {{1, 2, 0}, 2}, {{2}, 1}, {{0, 1}, 1}}) {
        std::vector<double> all;
        Ids positions;
        std::vector<std::int32_t> rows;
        for (const std::size_t t : included) {
          const Tensor added = part(t, done[t], count);
          all.insert(all.end(), added.data<double>(), added.data<double>() + added.numel());
          positions.push_back(done[t]);
          rows.push_back(static_cast<std::int32_t>(4 - t));
          done[t] += count;
        }
        const auto batch = std::ssize(included);
        const Tensor got =
            session.run(step, {{"x", Tensor::of<double>({batch, count, 12}, all)},
                               {"position", integers(positions)},
                               {"rows", Tensor::of<std::int32_t>({batch}, rows)}})["y"];
        for (std::int64_t r = 0; r < batch; ++r) {
          const std::size_t t = included[static_cast<std::size_t>(r)];
          const Tensor expected = session.run(full, {{"x", part(t, 0, done[t])}})["y"];
          BOOST_TEST(relative_difference(got, r, expected) < 1e-13);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(multi_head_attention_appends_to_selected_rows_of_a_cache) {
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f64, {"batch", "new", 8});
  const MultiHeadAttention layer = make_multi_head_attention(net, DType::f64, 8, {.heads = 2});
  const KeyValueCache cache = make_key_value_cache(net / "cache", DType::f64, 4, 2, 6, 4);
  const Value position = g.input("position", DType::i64, {"batch"});
  const Value rows = g.input("rows", DType::i64, {"batch"});
  Updates updates;
  const Value y = layer.decode(x, cache, position, {}, &updates, {.kv_rows = rows});
  const Program step = Program("step").output("y", y).update(updates);
  const Program full = Program("full").output("y", layer(x, x, {.causal = true}));
  Session session(g, {.seed = 3});
  const Tensor a = normal_tensor({1, 5, 8}, 1).to(DType::f64);
  const Tensor b = normal_tensor({1, 3, 8}, 2).to(DType::f64);
  const auto run = [&](const Tensor& text, std::int64_t begin, std::int64_t count,
                       std::int64_t row) {
    return session.run(
        step,
        {{"x", Tensor::of<double>({1, count, 8}, std::span(text.data<double>() + begin * 8,
                                                           static_cast<std::size_t>(count * 8)))},
         {"position", integers({begin})},
         {"rows", integers({row})}})["y"];
  };
  run(a, 0, 3, 2);
  run(b, 0, 2, 0);
  const Tensor last_a = run(a, 3, 2, 2), last_b = run(b, 2, 1, 0);
  BOOST_TEST(relative_difference(last_a, 0, session.run(full, {{"x", a}})["y"]) < 1e-13);
  BOOST_TEST(relative_difference(last_b, 0, session.run(full, {{"x", b}})["y"]) < 1e-13);
  BOOST_CHECK_EXCEPTION(layer.decode(x, cache, position, rows, &updates, {.kv_rows = rows}),
                        ArgumentError, says("parents and kv_rows cannot be combined"));
}

BOOST_AUTO_TEST_CASE(attention_maps_of_selected_rows_are_their_probabilities) {
  Graph g;
  const Value q = g.input("q", DType::f64, {2, 2, 1, 4}),
              k = g.input("k", DType::f64, {3, 2, 5, 4});
  const Value rows = g.input("rows", DType::i64, {2}),
              lengths = g.input("lengths", DType::i64, {2});
  const Value y = attention(q, k, k, {.lengths = lengths, .kv_rows = rows});
  const Value probabilities = attention_maps(y).at(0).probabilities;
  const Program p =
      Program("p").output("y", y).output("same", matmul(probabilities, take(k, rows)));
  Session session(g);
  const Results results = session.run(p, {{"q", normal_tensor({2, 2, 1, 4}, 1, DType::f64)},
                                          {"k", normal_tensor({3, 2, 5, 4}, 2, DType::f64)},
                                          {"rows", integers({2, 0})},
                                          {"lengths", integers({3, 5})}});
  for (std::int64_t r = 0; r < 2; ++r) {
    const Tensor all = results["y"];
    const std::int64_t n = all.numel() / 2;
    const Tensor row = Tensor::of<double>(
        {1, n}, std::span(all.data<double>() + r * n, static_cast<std::size_t>(n)));
    BOOST_TEST(relative_difference(results["same"], r, row) < 1e-13);
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
