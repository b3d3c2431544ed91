// Encoders and poolings over texts without padding: the results of padded batches.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/encoder.h"
#include "weft/models/families/token_pooling.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

using Configs = std::vector<std::pair<std::string, EncoderConfig>>;

Configs unpadded_configs() {
  EncoderConfig base;
  base.vocab = 31;
  base.layers = 3;
  base.heads = 4;
  base.width = 24;
  base.inner = 30;
  base.context = 20;
  base.initializer_range = 0.3;
  Configs result = {{"bert", base}};
  const auto add = [&](const char* name, const std::function<void(EncoderConfig&)>& change) {
    result.emplace_back(name, base);
    change(result.back().second);
  };
  const auto rotary = [](EncoderConfig& c) {
    c.positions = EncoderPositions::rotary;
    c.token_types = 0;
  };
  add("roberta", [](EncoderConfig& c) {
    c.positions_skip_padding = true;
    c.padding_id = 1;
  });
  add("albert", [](EncoderConfig& c) {
    c.layer_groups = 1;
    c.embedding_width = 10;
    c.embedding_projection = EmbeddingProjection::after_norm;
  });
  add("mpnet", [](EncoderConfig& c) { c.positions = EncoderPositions::relative_bias; });
  add("modernbert", [&](EncoderConfig& c) {
    rotary(c);
    c.norm_first = c.embedding_norm = c.final_norm = c.gated = true;
    c.first_attention_norm = c.norm_bias = c.attention_bias = c.mlp_bias = false;
    c.rotary_window_base = 100;
    c.window = 4;
    c.window_layers = "011";
  });
  add("eurobert", [&](EncoderConfig& c) {
    rotary(c);
    c.norm_first = c.final_norm = c.rms_norm = c.gated = true;
    c.kv_heads = 2;
  });
  add("roformer", [&](EncoderConfig& c) {
    rotary(c);
    c.rotary_adjacent = c.rotary_values = true;
  });
  add("causal", [](EncoderConfig& c) {
    c.causal = c.norm_first = true;
    c.task_types = 3;
  });
  return result;
}

/// Random texts of these lengths as a padded batch and without padding.
struct UnpaddedTexts {
  std::vector<std::int64_t> lengths;
  std::int64_t longest = 0, total = 0;
  Tensor ids, mask, places, flat_ids, offsets;

  explicit UnpaddedTexts(std::vector<std::int64_t> sizes, std::int32_t padding = 0)
      : lengths(std::move(sizes)) {
    const auto rows = std::ssize(lengths);
    std::vector<std::int64_t> ends = {0};
    for (const std::int64_t length : lengths) {
      longest = std::max(longest, length);
      ends.push_back(total += length);
    }
    ids = Tensor::full(DType::i32, {rows, longest}, padding);
    mask = Tensor::zeros(DType::i32, {rows, longest});
    flat_ids = sample_indices({1, total}, 3, 29).to(DType::i32);
    offsets = Tensor::of({std::ssize(ends)}, ends);
    std::vector<std::int64_t> indices;
    for (std::int64_t i = 0; i < total; ++i) flat_ids.mutable_data<std::int32_t>()[i] += 2;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto r = static_cast<std::size_t>(row);
      std::copy_n(flat_ids.data<std::int32_t>() + ends[r], lengths[r],
                  ids.mutable_data<std::int32_t>() + row * longest);
      std::fill_n(mask.mutable_data<std::int32_t>() + row * longest, lengths[r], 1);
      for (std::int64_t i = 0; i < lengths[r]; ++i) indices.push_back(row * longest + i);
    }
    places = Tensor::of({total}, indices);
  }
};

struct PaddedAndUnpadded {
  EncoderInputs padded, unpadded;

  explicit PaddedAndUnpadded(Graph& g) {
    padded = {.ids = g.input("ids", DType::i32, {"batch", "seq"}),
              .attention_mask = g.input("mask", DType::i32, {"batch", "seq"})};
    unpadded = add_unpadded_inputs(g);
  }
};

NamedTensors feeds_of(const UnpaddedTexts& texts) {
  return {{"ids", texts.ids},
          {"mask", texts.mask},
          {"unpadded_tokens", texts.flat_ids},
          {"offsets", texts.offsets}};
}

void check_same_rows(const UnpaddedTexts& texts, const Tensor& padded, const Tensor& flat) {
  const std::int64_t width = flat.size(2);
  std::int64_t at = 0;
  for (std::size_t row = 0; row < texts.lengths.size(); ++row) {
    for (std::int64_t i = 0; i < texts.lengths[row] * width; ++i, ++at) {
      const double expected = padded.at(static_cast<std::int64_t>(row) * texts.longest * width + i);
      BOOST_REQUIRE_SMALL(flat.at(at) - expected, 2e-5 * (1 + std::abs(expected)));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(unpadded_encoder)

BOOST_AUTO_TEST_CASE(texts_without_padding_have_the_hidden_states_and_gradients_of_padded_ones) {
  for (const auto& [name, config] : unpadded_configs()) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_REQUIRE(supports_offsets(config));
      Graph g;
      const PaddedAndUnpadded inputs(g);
      const Scope scope(g, "net");
      const Encoder encoder(scope, config);
      const Value padded = encoder.evaluation()(inputs.padded).last_hidden_state;
      const Value flat = encoder.evaluation()(inputs.unpadded).last_hidden_state;
      const auto loss = [](Value h) { return sum(sin(h * 3)); };
      const Value keep = unsqueeze(cast(inputs.padded.attention_mask, DType::f32), 2);
      Program program = Program("p").output("padded", padded).output("flat", flat);
      const std::vector<Variable> parameters = g.parameters();
      std::vector<Value> variables(parameters.begin(), parameters.end());
      const auto of_padded = gradients(loss(padded * keep), variables);
      const auto of_flat = gradients(loss(flat), variables);
      for (std::size_t i = 0; i < variables.size(); ++i) {
        program.output("padded." + std::to_string(i), of_padded[i]);
        program.output("flat." + std::to_string(i), of_flat[i]);
      }
      Session session(g, {.seed = 5});
      session.initialise();
      for (const std::vector<std::int64_t>& lengths :
           {std::vector<std::int64_t>{1}, {7}, {5, 1, 18, 3}, {2, 2, 2}}) {
        const UnpaddedTexts texts(lengths, static_cast<std::int32_t>(config.padding_id));
        const Results r = session.run(program, feeds_of(texts));
        check_same_rows(texts, r["padded"], r["flat"]);
        for (std::size_t i = 0; i < variables.size(); ++i) {
          const Tensor a = r["padded." + std::to_string(i)], b = r["flat." + std::to_string(i)];
          for (std::int64_t k = 0; k < a.numel(); ++k)
            BOOST_REQUIRE_SMALL(a.at(k) - b.at(k), 1e-3 * (1 + std::abs(a.at(k))));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(layers_that_compute_no_padding_return_padded_rows_with_zeros) {
  for (const auto& [name, config] : unpadded_configs()) {
    BOOST_TEST_CONTEXT(name) {
      Graph g;
      const PaddedAndUnpadded inputs(g);
      const Encoder encoder(Scope(g, "net"), config);
      EncoderInputs without = inputs.padded;
      without.token_places = add_token_places(g);
      const EncoderOutputs padded = encoder.evaluation()(inputs.padded);
      const EncoderOutputs found = encoder.evaluation()(without);
      const Value keep = unsqueeze(cast(inputs.padded.attention_mask, DType::f32), 2);
      const Program program = Program("p")
                                  .output("padded", padded.last_hidden_state * keep)
                                  .output("found", found.last_hidden_state)
                                  .output("padded.1", padded.hidden[1] * keep)
                                  .output("found.1", found.hidden[1]);
      Session session(g, {.seed = 5});
      session.initialise();
      for (const std::vector<std::int64_t>& lengths :
           {std::vector<std::int64_t>{1}, {5, 1, 18, 3}, {2, 2}}) {
        const UnpaddedTexts texts(lengths, static_cast<std::int32_t>(config.padding_id));
        const Results r = session.run(
            program, {{"ids", texts.ids}, {"mask", texts.mask}, {"token_places", texts.places}});
        for (const char* ending : {"", ".1"}) {
          const Tensor a = r[std::string("padded") + ending], b = r[std::string("found") + ending];
          BOOST_REQUIRE(a.sizes() == b.sizes());
          for (std::int64_t i = 0; i < a.numel(); ++i)
            BOOST_REQUIRE_SMALL(a.at(i) - b.at(i), 2e-5 * (1 + std::abs(a.at(i))));
        }
      }
      const UnpaddedTexts texts({2, 4});
      BOOST_CHECK_THROW(
          session.run(program, {{"ids", texts.ids},
                                {"mask", texts.mask},
                                {"token_places", Tensor::of<std::int64_t>({2}, {0, 1})}}),
          DataError);
    }
  }
}

BOOST_AUTO_TEST_CASE(hidden_states_without_padding_do_not_depend_on_the_number_of_threads) {
  const EncoderConfig config = unpadded_configs()[4].second;
  const UnpaddedTexts texts({9, 1, 130, 64, 3});
  std::vector<Tensor> results;
  for (const int threads : {1, 2, 3}) {
    Graph g;
    const PaddedAndUnpadded inputs(g);
    const Encoder encoder(Scope(g).evaluation(), config);
    const Program program = Program("p").output("h", encoder(inputs.unpadded).last_hidden_state);
    Session session(g, {.seed = 5, .threads = threads});
    session.initialise();
    results.push_back(
        session.run(program, {{"unpadded_tokens", texts.flat_ids}, {"offsets", texts.offsets}})["h"]
            .clone());
    BOOST_TEST(bitwise_equal(results.front(), results.back()));
  }
}

BOOST_AUTO_TEST_CASE(pooled_vectors_of_texts_equal_those_of_padded_rows) {
  const UnpaddedTexts texts({4, 1, 9, 2});
  Tensor pooled = texts.mask.clone(), flat_pooled = Tensor::zeros(DType::i32, {1, texts.total});
  std::int64_t begin = 0;
  for (std::size_t row = 0; row < texts.lengths.size(); ++row) {  // excludes the first token
    if (texts.lengths[row] > 1)
      pooled.mutable_data<std::int32_t>()[static_cast<std::int64_t>(row) * texts.longest] = 0;
    for (std::int64_t i = 0; i < texts.lengths[row]; ++i)
      flat_pooled.mutable_data<std::int32_t>()[begin + i] = i > 0 || texts.lengths[row] == 1;
    begin += texts.lengths[row];
  }
  for (const std::string_view name : choice_names(TextPooling{}).names) {
    const auto pooling = parse_choice<TextPooling>(name);
    for (const bool all : {true, false}) {
      Graph g;
      const PaddedAndUnpadded inputs(g);
      const Value table = g.constant(sample_uniform({31, 5}, 9));
      const Value padded = embedding(inputs.padded.ids, table);
      const Value flat = embedding(inputs.unpadded.ids, table);
      const Value mask = g.input("pooled", DType::i32, {"batch", "seq"});
      const Value flat_mask = g.input("flat_pooled", DType::i32, {1, "total"});
      const Value expected =
          pool_tokens(pooling, padded, all ? inputs.padded.attention_mask : mask, all);
      const Value found =
          pool_texts(pooling, flat, inputs.unpadded.offsets, all ? Value() : flat_mask);
      const Program program = Program("p")
                                  .output("expected", expected)
                                  .output("found", found)
                                  .output("mask", inputs.padded.attention_mask)
                                  .output("pooled", mask)
                                  .output("flat_pooled", flat_mask);
      NamedTensors feeds = feeds_of(texts);
      feeds.emplace_back("pooled", pooled);
      feeds.emplace_back("flat_pooled", flat_pooled);
      const Results r = Session(g).run(program, feeds);
      BOOST_REQUIRE((r["found"].sizes() == Sizes{4, 5}));
      for (std::int64_t i = 0; i < 20; ++i)
        BOOST_TEST(std::abs(r["found"].at(i) - r["expected"].at(i)) < 1e-6, name);
    }
  }
}

BOOST_AUTO_TEST_CASE(encoders_reject_offsets_that_they_do_not_support) {
  const EncoderConfig base = unpadded_configs()[0].second;
  const auto check = [](const EncoderConfig& config, bool mask, const std::string& message) {
    Graph g;
    PaddedAndUnpadded inputs(g);
    if (mask) inputs.unpadded.attention_mask = g.input("flat_mask", DType::i32, {1, "total"});
    const Encoder encoder(Scope(g).evaluation(), config);
    check_error<ArgumentError>([&] { encoder(inputs.unpadded); }, {message});
  };
  check(base, true, "texts without padding (offsets) have no attention mask");
  Graph g;
  PaddedAndUnpadded inputs(g);
  inputs.padded.token_places = add_token_places(g);
  inputs.padded.attention_mask = {};
  const Encoder encoder(Scope(g).evaluation(), base);
  check_error<ArgumentError>([&] { encoder(inputs.padded); },
                             {"token_places need an attention mask and no offsets"});
  std::vector<EncoderConfig> unsupported(5, base);
  unsupported[0].positions = EncoderPositions::relative_key;
  unsupported[1].positions = EncoderPositions::relative_key_query;
  unsupported[2].positions = EncoderPositions::disentangled;
  unsupported[2].token_types = 0;
  unsupported[2].max_relative = 6;
  unsupported[3].norm_first = true;
  unsupported[3].conv_kernel = 3;
  unsupported[4].positions = EncoderPositions::rotary;
  unsupported[4].rotary_scaling = RotaryScalingKind::dynamic;
  unsupported[4].rotary_context = 8;
  unsupported[4].rotary_factor = 2;
  for (const EncoderConfig& config : unsupported) {
    BOOST_TEST(!supports_offsets(config));
    check(config, false,
          "texts without padding (offsets or token_places) do not support relative keys, "
          "disentangled attention, global attention, "
          "convolutions and rotary scaling that depends on the length of the text");
  }
}

BOOST_AUTO_TEST_CASE(self_attention_rejects_offsets_without_positions) {
  Graph g;
  const Value x = g.input("x", DType::f32, {1, "total", 8});
  AttentionInputs inputs;
  inputs.offsets = g.input("offsets", DType::i64, {"ends"});
  const SelfAttention layer =
      make_self_attention(Scope(g, "a"), DType::f32, 8, {.heads = 2, .causal = false, .rotary = 4});
  const std::string expected =
      "texts without padding (offsets) need position_ids with rotary positions, and support no "
      "cache, no additive mask and no dynamic or longrope rotary scaling";
  check_error<ArgumentError>([&] { layer(x, inputs); }, {expected});
  inputs.position_ids = g.input("positions", DType::i64, {"total"});
  static_cast<void>(layer(x, inputs));
  inputs.additive_mask = g.input("additive", DType::f32, {1, 1, 1, "total"});
  check_error<ArgumentError>([&] { layer(x, inputs); }, {expected});
}

BOOST_AUTO_TEST_CASE(offsets_beyond_the_tokens_are_data_errors) {
  Graph g;
  const PaddedAndUnpadded inputs(g);
  const Encoder encoder(Scope(g).evaluation(), unpadded_configs()[4].second);
  const Program program = Program("p").output("h", encoder(inputs.unpadded).last_hidden_state);
  Session session(g, {.seed = 5});
  session.initialise();
  for (const std::vector<std::int64_t>& offsets :
       {std::vector<std::int64_t>{0, 5}, {1, 4}, {0, 3, 2, 4}, {0, 3}}) {
    BOOST_CHECK_THROW(
        session.run(program, {{"unpadded_tokens", Tensor::full(DType::i32, {1, 4}, 3)},
                              {"offsets", Tensor::of({std::ssize(offsets)}, offsets)}}),
        DataError);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
