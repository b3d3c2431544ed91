// BERT-style encoders: parameter counts of published models, and properties that hold for all
// variants.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_heads.h"
#include "weft/models/hf/model.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(encoder)
namespace {

struct Variant {
  std::string name;
  EncoderConfig config;
};

std::vector<Variant> variants() {
  EncoderConfig base;
  base.vocab = 29;
  base.layers = 2;
  base.heads = 4;
  base.width = 24;
  base.inner = 30;
  base.context = 20;
  base.initializer_range = 0.3;
  std::vector<Variant> result = {{"bert", base}};
  const auto add = [&](const std::string& name, const std::function<void(EncoderConfig&)>& change) {
    result.push_back({name, base});
    change(result.back().config);
  };
  add("relative", [](EncoderConfig& c) { c.positions = EncoderPositions::relative_key_query; });
  add("norm_first", [](EncoderConfig& c) { c.norm_first = true; });
  add("convolution", [](EncoderConfig& c) {
    c.norm_first = true;
    c.conv_kernel = 3;
    c.layers = 0;
  });
  add("convolutions", [](EncoderConfig& c) {
    c.norm_first = true;
    c.conv_kernel = 5;
    c.conv_least_kernel = 1;
    c.conv_groups = 3;
    c.layers = 0;
  });
  add("albert", [](EncoderConfig& c) {
    c.layers = 4;
    c.layer_groups = 2;
    c.group_layers = 2;
    c.embedding_width = 10;
    c.embedding_projection = EmbeddingProjection::after_norm;
  });
  add("deberta", [](EncoderConfig& c) {
    c.positions = EncoderPositions::disentangled;
    c.fused_attention = true;
    c.max_relative = 6;
    c.token_types = 0;
  });
  add("deberta_v3", [](EncoderConfig& c) {
    c.positions = EncoderPositions::disentangled;
    c.shared_projections = c.relative_norm = true;
    c.max_relative = 20;
    c.position_buckets = 6;
    c.conv_kernel = 3;
    c.embedding_width = 10;
    c.embedding_projection = EmbeddingProjection::before_norm;
  });
  add("longformer", [](EncoderConfig& c) {
    c.layer_windows = {2, 6};
    c.global_attention = true;
    c.separator_id = 5;
  });
  return result;
}

Tensor random_ids(std::int64_t batch, std::int64_t seq, std::int64_t vocab) {
  Tensor ids = Tensor::empty(DType::i64, {batch, seq});
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    // Id 0 is not used, because it is the padding id.
    ids.mutable_data<std::int64_t>()[i] = 1 + RandomStream{7}.word(static_cast<std::uint64_t>(i)) %
                                                  static_cast<std::uint64_t>(vocab - 1);
  }
  return ids;
}

double difference(const float* a, const float* b, std::int64_t n) {
  double most = 0;
  for (std::int64_t i = 0; i < n; ++i) most = std::max<double>(most, std::abs(a[i] - b[i]));
  return most;
}

std::int64_t count_parameters(const std::string& config, const std::string& architecture) {
  Graph g;
  hf::build_model(g, config, {{"input_ids", {DType::i64, {1, 8}}}}, architecture);
  std::int64_t count = 0;
  for (const Variable& v : g.parameters()) count += v.shape().numel().constant();
  return count;
}

// Only the graphs are built; no weights are allocated.
BOOST_AUTO_TEST_CASE(encoders_have_the_published_number_of_parameters) {
  const std::string large =
      R"("hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
         "intermediate_size": 4096)";
  BOOST_TEST(count_parameters(R"({"model_type": "bert"})", "BertModel") == 109482240);
  BOOST_TEST(count_parameters(R"({"model_type": "bert"})", "BertForPreTraining") == 110106428);
  BOOST_TEST(count_parameters(R"({"model_type": "bert", )" + large + "}", "BertModel") ==
             335141888);
  BOOST_TEST(count_parameters(R"({"model_type": "distilbert"})", "DistilBertModel") == 66362880);
  BOOST_TEST(count_parameters(R"({"model_type": "roberta", "max_position_embeddings": 514,
                                  "type_vocab_size": 1})",
                              "RobertaModel") == 124645632);
  BOOST_TEST(count_parameters(R"({"model_type": "albert", "hidden_size": 768,
                                  "intermediate_size": 3072, "num_attention_heads": 12})",
                              "AlbertModel") == 11683584);
  BOOST_TEST(count_parameters(R"({"model_type": "electra"})", "ElectraForSequenceClassification") ==
             13549314);
  BOOST_TEST(count_parameters(R"({"model_type": "deberta-v2", "hidden_size": 768,
      "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
      "relative_attention": true, "position_buckets": 256, "norm_rel_ebd": "layer_norm",
      "share_att_key": true, "pos_att_type": "p2c|c2p", "position_biased_input": false,
      "type_vocab_size": 0})",
                              "DebertaV2Model") == 183831552);
}

BOOST_AUTO_TEST_CASE(padding_does_not_change_the_hidden_states_of_real_tokens) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Graph g;
      const Encoder encoder(Scope(g), variant.config);
      const Value ids = g.input("ids", DType::i64, {"batch", "seq"});
      const Value mask = g.input("mask", DType::boolean, {"batch", "seq"});
      const Program plain = Program("plain").output("h", encoder({.ids = ids}).last_hidden_state);
      const Program masked = Program("masked").output(
          "h", encoder({.ids = ids, .attention_mask = mask}).last_hidden_state);
      Session session(g, {.seed = 2, .threads = 2});
      constexpr std::int64_t kSeq = 12, kReal = 9;
      const Tensor all = random_ids(1, kSeq, variant.config.vocab);
      Tensor real = Tensor::empty(DType::i64, {1, kReal});
      std::copy_n(all.data<std::int64_t>(), kReal, real.mutable_data<std::int64_t>());
      Tensor seen = Tensor::full(DType::boolean, {1, kSeq}, 1);
      for (std::int64_t i = kReal; i < kSeq; ++i) seen.mutable_data<bool>()[i] = false;
      const Tensor expected = session.run(plain, {{"ids", real}})["h"];
      const Tensor actual = session.run(masked, {{"ids", all}, {"mask", seen}})["h"];
      BOOST_TEST(difference(expected.data<float>(), actual.data<float>(), expected.numel()) < 2e-5);
    }
  }
}

BOOST_AUTO_TEST_CASE(encoders_without_positions_are_permutation_equivariant) {
  EncoderConfig config = variants()[0].config;
  config.positions = EncoderPositions::disentangled;
  config.relative_attention = false;
  Graph g;
  const Encoder encoder(Scope(g), config);
  const Program program = Program("p").output(
      "h", encoder({.ids = g.input("ids", DType::i64, {"batch", "seq"})}).last_hidden_state);
  Session session(g, {.seed = 2, .threads = 1});
  Tensor ids = random_ids(1, 8, config.vocab);
  const Tensor before = session.run(program, {{"ids", ids}})["h"];
  std::reverse(ids.mutable_data<std::int64_t>(), ids.mutable_data<std::int64_t>() + 8);
  const Tensor after = session.run(program, {{"ids", ids}})["h"];
  for (std::int64_t i = 0; i < 8; ++i) {
    BOOST_TEST(difference(before.data<float>() + i * config.width,
                          after.data<float>() + (7 - i) * config.width, config.width) < 2e-5);
  }
}

// If all output projections are 0, a pre-norm encoder returns its embeddings unchanged, because it
// has no embedding norm.
BOOST_AUTO_TEST_CASE(pre_norm_encoders_do_not_normalise_the_embeddings) {
  EncoderConfig config = variants()[0].config;
  config.norm_first = true;
  Graph g;
  const Encoder encoder(Scope(g), config);
  const EncoderOutputs out = encoder({.ids = g.input("ids", DType::i64, {"batch", "seq"})});
  const Program program =
      Program("p").output("first", out.hidden.front()).output("last", out.last_hidden_state);
  Session session(g, {.seed = 2, .threads = 1});
  session.initialise();
  for (const Variable& v : g.parameters()) {
    BOOST_TEST(v.name().find("embeddings.norm") == std::string::npos);
    if (v.name().find("attention.out") != std::string::npos ||
        v.name().find("feed_forward.down") != std::string::npos)
      session.store()->set(v.name(), Tensor::zeros(DType::f32, session.value(v.name()).sizes()));
  }
  const Results results = session.run(program, {{"ids", random_ids(2, 8, config.vocab)}});
  BOOST_TEST(bitwise_equal(results["first"], results["last"]));
}

BOOST_AUTO_TEST_CASE(distances_are_mapped_to_logarithmic_buckets) {
  Graph g;
  const Program program = Program("p").output("d", relative_position_index(g, Dim(9), 4, 8));
  Session session(g, {.threads = 1});
  const Tensor d = session.run(program, {})["d"];
  // Distances |i - j| up to 2 have their own buckets; larger distances fall into logarithmic
  // buckets. The index is the signed bucket plus the span (4), clamped to [0, 7].
  const std::vector<double> first = {4, 3, 2, 1, 1, 1, 1, 1, 0};
  for (int j = 0; j < 9; ++j) BOOST_TEST(d.at(j) == first[static_cast<std::size_t>(j)]);
  BOOST_TEST(d.at(8 * 9) == 7);
}

BOOST_AUTO_TEST_CASE(encoder_configs_round_trip_and_invalid_configs_are_rejected) {
  for (const Variant& variant : variants())
    BOOST_TEST((EncoderConfig::from_json(variant.config.to_json()) == variant.config),
               variant.name);
  const auto rejects = [](const std::function<void(EncoderConfig&)>& change,
                          const std::string& part) {
    EncoderConfig config = variants()[0].config;
    change(config);
    BOOST_CHECK_EXCEPTION(config.check(), ArgumentError, [&](const Error& e) {
      BOOST_TEST_INFO(e.what());
      BOOST_TEST(std::string(e.what()).find(part) != std::string::npos);
      return true;
    });
  };
  rejects([](EncoderConfig& c) { c.heads = 5; }, "width 24 is not a multiple of heads 5");
  rejects([](EncoderConfig& c) { c.padding_id = 29; }, "padding_id 29 is outside the vocabulary");
  rejects([](EncoderConfig& c) { c.embedding_width = 8; }, "embedding_projection must be");
  rejects([](EncoderConfig& c) { c.layer_groups = 3; },
          "layer_groups 3 exceeds the number of layers, 2");
  rejects([](EncoderConfig& c) { c.group_layers = 2; }, "group_layers is 2, but layer_groups is 0");
  rejects([](EncoderConfig& c) { c.conv_kernel = 4; }, "conv_kernel must be odd");
  rejects([](EncoderConfig& c) { c.conv_kernel = 3, c.conv_least_kernel = 5; },
          "conv_least_kernel must be 0, or odd and at most conv_kernel (3), but is 5");
  rejects([](EncoderConfig& c) { c.conv_kernel = 3, c.conv_least_kernel = 2; },
          "conv_least_kernel must be 0, or odd and at most conv_kernel (3), but is 2");
  rejects([](EncoderConfig& c) { c.layer_windows = {4}; },
          "layer_windows needs one window for each of the");
  rejects(
      [](EncoderConfig& c) {
        c.layer_windows = {2, 4.5};
      },
      "layer_windows must be integers, not 4.5");
  rejects([](EncoderConfig& c) { c.layer_windows = {2, -1}; }, "layer_windows");
  rejects([](EncoderConfig& c) { c.layer_windows = {2, 4}, c.window = 8; }, "and no window");
  rejects([](EncoderConfig& c) { c.global_attention = c.causal = true; }, "global_attention");
  rejects([](EncoderConfig& c) { c.global_attention = true, c.separator_id = -1; },
          "separator_id must be at least 0, not -1");
  rejects([](EncoderConfig& c) { c.hidden_dropout = 1; }, "hidden_dropout must be in [0, 1)");
  rejects([](EncoderConfig& c) { c.positions_skip_padding = true, c.padding_id = -1; },
          "positions_skip_padding needs a padding_id");
  rejects([](EncoderConfig& c) { c.layers = 0; }, "layers must be at least 1, not 0");
  rejects([](EncoderConfig& c) { c.layers = 0, c.conv_kernel = 3; }, "layers must be at least 1");
  BOOST_CHECK_THROW(parse_choice<EncoderPositions>("round"), ArgumentError);
  BOOST_CHECK_THROW(EncoderConfig::from_json(R"({"family": "gpt"})"), FormatError);
}

BOOST_AUTO_TEST_CASE(the_receptive_field_of_a_convolution_group_is_its_kernel_size) {
  EncoderConfig config;
  config.vocab = 10;
  config.context = 8;
  config.layers = 0;
  config.norm_first = true;
  config.positions = EncoderPositions::disentangled;
  config.relative_attention = false;
  config.width = 24;
  config.conv_kernel = 5;
  config.conv_least_kernel = 1;
  config.conv_groups = 4;  // with kernel sizes 1, 3, 5 and 1
  config.initializer_range = 0.5;
  Graph g;
  const Value ids = g.input("ids", DType::i32, {"batch", "seq"});
  const Value h = Encoder(Scope(g), config)({.ids = ids}).last_hidden_state;
  Program program("p");
  program.output("h", h);
  Session session(g, {.seed = 3, .threads = 1});
  session.initialise();
  const auto run = [&](const std::vector<std::int32_t>& row) {
    return session.run(program, {{"ids", Tensor::of({1, 7}, row)}})["h"];
  };
  const Tensor before = run({1, 2, 3, 4, 5, 6, 7});
  for (std::int64_t at = 0; at < 7; ++at) {
    std::vector<std::int32_t> row = {1, 2, 3, 4, 5, 6, 7};
    row[static_cast<std::size_t>(at)] = 8;
    const Tensor after = run(row);
    const std::int64_t far = std::abs(at - 3);
    for (std::int64_t group = 0; group < 4; ++group) {
      bool changed = false;
      for (std::int64_t f = group * 6; f < group * 6 + 6; ++f)
        changed = changed || before.at(3 * 24 + f) != after.at(3 * 24 + f);
      BOOST_TEST(changed == (far <= group % 3), at << ", group " << group);
    }
  }
}

BOOST_AUTO_TEST_CASE(mean_and_max_pooling_ignore_padding) {
  Graph g;
  const Value h = g.input("h", DType::f32, {"batch", "seq", 2});
  const Value mask = g.input("mask", DType::i32, {"batch", "seq"});
  const Value mean = mean_of_tokens(h, mask), most = max_of_tokens(h, mask);
  Program program("p");
  program.output("mean", mean)
      .output("max", most)
      .output("of mean", gradients(sum(mean), {h}).front())
      .output("of max", gradients(sum(most), {h}).front());
  Session session(g, {.threads = 1});
  const Results r = session.run(
      program, {{"h", Tensor::of<float>({2, 3, 2}, {-1, 4, -3, 2, 9, 9, -5, -6, 7, 7, 8, 8})},
                {"mask", Tensor::of<std::int32_t>({2, 3}, {1, 1, 0, 1, 0, 0})}});
  const auto is = [&](const char* name, const std::vector<float>& wanted) {
    const auto found = r[name].span<float>();
    BOOST_TEST(std::vector<float>(found.begin(), found.end()) == wanted,
               boost::test_tools::per_element());
  };
  is("mean", {-2, 3, -5, -6});
  is("max", {-1, 4, -5, -6});
  is("of mean", {0.5, 0.5, 0.5, 0.5, 0, 0, 1, 1, 0, 0, 0, 0});
  is("of max", {1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0});
}

BOOST_AUTO_TEST_CASE(head_losses_match_their_formulas) {
  Graph g;
  const Value logits = g.input("logits", DType::f32, {"batch", 2});
  const Value reals = g.input("reals", DType::f32, {"batch", 2});
  const Value classes = g.input("classes", DType::i64, {"batch"});
  Program program("p");
  program.output("regression", sequence_loss(Problem::regression, logits, reals))
      .output("single", sequence_loss(Problem::single_label, logits, classes))
      .output("multi", sequence_loss(Problem::multi_label, logits, reals))
      .output("span", span_loss({logits, logits}, classes, classes));
  Session session(g, {.threads = 1});
  // The span loss ignores targets other than the two positions. The last run has such a target.
  const auto run = [&](std::int64_t second) {
    return session.run(program, {{"logits", Tensor::of<float>({2, 2}, {1, 2, 0, -1})},
                                 {"reals", Tensor::of<float>({2, 2}, {0, 1, 1, 0})},
                                 {"classes", Tensor::of<std::int64_t>({2}, {1, second})}});
  };
  // The negative log-likelihood of the larger logit, which is the same in both rows.
  const double nll = std::log(1 + std::exp(-1.0));
  const auto sigmoid_loss = [](double x, double y) { return std::log(1 + std::exp(x)) - x * y; };
  const Results r = run(0);
  BOOST_TEST(std::abs(r["regression"].at(0) - (1 + 1 + 1 + 1) / 4.0) < 1e-6);
  BOOST_TEST(std::abs(r["single"].at(0) - nll) < 1e-6);
  BOOST_TEST(std::abs(r["multi"].at(0) - (sigmoid_loss(1, 0) + sigmoid_loss(2, 1) +
                                          sigmoid_loss(0, 1) + sigmoid_loss(-1, 0)) /
                                             4) < 1e-6);
  BOOST_TEST(std::abs(r["span"].at(0) - nll) < 1e-6);
  Program out_of_range("cut");
  out_of_range.output("span", span_loss({logits, logits}, classes, classes));
  const Results only_first =
      session.run(out_of_range, {{"logits", Tensor::of<float>({2, 2}, {1, 2, 0, -1})},
                                 {"classes", Tensor::of<std::int64_t>({2}, {1, 9})}});
  BOOST_TEST(std::abs(only_first["span"].at(0) - nll) < 1e-6);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
