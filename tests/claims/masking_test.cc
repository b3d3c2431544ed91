// Masked positions have no influence: different numbers at these positions do not change any bit of
// the output, and their gradients are exactly 0.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "random_tensor.h"
#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/encoder.h"
#include "weft/models/families/gpt.h"
#include "weft/tests/models/gpt_variants.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(masking)
namespace {

constexpr std::int64_t kBatch = 2, kHeads = 2, kTokens = 7, kSize = 5;

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

/// A type of mask, and a function that returns the keys that it hides from a query of a batch
/// row.
struct Mask {
  std::string name;
  std::function<AttentionOptions(Graph&)> options;
  std::function<bool(std::int64_t row, std::int64_t query, std::int64_t key)> hidden;
};

std::vector<Mask> masks() {
  const std::vector<std::int64_t> lengths = {4, 6};
  return {
      {"boolean mask",
       [](Graph& g) {
         const Value place = iota(g, {1, 1, kTokens, kTokens}, 3),
                     query = iota(g, {1, 1, kTokens, kTokens}, 2);
         return AttentionOptions{.mask = not_equal((place + query) - (place + query) / 3 * 3, 0)};
       },
       [](std::int64_t, std::int64_t query, std::int64_t key) { return (query + key) % 3 == 0; }},
      {"lengths",
       [=](Graph& g) {
         return AttentionOptions{.lengths = g.constant(Tensor::of({kBatch}, lengths))};
       },
       [=](std::int64_t row, std::int64_t, std::int64_t key) {
         return key >= lengths[static_cast<std::size_t>(row)];
       }},
      {"causal", [](Graph&) { return AttentionOptions{.causal = true}; },
       [](std::int64_t, std::int64_t query, std::int64_t key) { return key > query; }},
      {"window", [](Graph&) { return AttentionOptions{.causal = true, .window = 3}; },
       [](std::int64_t, std::int64_t query, std::int64_t key) {
         return key > query || query - key >= 3;
       }}};
}

/// Replaces the elements of t [batch, heads, keys, size] that are hidden from the query by
/// different, large numbers.
Tensor changed_where_hidden(const Tensor& t, const Mask& mask, std::int64_t query) {
  Tensor out = t.clone();
  const Tensor other = random_tensor(t.sizes(), 99, DType::f64);
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const std::int64_t row = i / (kHeads * kTokens * kSize), key = i / kSize % kTokens;
    if (!mask.hidden(row, query, key)) continue;
    if (t.dtype() == DType::f64) out.mutable_data<double>()[i] = 50 * other.at(i);
    if (t.dtype() == DType::f32)
      out.mutable_data<float>()[i] = static_cast<float>(50 * other.at(i));
  }
  return out;
}

BOOST_AUTO_TEST_CASE(masked_keys_and_values_have_no_influence_and_zero_gradients) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Mask& mask : masks()) {
      BOOST_TEST_CONTEXT(mask.name) {
        Graph g;
        const Sizes sizes = {kBatch, kHeads, kTokens, kSize};
        const Value q = g.constant(random_tensor(sizes, 1, dtype));
        const Value k = g.input("k", {dtype, Shape(sizes)}),
                    v = g.input("v", {dtype, Shape(sizes)});
        const Value out = attention(q, k, v, mask.options(g));
        Program program("attention");
        for (std::int64_t i = 0; i < kTokens; ++i) {  // only the output of query i
          const Value of_query = select(out, 2, i);
          const std::vector<Value> gradient = gradients(sum(square(of_query)), {k, v});
          program.output("out " + std::to_string(i), of_query)
              .output("k " + std::to_string(i), gradient[0])
              .output("v " + std::to_string(i), gradient[1]);
        }
        Session session(g, {.threads = 2});
        const Tensor keys = random_tensor(sizes, 2, dtype), values = random_tensor(sizes, 3, dtype);
        const Results found = session.run(program, {{"k", keys}, {"v", values}});
        for (std::int64_t i = 0; i < kTokens; ++i) {
          const std::string name = std::to_string(i);
          const Results other =
              session.run(program, {{"k", changed_where_hidden(keys, mask, i)},
                                    {"v", changed_where_hidden(values, mask, i)}});
          BOOST_TEST(same_bits(found["out " + name], other["out " + name]));
          std::int64_t hidden = 0, wrong = 0, seen = 0;
          for (std::int64_t e = 0; e < keys.numel(); ++e) {
            const std::int64_t row = e / (kHeads * kTokens * kSize), key = e / kSize % kTokens;
            const bool zero = found["v " + name].at(e) == 0;
            if (mask.hidden(row, i, key)) {
              ++hidden;
              wrong += !zero || found["k " + name].at(e) != 0;
            } else {
              seen += !zero;
            }
          }
          BOOST_TEST(wrong == 0);
          BOOST_TEST(seen + hidden == keys.numel());  // all visible values have a gradient
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(decoders_do_not_depend_on_later_tokens) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Graph g;
      const Gpt model(Scope(g), variant.config);
      const Value ids = g.input("ids", DType::i64, {"batch", 6});
      const GptOutputs outputs = model({.ids = ids});
      const Value start = outputs.hidden.front();
      Program program("gradients");
      for (std::int64_t t = 0; t < 6; ++t)
        program.output(std::to_string(t),
                       gradient(sum(square(select(outputs.logits, 1, t))), start));
      Session session(g, {.seed = 3, .threads = 2});
      const Results found = session.run(
          program,
          {{"ids", Tensor::of<std::int64_t>({2, 6}, {4, 9, 2, 11, 7, 1, 3, 3, 8, 0, 5, 6})}});
      const std::int64_t width = variant.config.width;
      for (std::int64_t t = 0; t < 6; ++t) {
        const Tensor& of_token = found[std::to_string(t)];
        for (std::int64_t j = 0; j < 6; ++j) {
          double largest = 0;
          for (std::int64_t b = 0; b < 2; ++b) {
            for (std::int64_t i = 0; i < width; ++i)
              largest = std::max(largest, std::abs(of_token.at((b * 6 + j) * width + i)));
          }
          if (j > t) BOOST_TEST(largest == 0);
          if (j == t) BOOST_TEST(largest > 0);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(encoder_padding_has_no_influence_and_zero_gradients) {
  EncoderConfig config;
  config.vocab = 20;
  config.context = 8;
  config.layers = 2;
  config.heads = 2;
  config.width = 16;
  config.inner = 32;
  Graph g;
  const Encoder encoder(Scope(g), config);
  const Value ids = g.input("ids", DType::i64, {2, 8});
  const Value mask = g.input("mask", DType::i64, {2, 8});
  const EncoderOutputs outputs = encoder({.ids = ids, .attention_mask = mask});
  const Value tokens = where(equal(unsqueeze(mask, 2), 1), outputs.last_hidden_state, 0.0);
  Program program("encoder");
  program.output("tokens", tokens)
      .output("gradient", gradient(sum(tokens * square(tokens)), outputs.hidden.front()));
  Session session(g, {.seed = 5, .threads = 2});
  const Tensor kept = Tensor::of<std::int64_t>({2, 8}, {1, 1, 1, 1, 1, 0, 0, 0,  //
                                                        1, 1, 1, 0, 0, 0, 0, 0});
  const Results one =
      session.run(program, {{"ids", Tensor::of<std::int64_t>({2, 8}, {5, 6, 7, 8, 9, 1, 1, 1,  //
                                                                      3, 4, 2, 1, 1, 1, 1, 1})},
                            {"mask", kept}});
  const Results other =
      session.run(program, {{"ids", Tensor::of<std::int64_t>({2, 8}, {5, 6, 7, 8, 9, 12, 3, 19,  //
                                                                      3, 4, 2, 17, 8, 5, 5, 0})},
                            {"mask", kept}});
  BOOST_TEST(same_bits(one["tokens"], other["tokens"]));
  for (std::int64_t i = 0; i < one["gradient"].numel(); ++i) {
    const bool padding = kept.at(i / config.width) == 0;
    BOOST_TEST((one["gradient"].at(i) == 0) == padding);
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
