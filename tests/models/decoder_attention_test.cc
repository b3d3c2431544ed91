// The mechanisms of attention in decoders, in double precision against direct formulas: the layer
// alone, with an additive mask, with a cache, and the gradients.
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
#include "weft/models/layers/attention/attention.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(decoder_attention)
namespace {

using testing::says;
using Row = std::vector<double>;
using Rows = std::vector<Row>;  // one row per token
using Change = std::function<void(const Scope&, SelfAttentionOptions&)>;

constexpr std::int64_t kBatch = 2, kSeq = 9, kWidth = 10, kHeads = 4, kKvHeads = 2, kSize = 6;

SelfAttentionOptions usual_options() {
  return {.heads = kHeads,
          .kv_heads = kKvHeads,
          .head_size = kSize,
          .projection = QkvProjection::separate};
}

/// Returns a norm of queries or keys.
Norm norm_below(const Scope& scope, const char* name, std::int64_t width,
                NormLayerOptions options = {.rms = true}) {
  return make_norm(scope / name, DType::f64, width, options);
}

struct Case {
  std::string name;
  Change change;
};

std::vector<Case> cases() {
  return {
      {"usual", [](const Scope&, SelfAttentionOptions&) {}},
      {"window", [](const Scope&, SelfAttentionOptions& o) { o.window = 3; }},
      {"chunks",
       [](const Scope&, SelfAttentionOptions& o) {
         o.window = 4;
         o.window_chunks = true;
       }},
      {"soft_cap",
       [](const Scope&, SelfAttentionOptions& o) {
         o.scale = 1.5;
         o.soft_cap = 0.6;
       }},
      {"sinks",
       [](const Scope&, SelfAttentionOptions& o) {
         o.sinks = true;
         o.window = 2;
       }},
      {"clip", [](const Scope&, SelfAttentionOptions& o) { o.clip = 0.3; }},
      {"head_norms",
       [](const Scope& net, SelfAttentionOptions& o) {
         o.query_norm = norm_below(net, "query_norm", kSize);
         o.key_norm = norm_below(net, "key_norm", kSize, {.rms = true, .offset = true});
       }},
      {"norms_per_head",
       [](const Scope& net, SelfAttentionOptions& o) {
         o.query_norm = norm_below(net, "query_norm", kSize, {.bias = true, .heads = kHeads});
         o.key_norm = norm_below(net, "key_norm", kSize, {.bias = false, .heads = kKvHeads});
       }},
      {"norms_of_all_heads",
       [](const Scope& net, SelfAttentionOptions& o) {
         o.query_norm = norm_below(net, "query_norm", kHeads * kSize);
         o.key_norm = norm_below(net, "key_norm", kKvHeads * kSize);
         o.norm_all_heads = true;
         o.clip = 0.7;
       }},
      {"norms_after_rotation",
       [](const Scope& net, SelfAttentionOptions& o) {
         o.query_norm = norm_below(net, "query_norm", kSize, {.rms = true, .weights = false});
         o.key_norm = o.query_norm;
         o.norm_after_rotary = true;
         o.rotary = 4;
       }},
      {"adjacent_rotation",
       [](const Scope&, SelfAttentionOptions& o) {
         o.rotary = 4;
         o.rotary_adjacent = true;
       }},
      {"rotated_values",
       [](const Scope&, SelfAttentionOptions& o) {
         o.rotary = 6;
         o.rotary_adjacent = o.rotary_values = true;
       }},
      {"all_tokens",
       [](const Scope&, SelfAttentionOptions& o) {
         o.causal = false;
         o.rotary = 6;
       }},
      {"windows_on_both_sides",
       [](const Scope&, SelfAttentionOptions& o) {
         o.causal = false;
         o.rotary = 4;
         o.window = 3;
       }},
      {"query_growth",
       [](const Scope&, SelfAttentionOptions& o) {
         o.rotary = 6;
         o.query_growth = {.rate = 0.7, .context = 3, .offset = 1};
       }},
      {"linear_bias",
       [](const Scope&, SelfAttentionOptions& o) {
         o.linear_bias = true;
         o.linear_bias_max = 5;
         o.linear_bias_scale = 0.4;
       }},
  };
}

/// A layer with random parameters, and its values computed by direct formulas.
class Reference {
 public:
  Reference(const SelfAttention& layer, Session& session)
      : layer_(layer), o_(layer.options), session_(session) {}

  /// Returns y of one text.
  Rows operator()(const Rows& x) const {
    const auto q = heads(x, layer_.query, o_.query_norm, o_.heads, true);
    const auto k = heads(x, layer_.key, o_.key_norm, o_.kv_heads, true);
    const auto v = heads(x, layer_.value, {}, o_.kv_heads, o_.rotary_values);
    Rows joined(x.size());
    for (std::int64_t h = 0; h < o_.heads; ++h) {
      const auto kv = static_cast<std::size_t>(h / (o_.heads / o_.kv_heads));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const Row y = attend(q[static_cast<std::size_t>(h)][i], k[kv], v[kv], h,
                             static_cast<std::int64_t>(i));
        joined[i].insert(joined[i].end(), y.begin(), y.end());
      }
    }
    Rows result;
    for (const Row& row : joined) result.push_back(linear(row, layer_.out));
    return result;
  }

 private:
  Row values(const Variable& variable) const {
    const Tensor t = session_.value(variable.name());
    return {t.data<double>(), t.data<double>() + t.numel()};
  }
  Row linear(const Row& x, const Linear& layer) const {
    Row y = values(layer.bias);
    const Row w = values(layer.weight);
    for (std::size_t o = 0; o < y.size(); ++o) {
      for (std::size_t i = 0; i < x.size(); ++i) y[o] += w[o * x.size() + i] * x[i];
    }
    return y;
  }
  Row norm(const Row& x, const Norm& norm, std::size_t head) const {
    double mean = 0, square = 0;
    const double n = static_cast<double>(x.size());
    for (const double e : x) mean += norm.rms ? 0 : e / n;
    for (const double e : x) square += (e - mean) * (e - mean) / n;
    Row y;
    for (std::size_t j = 0; j < x.size(); ++j) {
      double factor = 1, shift = 0;
      const std::size_t at =
          norm.weight.defined() && norm.weight.shape().rank() == 2 ? head * x.size() + j : j;
      if (norm.weight.defined()) factor = values(norm.weight)[at] + (norm.offset ? 1 : 0);
      if (norm.bias.defined()) shift = values(norm.bias)[at];
      y.push_back((x[j] - mean) / std::sqrt(square + norm.eps) * factor + shift);
    }
    return y;
  }
  void rotate(Row& x, double position) const {
    const std::int64_t pairs = o_.rotary / 2;
    for (std::int64_t j = 0; j < pairs; ++j) {
      const double angle =
          position * std::pow(o_.rotary_base, -static_cast<double>(j) / static_cast<double>(pairs));
      double& a = x[static_cast<std::size_t>(o_.rotary_adjacent ? 2 * j : j)];
      double& b = x[static_cast<std::size_t>(o_.rotary_adjacent ? 2 * j + 1 : j + pairs)];
      const double first = a * std::cos(angle) - b * std::sin(angle);
      b = b * std::cos(angle) + a * std::sin(angle);
      a = first;
    }
  }
  /// Returns [heads][tokens][size].
  std::vector<Rows> heads(const Rows& x, const Linear& projection, const std::optional<Norm>& given,
                          std::int64_t count, bool has_positions) const {
    std::vector<Rows> result(static_cast<std::size_t>(count));
    for (std::size_t t = 0; t < x.size(); ++t) {
      Row all = linear(x[t], projection);
      if (given && o_.norm_all_heads) all = norm(all, *given, 0);
      for (std::size_t h = 0; h < result.size(); ++h) {
        Row part(all.begin() + static_cast<std::ptrdiff_t>(h) * kSize,
                 all.begin() + static_cast<std::ptrdiff_t>(h + 1) * kSize);
        const bool by_head = given && !o_.norm_all_heads;
        if (by_head && !o_.norm_after_rotary) part = norm(part, *given, h);
        if (o_.clip > 0) {
          for (double& e : part) e = std::clamp(e, -o_.clip, o_.clip);
        }
        const double position = static_cast<double>(t);
        if (has_positions) rotate(part, position);
        if (by_head && o_.norm_after_rotary) part = norm(part, *given, h);
        if (&projection == &layer_.query) {
          const QueryGrowth& g = o_.query_growth;
          const double passed = std::floor((position + static_cast<double>(g.offset)) /
                                           static_cast<double>(g.context));
          for (double& e : part) e *= 1 + g.rate * std::log(1 + passed);
        }
        result[h].push_back(part);
      }
    }
    return result;
  }
  bool sees(std::int64_t i, std::int64_t j) const {
    if (o_.causal && j > i) return false;
    if (o_.window_chunks) return i / o_.window == j / o_.window;
    return o_.window == 0 || std::abs(i - j) < o_.window;
  }
  Row attend(const Row& q, const Rows& k, const Rows& v, std::int64_t head, std::int64_t i) const {
    Row scores;
    for (std::int64_t j = 0; j < std::ssize(k); ++j) {
      double score = 0;
      for (std::size_t d = 0; d < q.size(); ++d) score += q[d] * k[static_cast<std::size_t>(j)][d];
      score *= o_.scale;
      if (o_.soft_cap > 0) score = o_.soft_cap * std::tanh(score / o_.soft_cap);
      if (o_.linear_bias) {
        // The slopes are single precision constants.
        const double slope = std::exp2(-o_.linear_bias_max * static_cast<double>(head + 1) /
                                       static_cast<double>(kHeads));
        score -= static_cast<float>(slope * o_.linear_bias_scale) * static_cast<double>(i - j);
      }
      scores.push_back(sees(i, j) ? score : -std::numeric_limits<double>::infinity());
    }
    double total =
        layer_.sinks.defined() ? std::exp(values(layer_.sinks)[static_cast<std::size_t>(head)]) : 0;
    for (const double s : scores) total += std::exp(s);
    Row y(v[0].size());
    for (std::size_t j = 0; j < scores.size(); ++j) {
      for (std::size_t d = 0; d < y.size(); ++d) y[d] += std::exp(scores[j]) / total * v[j][d];
    }
    return y;
  }

  const SelfAttention& layer_;
  const SelfAttentionOptions& o_;
  Session& session_;
};

/// Gives every parameter random values, so that those that start at 0 or 1 have an effect.
void randomise(const Graph& graph, Session& session) {
  session.initialise();
  std::uint64_t seed = 10;
  for (const Variable& v : graph.parameters()) {
    session.set_value(v.name(),
                      normal_tensor(session.value(v.name()).sizes(), seed++, DType::f64, 0.3, 0.6));
  }
}

double largest_difference(const Tensor& y, std::int64_t row, const Rows& expected,
                          std::int64_t first = 0) {
  double most = 0;
  const std::int64_t count = y.size(1);
  for (std::int64_t t = 0; t < count; ++t) {
    for (std::int64_t j = 0; j < kWidth; ++j) {
      const double want =
          expected[static_cast<std::size_t>(first + t)][static_cast<std::size_t>(j)];
      most = std::max(most, std::abs(y.at((row * count + t) * kWidth + j) - want));
    }
  }
  return most;
}

Rows rows_of(const Tensor& x, std::int64_t text, std::int64_t begin = 0) {
  Rows rows;
  for (std::int64_t t = begin; t < x.size(1); ++t) {
    const double* from = x.data<double>() + (text * x.size(1) + t) * kWidth;
    rows.emplace_back(from, from + kWidth);
  }
  return rows;
}

BOOST_AUTO_TEST_CASE(every_mechanism_matches_its_formula_with_masks_and_caches) {
  for (const Case& c : cases()) {
    BOOST_TEST_CONTEXT(c.name) {
      Graph g;
      const Scope net(g, "net");
      SelfAttentionOptions options = usual_options();
      c.change(net, options);
      const SelfAttention layer = make_self_attention(net, DType::f64, kWidth, options);
      const Value x = g.input("x", DType::f64, {kBatch, "seq", kWidth});
      const Value mask = g.input("mask", DType::f64, {kBatch, 1, 1, "seq"});
      const Program plain = Program("plain").output("y", layer(x));
      const Program masked = Program("masked").output("y", layer(x, {.additive_mask = mask}));
      AttentionCache cache{
          g.variable("keys", {DType::f64, Shape{kBatch, kKvHeads, kSeq + 2, kSize}},
                     {.kind = VariableKind::cache}),
          g.variable("values", {DType::f64, Shape{kBatch, kKvHeads, kSeq + 2, kSize}},
                     {.kind = VariableKind::cache}),
          g.input("position", DType::i64, {})};
      Updates updates;
      const Value decoded = layer(x, {.cache = &cache}, &updates);
      const Program step = Program("step").output("y", decoded).update(updates);
      Session session(g, {.seed = 3});
      randomise(g, session);
      const Reference reference(layer, session);
      const Tensor in = normal_tensor({kBatch, kSeq, kWidth}, 1, DType::f64);
      const Tensor y = session.run(plain, {{"x", in}})["y"];
      const Tensor all = session.run(
          masked, {{"x", in}, {"mask", Tensor::full(DType::f64, {kBatch, 1, 1, kSeq}, 0)}})["y"];
      for (std::int64_t b = 0; b < kBatch; ++b) {
        const Rows expected = reference(rows_of(in, b));
        BOOST_TEST(largest_difference(y, b, expected) < 1e-12);
        BOOST_TEST(largest_difference(all, b, expected) < 1e-12);
      }
      if (!options.causal) continue;  // decoding is causal
      std::int64_t done = 0;
      for (const std::int64_t count : {4, 1, 1, 3}) {
        Tensor piece = Tensor::empty(DType::f64, {kBatch, count, kWidth});
        for (std::int64_t b = 0; b < kBatch; ++b) {
          std::copy_n(in.data<double>() + (b * kSeq + done) * kWidth, count * kWidth,
                      piece.mutable_data<double>() + b * count * kWidth);
        }
        const Tensor added = session.run(
            step, {{"x", piece}, {"position", Tensor::of<std::int64_t>({}, {done})}})["y"];
        for (std::int64_t b = 0; b < kBatch; ++b)
          BOOST_TEST(largest_difference(added, b, reference(rows_of(in, b)), done) < 1e-12);
        done += count;
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(empty_batches_and_texts_give_empty_results) {
  std::vector<Case> all = cases();
  all.push_back({"latent", [](const Scope&, SelfAttentionOptions& o) {
                   o.kv_heads = kHeads;
                   o.latent = {{.kv_rank = 3, .query_rank = 4, .value_size = 5}};
                   o.rotary = 2;
                 }});
  for (const Case& c : all) {
    BOOST_TEST_CONTEXT(c.name) {
      Graph g;
      const Scope net(g, "net");
      SelfAttentionOptions options = usual_options();
      c.change(net, options);
      const SelfAttention layer = make_self_attention(net, DType::f64, kWidth, options);
      const Value x = g.input("x", DType::f64, {"batch", "seq", kWidth});
      const Value mask = g.input("mask", DType::f64, {"batch", 1, 1, "seq"});
      const Program program =
          Program("p").output("y", layer(x)).output("masked", layer(x, {.additive_mask = mask}));
      Session session(g, {.seed = 3});
      for (const auto& [batch, seq] : {std::pair{0, 4}, {2, 0}, {0, 0}}) {
        if (options.linear_bias && seq == 0) continue;  // its table has 2 * seq - 1 columns
        const Results results =
            session.run(program, {{"x", Tensor::full(DType::f64, {batch, seq, kWidth}, 1)},
                                  {"mask", Tensor::full(DType::f64, {batch, 1, 1, seq}, 0)}});
        BOOST_TEST(results["y"].numel() == 0);
        BOOST_TEST(results["masked"].numel() == 0);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(every_mechanism_has_correct_gradients_of_both_orders) {
  for (const Case& c : cases()) {
    for (const bool with_mask : {false, true}) {
      BOOST_TEST_CONTEXT(c.name << (with_mask ? " with a mask" : "")) {
        Graph g;
        const Scope net(g, "net");
        SelfAttentionOptions options = usual_options();
        c.change(net, options);
        const SelfAttention layer = make_self_attention(net, DType::f64, kWidth, options);
        const Value x = g.input("x", DType::f64, {2, 5, kWidth});
        const Value mask = g.input("mask", DType::f64, {2, 1, 1, 5});
        const Value y = with_mask ? layer(x, {.additive_mask = mask}) : layer(x);
        std::vector<Value> wrt = {x};
        GradientCheckOptions check{.feeds = {{"x", normal_tensor({2, 5, kWidth}, 1, DType::f64)}},
                                   .directions = 2,
                                   .second_order = true};
        if (with_mask) {
          check.feeds.emplace_back(
              "mask", Tensor::of<double>({2, 1, 1, 5}, {0, 0, 0, 0, 0, -1e30, 0, 0, 0, 0}));
        }
        std::uint64_t seed = 5;
        for (const Variable& v : g.parameters()) {
          wrt.push_back(v);
          check.variables.emplace_back(
              v.name(), normal_tensor(v.shape().constant(), seed++, DType::f64, 0.3, 0.6));
        }
        BOOST_TEST(check_gradients(y, wrt, check));
      }
    }
  }
}

/// Copies rows [from, from + count) of a matrix with `columns` columns to the end of `to`.
void append_rows(std::vector<double>& to, const Tensor& matrix, std::int64_t from,
                 std::int64_t count) {
  const std::int64_t columns = matrix.rank() == 1 ? 1 : matrix.size(1);
  to.insert(to.end(), matrix.data<double>() + from * columns,
            matrix.data<double>() + (from + count) * columns);
}

BOOST_AUTO_TEST_CASE(fused_projections_equal_separate_ones_in_their_order_of_rows) {
  // Rows of the fused matrix: which of query, key and value, from which head, how many heads.
  struct Part {
    int which;
    std::int64_t head, count;
  };
  const std::vector<std::tuple<QkvProjection, std::int64_t, std::vector<Part>>> layouts = {
      {QkvProjection::fused, 2, {{0, 0, 4}, {1, 0, 2}, {2, 0, 2}}},
      {QkvProjection::fused, 4, {{0, 0, 4}, {1, 0, 4}, {2, 0, 4}}},
      {QkvProjection::fused_by_head, 1, {{0, 0, 4}, {1, 0, 1}, {2, 0, 1}}},
      {QkvProjection::fused_by_head,
       2,
       {{0, 0, 2}, {1, 0, 1}, {2, 0, 1}, {0, 2, 2}, {1, 1, 1}, {2, 1, 1}}},
      {QkvProjection::fused_by_quarter,
       8,
       {{0, 0, 2},
        {2, 0, 2},
        {1, 0, 2},
        {0, 2, 2},
        {2, 2, 2},
        {1, 2, 2},
        {0, 4, 2},
        {2, 4, 2},
        {1, 4, 2},
        {0, 6, 2},
        {2, 6, 2},
        {1, 6, 2}}}};
  for (const auto& [projection, kv_heads, parts] : layouts) {
    BOOST_TEST_CONTEXT(std::string(choice_name(projection)) << " " << kv_heads) {
      const std::int64_t heads = projection == QkvProjection::fused_by_quarter ? 8 : 4;
      Graph g;
      const Value x = g.input("x", DType::f64, {1, 5, kWidth});
      SelfAttentionOptions options{.heads = heads, .kv_heads = kv_heads, .head_size = kSize};
      options.projection = projection;
      const Value fused = make_self_attention(Scope(g, "fused"), DType::f64, kWidth, options)(x);
      options.projection = QkvProjection::separate;
      const Value apart = make_self_attention(Scope(g, "apart"), DType::f64, kWidth, options)(x);
      Session session(g, {.seed = 3});
      randomise(g, session);
      for (const std::string end : {".weight", ".bias"}) {
        std::vector<double> rows;
        for (const Part& part : parts) {
          const char* names[] = {"query", "key", "value"};
          append_rows(rows, session.value("apart." + std::string(names[part.which]) + end),
                      part.head * kSize, part.count * kSize);
        }
        const std::string name = "fused.c_attn" + end;
        session.set_value(name, Tensor::of<double>(session.value(name).sizes(), rows));
        session.set_value("fused.c_proj" + end, session.value("apart.c_proj" + end));
      }
      const Results results = session.run(Program("p").output("a", apart).output("f", fused),
                                          {{"x", normal_tensor({1, 5, kWidth}, 1, DType::f64)}});
      for (std::int64_t i = 0; i < results["a"].numel(); ++i)
        BOOST_TEST(std::abs(results["a"].at(i) - results["f"].at(i)) < 1e-12);
    }
  }
}

BOOST_AUTO_TEST_CASE(chunks_are_counted_from_the_given_positions) {
  Graph g;
  SelfAttentionOptions options = usual_options();
  options.window = 3;
  options.window_chunks = true;
  const SelfAttention layer = make_self_attention(Scope(g, "net"), DType::f64, kWidth, options);
  const Value x = g.input("x", DType::f64, {"batch", "seq", kWidth});
  const Value positions = g.input("positions", DType::i64, {"batch", "seq"});
  const Value mask = g.input("mask", DType::f64, {"batch", 1, 1, "seq"});
  const Program plain = Program("plain").output("y", layer(x));
  const Program counted = Program("counted").output("y", layer(x, {.chunk_positions = positions}));
  const Program masked = Program("masked").output(
      "y", layer(x, {.additive_mask = mask, .chunk_positions = positions}));
  Session session(g, {.seed = 3});
  randomise(g, session);
  // Row 1 has 2 tokens of padding on the left.
  const Tensor in = normal_tensor({2, 8, kWidth}, 1, DType::f64);
  Tensor at = Tensor::empty(DType::i64, {2, 8}),
         padding = Tensor::full(DType::f64, {2, 1, 1, 8}, 0);
  for (std::int64_t i = 0; i < 16; ++i)
    at.mutable_data<std::int64_t>()[i] = i % 8 - (i < 8 ? 0 : 2);
  padding.mutable_data<double>()[8] = padding.mutable_data<double>()[9] = -1e300;
  const Tensor y = session.run(masked, {{"x", in}, {"positions", at}, {"mask", padding}})["y"];
  const Tensor unmasked = session.run(counted, {{"x", in}, {"positions", at}})["y"];
  Tensor text = Tensor::empty(DType::f64, {1, 6, kWidth});
  std::copy_n(in.data<double>() + 10 * kWidth, 6 * kWidth, text.mutable_data<double>());
  const Rows shifted = rows_of(session.run(plain, {{"x", text}})["y"], 0);
  const Rows first = rows_of(session.run(plain, {{"x", in}})["y"], 0);
  for (std::size_t t = 0; t < 6; ++t) {
    for (std::size_t j = 0; j < kWidth; ++j) {
      BOOST_TEST(std::abs(rows_of(y, 1, 2)[t][j] - shifted[t][j]) < 1e-12);
      BOOST_TEST(std::abs(rows_of(y, 0)[t][j] - first[t][j]) < 1e-12);
      // From the second chunk on, padding is in another chunk.
      if (t >= 3) BOOST_TEST(std::abs(rows_of(unmasked, 1, 2)[t][j] - shifted[t][j]) < 1e-12);
    }
  }
}

BOOST_AUTO_TEST_CASE(invalid_attention_options_are_rejected_by_name) {
  const auto rejects = [](const std::function<void(SelfAttentionOptions&)>& change,
                          const std::string& part) {
    Graph g;
    SelfAttentionOptions options = usual_options();
    change(options);
    BOOST_CHECK_EXCEPTION(make_self_attention(Scope(g, "net"), DType::f64, kWidth, options),
                          ArgumentError, says(part));
  };
  rejects([](auto& o) { o.window_chunks = true; }, "window_chunks needs the size of a chunk");
  rejects([](auto& o) { o.projection = QkvProjection::fused_by_quarter; },
          "projection fused_by_quarter needs kv_heads = heads, a multiple of 4, not heads "
          "4 and kv_heads 2");
  rejects([](auto& o) { o.latent = {{.kv_rank = 4}}; },
          "latent attention needs kv_heads equal to heads");
  rejects(
      [](auto& o) {
        o.kv_heads = kHeads;
        o.latent.emplace();
      },
      "latent attention needs a kv_rank of at least 1");
  rejects(
      [](auto& o) {
        o.kv_heads = kHeads;
        o.rotary = kSize;
        o.latent = {{.kv_rank = 4}};
      },
      "6 rotary features of 6");
  Graph g;
  BOOST_CHECK_EXCEPTION(make_norm(Scope(g, "n"), DType::f64, 4, {.weights = false, .offset = true}),
                        ArgumentError, says("a norm without weights has no offset"));
  BOOST_CHECK_EXCEPTION(make_norm(Scope(g, "n"), DType::f64, 4, {.heads = -1}), ArgumentError,
                        says("the number of heads must not be negative, but is -1"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
