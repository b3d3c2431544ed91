// Rotary positions with scaled frequencies: the formulas, and the corresponding keys in Hugging
// Face configs.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/hf/gpt.h"
#include "weft/models/layers/attention/positions.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(rotary)
namespace {

constexpr std::int64_t kBatch = 2, kHeads = 3, kSeq = 21, kSize = 10, kFeatures = 8;
constexpr double kBase = 500;

/// Returns the frequency of one feature pair according to the published formulas.
double frequency(std::int64_t pair, const RotaryScaling& scaling) {
  const double j = static_cast<double>(pair), n = kFeatures;
  const double context = static_cast<double>(scaling.context);
  const double plain = 1 / std::pow(kBase, 2 * j / n);
  switch (scaling.kind) {
    case RotaryScalingKind::none: return plain;
    case RotaryScalingKind::linear: return plain / scaling.factor;
    case RotaryScalingKind::dynamic: {
      const double length = std::max<double>(kSeq, context);
      const double base =
          kBase * std::pow(scaling.factor * length / context - (scaling.factor - 1), n / (n - 2));
      return 1 / std::pow(base, 2 * j / n);
    }
    case RotaryScalingKind::yarn: {
      const auto pair_of = [&](double turns) {
        return n * std::log(context / (2 * std::numbers::pi * turns)) / (2 * std::log(kBase));
      };
      double low = pair_of(scaling.beta_fast), high = pair_of(scaling.beta_slow);
      if (scaling.truncate) low = std::floor(low), high = std::ceil(high);
      low = std::max(low, 0.0), high = std::min(high, n - 1);
      const double ramp = std::clamp((j - low) / (high - low), 0.0, 1.0);
      return plain / scaling.factor * ramp + plain * (1 - ramp);
    }
    case RotaryScalingKind::longrope:
      return plain / (kSeq > scaling.context ? scaling.long_factors
                                             : scaling.short_factors)[static_cast<std::size_t>(j)];
    case RotaryScalingKind::llama3: break;
  }
  const double wavelength = 2 * std::numbers::pi / plain;
  if (wavelength < context / scaling.high_factor) return plain;
  if (wavelength > context / scaling.low_factor) return plain / scaling.factor;
  const double smooth =
      (context / wavelength - scaling.low_factor) / (scaling.high_factor - scaling.low_factor);
  return (1 - smooth) * plain / scaling.factor + smooth * plain;
}

/// Returns the factor of cosines and sines according to the published formulas.
double attention_factor(const RotaryScaling& scaling) {
  const auto m = [&](double weight) { return 0.1 * weight * std::log(scaling.factor) + 1; };
  if (scaling.attention_factor > 0) return scaling.attention_factor;
  if (scaling.kind == RotaryScalingKind::yarn)
    return scaling.mscale_all > 0 ? m(scaling.mscale) / m(scaling.mscale_all) : m(1);
  if (scaling.kind == RotaryScalingKind::longrope)
    return std::sqrt(1 + std::log(scaling.factor) / std::log(static_cast<double>(scaling.context)));
  return 1;
}

BOOST_AUTO_TEST_CASE(scaled_rotary_positions_match_the_formulas) {
  const std::vector<RotaryScaling> scalings = {
      {},
      {.kind = RotaryScalingKind::linear, .factor = 3},
      // This scaling leaves the frequencies unchanged, because the context is not exceeded.
      {.kind = RotaryScalingKind::dynamic, .factor = 2, .context = kSeq},
      {.kind = RotaryScalingKind::dynamic, .factor = 2.5, .context = kSeq - 9},
      {.kind = RotaryScalingKind::llama3, .factor = 8, .context = 100},
      {.kind = RotaryScalingKind::yarn, .factor = 4, .context = 300},
      {.kind = RotaryScalingKind::yarn,
       .factor = 4,
       .context = 100,
       .beta_fast = 5,
       .beta_slow = 0.5,
       .truncate = false,
       .mscale = 0.7,
       .mscale_all = 1.2},
      {.kind = RotaryScalingKind::yarn, .factor = 2, .context = 30, .attention_factor = 0.8},
      {.kind = RotaryScalingKind::longrope,
       .factor = 3,
       .context = kSeq,
       .short_factors = {1, 1.1, 1.5, 2},
       .long_factors = {2, 3, 4, 5}},
      {.kind = RotaryScalingKind::longrope,
       .factor = 3,
       .context = kSeq - 1,
       .short_factors = {1, 1.1, 1.5, 2},
       .long_factors = {2, 3, 4, 5}}};
  for (const RotaryScaling& scaling : scalings) {
    for (const int form : {0, 1, 2, 3}) {
      const bool per_row = form % 2 == 1, adjacent = form >= 2;
      BOOST_TEST_CONTEXT(std::string(choice_name(scaling.kind))
                         << " per_row=" << per_row << " adjacent=" << adjacent) {
        Graph g;
        const Value x = g.input("x", DType::f64, {"batch", kHeads, "seq", kSize});
        const Value positions = per_row ? g.input("p", DType::i64, {"batch", "seq"})
                                        : g.input("p", DType::i64, {"seq"});
        const Value length = dim_value(g, x.size(2), DType::i64);
        const Program program = Program("p").output(
            "y", scaled_rotary(x, positions, length, kFeatures, kBase, scaling, adjacent));
        Tensor in = Tensor::empty(DType::f64, {kBatch, kHeads, kSeq, kSize});
        for (std::int64_t i = 0; i < in.numel(); ++i)
          in.mutable_data<double>()[i] = std::sin(static_cast<double>(i + 1));
        Tensor at = Tensor::empty(DType::i64, per_row ? Sizes{kBatch, kSeq} : Sizes{kSeq});
        for (std::int64_t i = 0; i < at.numel(); ++i)
          at.mutable_data<std::int64_t>()[i] = (i * 7) % 31;
        Session session(g, {.threads = 1});
        const Tensor y = session.run(program, {{"x", in}, {"p", at}})["y"];
        double worst = 0;
        for (std::int64_t row = 0; row < kBatch * kHeads * kSeq; ++row) {
          const std::int64_t batch = row / kSeq / kHeads, t = row % kSeq;
          const double position = at.at(per_row ? batch * kSeq + t : t);
          for (std::int64_t j = 0; j < kSize; ++j) {
            double expected = in.at(row * kSize + j);
            if (j < kFeatures) {
              const std::int64_t pair = adjacent ? j / 2 : j % (kFeatures / 2);
              const std::int64_t first = adjacent ? 2 * pair : pair;
              const std::int64_t second = adjacent ? first + 1 : pair + kFeatures / 2;
              const double angle = position * frequency(pair, scaling);
              const double a = in.at(row * kSize + first), b = in.at(row * kSize + second);
              expected = (j == first ? a * std::cos(angle) - b * std::sin(angle)
                                     : b * std::cos(angle) + a * std::sin(angle)) *
                         attention_factor(scaling);
            }
            worst = std::max(worst, std::abs(y.at(row * kSize + j) - expected));
          }
        }
        BOOST_TEST(worst < 1e-12);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_single_feature_pair_has_frequency_one_for_any_base) {
  Graph g;
  const Value x = g.input("x", DType::f64, {1, 1, "seq", 2});
  const Value positions = g.input("p", DType::i64, {"seq"});
  const Program program = Program("p").output(
      "y", scaled_rotary(x, positions, dim_value(g, x.size(2), DType::i64), 2, kBase,
                         {.kind = RotaryScalingKind::dynamic, .factor = 2, .context = 2}));
  Session session(g, {.threads = 1});
  const Tensor y = session.run(program, {{"x", Tensor::full(DType::f64, {1, 1, 3, 2}, 1)},
                                         {"p", Tensor::of<std::int64_t>({3}, {0, 1, 2})}})["y"];
  BOOST_TEST(std::abs(y.at(4) - (std::cos(2.0) - std::sin(2.0))) < 1e-12);
}

BOOST_AUTO_TEST_CASE(texts_of_one_batch_use_the_factors_of_their_own_lengths) {
  Graph g;
  const RotaryScaling scaling{.kind = RotaryScalingKind::longrope,
                              .factor = 2,
                              .context = 5,
                              .short_factors = {1, 2},
                              .long_factors = {3, 4}};
  const Value x = g.input("x", DType::f64, {2, 1, 1, 4});
  const Value length = g.input("length", DType::i64, {2});
  const Program program = Program("p").output(
      "y", scaled_rotary(x, g.input("p", DType::i64, {2, 1}), length, 4, kBase, scaling));
  Session session(g, {.threads = 1});
  const Tensor y = session.run(program, {{"x", Tensor::full(DType::f64, {2, 1, 1, 4}, 1)},
                                         {"p", Tensor::of<std::int64_t>({2, 1}, {4, 4})},
                                         {"length", Tensor::of<std::int64_t>({2}, {5, 6})}})["y"];
  const double factor = std::sqrt(1 + std::log(2.0) / std::log(5.0));
  for (const std::int64_t row : {0, 1}) {
    const double angle = 4.0 / (row == 0 ? 1 : 3);
    BOOST_TEST(std::abs(y.at(4 * row) - factor * (std::cos(angle) - std::sin(angle))) < 1e-12);
  }
  BOOST_CHECK_EXCEPTION(rotary_frequencies(6, kBase, scaling), ArgumentError, [](const Error& e) {
    return std::string(e.what()).find(
               "longrope needs a short and a long factor for each of 3 "
               "pairs of features, not 2 and 2") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(old_and_new_rotary_config_keys_are_supported) {
  const GptConfig linear = hf::gpt_config(
      R"({"model_type": "llama", "rope_theta": 5000.0,
          "rope_scaling": {"type": "linear", "factor": 2.0}})");
  BOOST_TEST(linear.rotary_base == 5000);
  BOOST_TEST((linear.rotary_scaling == RotaryScalingKind::linear));
  BOOST_TEST(linear.rotary_factor == 2);
  BOOST_TEST((hf::gpt_config(R"({"model_type": "llama", "rope_parameters":
                                 {"rope_type": "linear", "factor": 2.0, "rope_theta": 5000.0}})") ==
              linear));
  const GptConfig dynamic = hf::gpt_config(
      R"({"model_type": "mistral", "max_position_embeddings": 64,
          "rope_scaling": {"rope_type": "dynamic", "factor": 4}})");
  BOOST_TEST((dynamic.rotary_scaling == RotaryScalingKind::dynamic));
  BOOST_TEST(dynamic.rotary_context == 64);
  const GptConfig llama3 = hf::gpt_config(
      R"({"model_type": "llama", "head_dim": 64, "mlp_bias": true, "attention_bias": true,
          "tie_word_embeddings": true,
          "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.5,
                           "high_freq_factor": 5.0, "original_max_position_embeddings": 8192}})");
  BOOST_TEST((llama3.scaling() == RotaryScaling{.kind = RotaryScalingKind::llama3,
                                                .factor = 32,
                                                .low_factor = 1.5,
                                                .high_factor = 5,
                                                .context = 8192}));
  BOOST_TEST(llama3.head_size() == 64);
  BOOST_TEST((llama3.mlp_bias && llama3.attention_bias && llama3.tied_head));
  const GptConfig neox = hf::gpt_config(
      R"({"model_type": "gpt_neox", "rope_parameters":
          {"rope_type": "default", "rope_theta": 99, "partial_rotary_factor": 0.5}})");
  BOOST_TEST(neox.rotary_base == 99);
  BOOST_TEST(neox.rotary_share == 0.5);
  BOOST_TEST((hf::gpt_config(R"({"model_type": "llama", "rope_scaling": null})") ==
              hf::gpt_config(R"({"model_type": "llama"})")));
}

BOOST_AUTO_TEST_CASE(invalid_scalings_are_rejected) {
  GptConfig config = GptConfig::llama();
  const auto rejects = [&](const std::string& part) {
    BOOST_CHECK_EXCEPTION(config.check(), ArgumentError, [&](const Error& e) {
      BOOST_TEST_INFO(e.what());
      return std::string(e.what()).find(part) != std::string::npos;
    });
  };
  config.rotary_scaling = RotaryScalingKind::llama3;
  rejects("rotary_scaling llama3 needs a rotary_context of at least 1, not 0");
  config.rotary_context = 64;
  config.rotary_low_factor = 4;
  rejects("rotary_high_factor 4 must be larger than rotary_low_factor 4");
  config.rotary_factor = 0;
  rejects("rotary_factor must be at least 1 and finite, not 0");
  config.positions = GptPositions::none;
  rejects("rotary_scaling llama3 needs rotary positions, not none");
  config = GptConfig::llama();
  config.head_dim = -1;
  rejects("head_dim must be 0 (width / heads) or more, not -1");
  BOOST_CHECK_EXCEPTION(parse_choice<RotaryScalingKind>("ntk"), ArgumentError, [](const Error& e) {
    return std::string(e.what()).find("expected one of none, linear, dynamic, llama3") !=
           std::string::npos;
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
