// The mechanisms of newer encoders (rotary and relative positions, windows, gated blocks, grouped
// keys, further norms) against direct formulas in double precision.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_heads.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(modern_encoder)
namespace {

using testing::says;
using Row = std::vector<double>;
using Rows = std::vector<Row>;  // one row per token

struct Variant {
  std::string name;
  EncoderConfig config;
};

EncoderConfig small(EncoderConfig config) {
  config.vocab = 23;
  config.padding_id = 0;
  config.layers = 3;
  config.heads = 4;
  config.width = 24;
  config.inner = 20;
  config.context = 20;
  config.initializer_range = 0.4;
  return config;
}

std::vector<Variant> variants() {
  EncoderConfig modern = small(EncoderConfig::modernbert());
  modern.window = 4;
  modern.rotary_base = 500;
  modern.rotary_window_base = 20;
  EncoderConfig bert = small({});
  bert.positions = EncoderPositions::rotary;
  std::vector<Variant> result = {{"modernbert", modern}};
  const auto add = [&](const std::string& name, EncoderConfig config,
                       const std::function<void(EncoderConfig&)>& change) {
    change(config);
    result.push_back({name, config});
  };
  add("biases", modern, [](EncoderConfig& c) {
    c.attention_bias = c.mlp_bias = c.norm_bias = true;
    c.window = 5;  // the same window as 4
    c.window_layers = "";
  });
  add("separate", modern, [](EncoderConfig& c) {
    c.fused_qkv = c.fused_gate = false;
    c.window = 1;  // tokens see only themselves
    c.rotary_window_base = 0;
  });
  add("eurobert", modern, [](EncoderConfig& c) {
    c.fused_qkv = c.fused_gate = c.embedding_norm = c.norm_bias = false;
    c.first_attention_norm = c.rms_norm = true;
    c.window = 0;
    c.window_layers = "";
    c.rotary_window_base = 0;
    c.kv_heads = 2;
    c.head_size = 8;
    c.activation = Activation::silu;
  });
  add("roformer", bert, [](EncoderConfig& c) { c.rotary_adjacent = true; });
  add("rotated_values", bert, [](EncoderConfig& c) { c.rotary_adjacent = c.rotary_values = true; });
  add("partly_rotated", bert, [](EncoderConfig& c) {
    c.rotary_share = 0.7;  // 4 of 6 features
    c.fused_qkv = true;
    c.kv_heads = 1;
  });
  add("gte", bert, [](EncoderConfig& c) {
    c.gated = true;
    c.up_bias = false;
    c.token_types = 0;
  });
  add("scaled", bert, [](EncoderConfig& c) {
    c.rotary_scaling = RotaryScalingKind::linear;
    c.rotary_factor = 4;
    c.window = 6;
    c.window_layers = "01";
    c.rotary_window_base = 30;  // without scaling
  });
  add("mpnet", bert, [](EncoderConfig& c) {
    c.positions = EncoderPositions::relative_bias;
    c.relative_buckets = 8;
    c.relative_max_distance = 6;
  });
  add("grouped_bias", bert, [](EncoderConfig& c) {
    c.positions = EncoderPositions::relative_bias;
    c.kv_heads = 2;
    c.window = 8;
  });
  add("ernie", bert, [](EncoderConfig& c) {
    c.positions = EncoderPositions::absolute;
    c.task_types = 3;
  });
  add("clip", bert, [](EncoderConfig& c) {
    c.positions = EncoderPositions::absolute;
    c.token_types = 0;
    c.norm_first = c.final_norm = c.causal = true;
    c.activation = Activation::quick_gelu;
  });
  add("causal_rotary", bert, [](EncoderConfig& c) {
    c.causal = true;
    c.window = 6;
  });
  return result;
}

/// An encoder computed by direct formulas from the weights of a session.
class Reference {
 public:
  Reference(const EncoderConfig& config, Session& session) : c_(config), session_(session) {}

  Rows operator()(const std::vector<std::int64_t>& ids, std::int64_t task_type = 0) const {
    Rows h;
    for (std::size_t t = 0; t < ids.size(); ++t) {
      Row x = row("embeddings.tokens", ids[t]);
      if (c_.token_types > 0) add(x, row("embeddings.token_types", 0));
      if (c_.task_types > 0) add(x, row("embeddings.task_types", task_type));
      if (c_.positions != EncoderPositions::rotary)
        add(x, row("embeddings.positions", static_cast<std::int64_t>(t)));
      h.push_back(c_.norm_first && !c_.embedding_norm ? x : norm(x, "embeddings.norm"));
    }
    for (std::int64_t i = 0; i < c_.layers; ++i) layer(h, i);
    if (c_.final_norm) {
      for (Row& x : h) x = norm(x, "final_norm");
    }
    return h;
  }

 private:
  static void add(Row& x, const Row& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }
  Row values(const std::string& name) const {
    const Tensor t = session_.value(name);
    return {t.data<float>(), t.data<float>() + t.numel()};
  }
  bool has(const std::string& name) const { return session_.store()->contains(name); }
  Row row(const std::string& table, std::int64_t index) const {
    const Row all = values(table + ".weight");
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(index * c_.width);
    return {from, from + static_cast<std::ptrdiff_t>(c_.width)};
  }
  Row linear(const Row& x, const std::string& name) const {
    const Row w = values(name + ".weight");
    Row y(w.size() / x.size());
    if (has(name + ".bias")) y = values(name + ".bias");
    for (std::size_t o = 0; o < y.size(); ++o) {
      for (std::size_t i = 0; i < x.size(); ++i) y[o] += w[o * x.size() + i] * x[i];
    }
    return y;
  }
  Row norm(const Row& x, const std::string& name) const {
    const double n = static_cast<double>(x.size());
    double mean = 0, square = 0;
    for (const double e : x) mean += c_.rms_norm ? 0 : e / n;
    for (const double e : x) square += (e - mean) * (e - mean) / n;
    Row y = values(name + ".weight");
    for (std::size_t i = 0; i < x.size(); ++i)
      y[i] *= (x[i] - mean) / std::sqrt(square + c_.layer_norm_eps);
    if (has(name + ".bias")) add(y, values(name + ".bias"));
    return y;
  }
  double activated(double x) const {
    switch (c_.activation) {
      case Activation::silu: return x / (1 + std::exp(-x));
      case Activation::quick_gelu: return x / (1 + std::exp(-1.702 * x));
      default: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    }
  }
  /// Splits the rows of a fused layer.
  static Row part(const Row& x, std::size_t from, std::size_t count) {
    return {x.begin() + static_cast<std::ptrdiff_t>(from),
            x.begin() + static_cast<std::ptrdiff_t>(from + count)};
  }
  Row feed_forward(const Row& x, const std::string& name) const {
    const auto inner = static_cast<std::size_t>(c_.inner);
    Row gate, up;
    if (c_.fused_gate) {
      const Row both = linear(x, name + ".gate_up");
      gate = part(both, 0, inner);
      up = part(both, inner, inner);
    } else {
      up = linear(x, name + ".up");
      gate = c_.gated ? linear(x, name + ".gate") : up;
    }
    Row y(inner);
    for (std::size_t i = 0; i < inner; ++i) y[i] = activated(gate[i]) * (c_.gated ? up[i] : 1);
    return linear(y, name + ".down");
  }
  void rotate(Row& x, double position, bool local) const {
    const std::int64_t pairs = c_.rotary_size() / 2;
    const bool own = local && c_.rotary_window_base != 0;
    const double base = own ? c_.rotary_window_base : c_.rotary_base;
    const double factor = own ? 1 : c_.rotary_factor;
    for (std::int64_t j = 0; j < pairs; ++j) {
      const double angle =
          position / factor * std::pow(base, -static_cast<double>(j) / static_cast<double>(pairs));
      double& a = x[static_cast<std::size_t>(c_.rotary_adjacent ? 2 * j : j)];
      double& b = x[static_cast<std::size_t>(c_.rotary_adjacent ? 2 * j + 1 : j + pairs)];
      const double first = a * std::cos(angle) - b * std::sin(angle);
      b = b * std::cos(angle) + a * std::sin(angle);
      a = first;
    }
  }
  double bias(std::int64_t head, std::int64_t i, std::int64_t j) const {
    if (c_.positions != EncoderPositions::relative_bias) return 0;
    // T5's buckets for both directions.
    const std::int64_t half = c_.relative_buckets / 2, exact = half / 2, far = std::abs(j - i);
    std::int64_t bucket = far;
    if (far >= exact) {
      const double share =
          std::log(static_cast<double>(far) / static_cast<double>(exact)) /
          std::log(static_cast<double>(c_.relative_max_distance) / static_cast<double>(exact));
      bucket = std::min(half - 1, exact + static_cast<std::int64_t>(
                                              share * static_cast<double>(half - exact) + 1e-6));
    }
    if (j > i) bucket += half;
    return values("relative_bias.weight")[static_cast<std::size_t>(bucket * c_.heads + head)];
  }
  Rows attention(const Rows& x, const std::string& name, bool local) const {
    const auto size = static_cast<std::size_t>(c_.head_width());
    const auto heads = static_cast<std::size_t>(c_.heads);
    const auto kv = static_cast<std::size_t>(c_.key_heads());
    std::vector<Rows> q(x.size()), k(x.size()), v(x.size());  // [token][head]
    for (std::size_t t = 0; t < x.size(); ++t) {
      Row all = c_.fused_qkv ? linear(x[t], name + ".qkv") : linear(x[t], name + ".query");
      if (!c_.fused_qkv) {
        for (const char* more : {".key", ".value"}) {
          const Row y = linear(x[t], name + more);
          all.insert(all.end(), y.begin(), y.end());
        }
      }
      for (std::size_t h = 0; h < heads + 2 * kv; ++h) {
        Row y = part(all, h * size, size);
        const bool rotates = h < heads + kv || c_.rotary_values;
        if (rotates) rotate(y, static_cast<double>(t), local);
        (h < heads ? q : h < heads + kv ? k : v)[t].push_back(y);
      }
    }
    Rows result;
    for (std::size_t i = 0; i < x.size(); ++i) {
      Row joined;
      for (std::size_t h = 0; h < heads; ++h) {
        const std::size_t group = h / (heads / kv);
        Row p(x.size()), y(size);
        double total = 0;
        for (std::size_t j = 0; j < x.size(); ++j) {
          const auto a = static_cast<std::int64_t>(i), b = static_cast<std::int64_t>(j);
          if ((local && std::abs(a - b) > c_.window / 2) || (c_.causal && b > a)) continue;
          double score = 0;
          for (std::size_t d = 0; d < size; ++d) score += q[i][h][d] * k[j][group][d];
          p[j] = std::exp(score / std::sqrt(static_cast<double>(size)) +
                          bias(static_cast<std::int64_t>(h), a, b));
          total += p[j];
        }
        for (std::size_t j = 0; j < x.size(); ++j) {
          for (std::size_t d = 0; d < size; ++d) y[d] += p[j] / total * v[j][group][d];
        }
        joined.insert(joined.end(), y.begin(), y.end());
      }
      result.push_back(linear(joined, name + ".out"));
    }
    return result;
  }
  void layer(Rows& h, std::int64_t index) const {
    const std::string name = "layers." + std::to_string(index) + ".";
    const bool local =
        c_.window > 0 &&
        (c_.window_layers.empty() ||
         c_.window_layers[static_cast<std::size_t>(index) % c_.window_layers.size()] == '1');
    Rows x = h;
    if (c_.norm_first && (index > 0 || c_.first_attention_norm)) {
      for (Row& e : x) e = norm(e, name + "attention_norm");
    }
    const Rows attended = attention(x, name + "attention", local);
    for (std::size_t t = 0; t < h.size(); ++t) {
      add(h[t], attended[t]);
      if (c_.norm_first) {
        add(h[t], feed_forward(norm(h[t], name + "feed_forward_norm"), name + "feed_forward"));
        continue;
      }
      h[t] = norm(h[t], name + "attention_norm");
      add(h[t], feed_forward(h[t], name + "feed_forward"));
      h[t] = norm(h[t], name + "feed_forward_norm");
    }
  }

  const EncoderConfig& c_;
  Session& session_;
};

/// Gives every parameter random values, so that those that start at 0 or 1 have an effect.
void randomise(const Graph& graph, Session& session) {
  session.initialise();
  std::uint64_t seed = 20;
  for (const Variable& v : graph.parameters()) {
    const bool factor = v.name().ends_with("norm.weight");
    session.set_value(v.name(), normal_tensor(session.value(v.name()).sizes(), seed++, DType::f32,
                                              factor ? 1.0 : 0.0, factor ? 0.2 : 0.3));
  }
}

Tensor ids_of(const std::vector<std::int64_t>& ids) {
  return Tensor::of({1, std::ssize(ids)}, ids);
}

double largest_difference(const Tensor& h, const Rows& expected, std::int64_t first = 0) {
  double most = 0;
  for (std::size_t t = 0; t < expected.size(); ++t) {
    for (std::size_t j = 0; j < expected[t].size(); ++j) {
      const std::int64_t at = (first + static_cast<std::int64_t>(t)) * h.size(2);
      most = std::max(most, std::abs(h.at(at + static_cast<std::int64_t>(j)) - expected[t][j]));
    }
  }
  return most;
}

const std::vector<std::int64_t> kIds = {3, 7, 1, 22, 5, 5, 9, 14, 2, 11, 6};

BOOST_AUTO_TEST_CASE(every_mechanism_matches_its_formula) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      const EncoderConfig& config = variant.config;
      Graph g;
      const Encoder encoder(Scope(g), config);
      EncoderInputs inputs{.ids = g.input("ids", DType::i64, {"batch", "seq"})};
      if (config.task_types > 0)
        inputs.task_type_ids = g.input("tasks", DType::i64, {"batch", "seq"});
      const Program program = Program("p").output("h", encoder(inputs).last_hidden_state);
      Session session(g, {.threads = 2});
      randomise(g, session);
      NamedTensors feeds = {{"ids", ids_of(kIds)}};
      if (config.task_types > 0)
        feeds.emplace_back("tasks", Tensor::full(DType::i64, {1, std::ssize(kIds)}, 2));
      const Tensor h = session.run(program, feeds)["h"];
      const Rows expected = Reference(config, session)(kIds, config.task_types > 0 ? 2 : 0);
      BOOST_TEST(largest_difference(h, expected) < 2e-4);
    }
  }
}

BOOST_AUTO_TEST_CASE(padding_on_either_side_does_not_change_the_tokens) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      const EncoderConfig& config = variant.config;
      Graph g;
      const Encoder encoder(Scope(g), config);
      const EncoderInputs inputs{.ids = g.input("ids", DType::i64, {"batch", "seq"}),
                                 .attention_mask = g.input("mask", DType::i64, {"batch", "seq"})};
      const Program program = Program("p").output("h", encoder(inputs).last_hidden_state);
      Session session(g, {.threads = 2});
      randomise(g, session);
      const Rows expected = Reference(config, session)(kIds);
      // More padding than a window contains, so that some padding sees no token.
      constexpr std::int64_t kPadding = 9;
      for (const bool left : {false, true}) {
        // Learned positions count from the first id, and rotated values contain the position.
        const bool relative = config.positions == EncoderPositions::rotary && !config.rotary_values;
        if (left && !relative) continue;
        std::vector<std::int64_t> ids = kIds, mask(kIds.size(), 1);
        ids.insert(left ? ids.begin() : ids.end(), kPadding, 0);
        mask.insert(left ? mask.begin() : mask.end(), kPadding, 0);
        const Tensor h = session.run(program, {{"ids", ids_of(ids)}, {"mask", ids_of(mask)}})["h"];
        BOOST_TEST(largest_difference(h, expected, left ? kPadding : 0) < 2e-4, left);
        for (std::int64_t i = 0; i < h.numel(); ++i) BOOST_TEST_REQUIRE(std::isfinite(h.at(i)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(texts_longer_than_the_context_are_read_with_rotary_positions) {
  const EncoderConfig config = variants()[0].config;
  Graph g;
  const Encoder encoder(Scope(g), config);
  const Program program = Program("p").output(
      "h", encoder({.ids = g.input("ids", DType::i64, {"batch", "seq"})}).last_hidden_state);
  Session session(g, {.threads = 2});
  randomise(g, session);
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < 3 * config.context; ++i) ids.push_back(1 + i * i % 22);
  const Tensor h = session.run(program, {{"ids", ids_of(ids)}})["h"];
  BOOST_TEST(largest_difference(h, Reference(config, session)(ids)) < 2e-4);
}

BOOST_AUTO_TEST_CASE(configs_round_trip_and_old_files_have_the_defaults_of_new_fields) {
  for (const Variant& variant : variants())
    BOOST_TEST((EncoderConfig::from_json(variant.config.to_json()) == variant.config),
               variant.name);
  // The fields of a file that was written before these mechanisms existed.
  std::string old = "{\"family\": \"encoder\"";
  for (const Field& field : EncoderConfig::fields().fields()) {
    if (field.added) continue;
    const std::string all = EncoderConfig().to_json(), key = "\"" + field.name + "\":";
    const std::size_t from = all.find(key);
    BOOST_TEST_REQUIRE(from != all.npos, field.name);
    old += ", " + all.substr(from, all.find_first_of(",}", from) - from);
  }
  BOOST_TEST((EncoderConfig::from_json(old + "}") == EncoderConfig()));
}

BOOST_AUTO_TEST_CASE(contradictory_settings_are_rejected_by_name) {
  const auto rejects = [](const EncoderConfig& from,
                          const std::function<void(EncoderConfig&)>& change,
                          const std::string& message) {
    EncoderConfig config = from;
    change(config);
    BOOST_CHECK_EXCEPTION(config.check(), ArgumentError, says(message));
  };
  const EncoderConfig modern = variants()[0].config;
  const EncoderConfig bert = small({});
  const auto bert_rejects = [&](const std::function<void(EncoderConfig&)>& change,
                                const std::string& message) { rejects(bert, change, message); };
  bert_rejects([](EncoderConfig& c) { c.kv_heads = 3; }, "kv_heads 3 must divide heads 4");
  bert_rejects([](EncoderConfig& c) { c.kv_heads = -1; }, "kv_heads must be at least 0, not -1");
  bert_rejects([](EncoderConfig& c) { c.window = -1; },
               "attention_window must be at least 0, not -1");
  bert_rejects([](EncoderConfig& c) { c.task_types = -1; },
               "task_types must be at least 0, not -1");
  bert_rejects([](EncoderConfig& c) { c.window_layers = "01"; },
               "window_layers needs an attention_window");
  bert_rejects([](EncoderConfig& c) { c.window = 4, c.window_layers = "0120"; },
               "window_layers must be a pattern of 0 and 1");
  bert_rejects([](EncoderConfig& c) { c.window = 4, c.window_layers = "0101"; },
               "window_layers is a pattern of 4 layers, but the model has 3");
  bert_rejects([](EncoderConfig& c) { c.rotary_adjacent = true; },
               "rotary_adjacent needs rotary positions");
  bert_rejects([](EncoderConfig& c) { c.rotary_values = true; },
               "rotary_values needs rotary positions");
  bert_rejects([](EncoderConfig& c) { c.fused_qkv = true; }, "fused_qkv needs rotary positions");
  bert_rejects([](EncoderConfig& c) { c.rotary_scaling = RotaryScalingKind::linear; },
               "rotary_scaling linear needs rotary positions, not absolute");
  bert_rejects([](EncoderConfig& c) { c.embedding_norm = true; },
               "embedding_norm needs norm_first");
  bert_rejects([](EncoderConfig& c) { c.final_norm = true; }, "final_norm needs norm_first");
  bert_rejects([](EncoderConfig& c) { c.first_attention_norm = false; },
               "first_attention_norm = false needs norm_first");
  bert_rejects([](EncoderConfig& c) { c.fused_gate = true; }, "fused_gate needs gated");
  bert_rejects([](EncoderConfig& c) { c.mlp_bias = c.up_bias = false; },
               "up_bias = false needs mlp_bias");
  bert_rejects([](EncoderConfig& c) { c.inner_dropout = 1; }, "inner_dropout must be in [0, 1)");
  bert_rejects([](EncoderConfig& c) { c.embedding_dropout = -1; },
               "embedding_dropout must be in [0, 1)");
  bert_rejects([](EncoderConfig& c) { c.attention_out_dropout = 2; },
               "attention_out_dropout must be in [0, 1)");
  bert_rejects([](EncoderConfig& c) { c.head_activation = "round"; }, "round");
  bert_rejects(
      [](EncoderConfig& c) {
        c.positions = EncoderPositions::relative_bias;
        c.relative_buckets = 2;
      },
      "relative_buckets 2 must be at least 4");
  bert_rejects(
      [](EncoderConfig& c) {
        c.positions = EncoderPositions::relative_key;
        c.kv_heads = 2;
      },
      "kv_heads needs positions other than relative_key");
  for (const auto& [name, change] :
       {std::pair<std::string, std::function<void(EncoderConfig&)>>{
            "attention_window", [](EncoderConfig& c) { c.window = 2; }},
        {"causal", [](EncoderConfig& c) { c.causal = true; }},
        {"kv_heads", [](EncoderConfig& c) { c.kv_heads = 2; }},
        {"attention_bias = false", [](EncoderConfig& c) { c.attention_bias = false; }}}) {
    EncoderConfig config = bert;
    config.positions = EncoderPositions::disentangled;
    rejects(config, change, name + " needs positions other than disentangled");
  }
  rejects(
      modern, [](EncoderConfig& c) { c.rotary_share = 0; },
      "rotary_share must be in (0, 1], not 0");
  rejects(
      modern, [](EncoderConfig& c) { c.rotary_share = 0.5; },
      "rotary_share 0.5 of head size 6 is 3 features: the number must be even");
  rejects(
      modern, [](EncoderConfig& c) { c.rotary_base = 0; }, "rotary_base must be positive");
  rejects(
      modern, [](EncoderConfig& c) { c.layer_groups = 1; },
      "window_layers needs layers with their own weights (layer_groups 0)");
  rejects(
      modern,
      [](EncoderConfig& c) {
        c.rotary_scaling = RotaryScalingKind::yarn;
        c.rotary_factor = 2;
      },
      "rotary_scaling yarn needs a rotary_context of at least 1, not 0");
  EncoderConfig narrow = modern;
  narrow.embedding_width = 12;
  narrow.embedding_projection = EmbeddingProjection::after_norm;
  narrow.head_transform = false;
  Graph g;
  const Encoder encoder(Scope(g), narrow);
  BOOST_CHECK_EXCEPTION(make_masked_lm_head(Scope(g, "masked_lm"), encoder, {}), ArgumentError,
                        says("head_transform false"));
}

BOOST_AUTO_TEST_CASE(poolings_of_classifiers_match_their_formulas) {
  Graph g;
  const Value h = g.input("h", DType::f32, {"batch", "seq", 2});
  const Value mask = g.input("mask", DType::i32, {"batch", "seq"});
  EncoderConfig config;
  config.width = 2;
  config.heads = 1;
  Program program("p");
  for (const HeadPooling pooling : {HeadPooling::first, HeadPooling::mean, HeadPooling::late}) {
    config.head_pooling = pooling;
    const std::string name(choice_name(pooling));
    const Pooler pooler = make_pooler(Scope(g, name), config, Activation::relu);
    program.output(name, pooler(h, mask))
        .output(name + " of all", pooler(h))
        .output(name + " hidden", pooler.hidden(h));
  }
  Session session(g, {.threads = 1});
  session.initialise();
  for (const char* name : {"first", "mean", "late"})
    session.set_value(name + std::string(".weight"), Tensor::of<float>({2, 2}, {1, 0, 0, 1}));
  const Results r = session.run(program, {{"h", Tensor::of<float>({1, 3, 2}, {1, -2, -3, 4, 5, 5})},
                                          {"mask", Tensor::of<std::int32_t>({1, 3}, {1, 1, 0})}});
  const auto is = [&](const std::string& name, double x, double y) {
    BOOST_TEST(std::abs(r[name].at(0) - x) < 1e-6, name);
    BOOST_TEST(std::abs(r[name].at(1) - y) < 1e-6, name);
  };
  is("first", 1, 0);
  is("first hidden", 1, 0);
  is("mean", 0, 1);    // relu of the mean (-1, 1)
  is("late", 0.5, 2);  // mean of (1, 0) and (0, 4)
  is("mean of all", 1, 7.0 / 3);
  is("late of all", 2, 3);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
