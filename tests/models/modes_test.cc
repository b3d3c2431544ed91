// Training and evaluation mode of model families, which the Scope determines.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/encoder.h"
#include "weft/models/families/encoder_decoder.h"
#include "weft/models/families/gpt.h"
#include "weft/models/families/vit.h"
#include "weft/models/layers/dropout.h"
#include "weft/testing/graph_checks.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::count_ops;
using testing::says;

constexpr double kRate = 0.25;

/// A family with every kind of dropout: `build` declares a model in the scope and applies it, and
/// `apply` declares a model in the scope and applies it in both modes.
struct Family {
  std::string name;
  std::function<Value(const Scope&)> build;
  std::function<std::pair<Value, Value>(const Scope&)> apply;  // training, evaluation
};

Value ids_of(const Scope& scope) {
  Graph& g = scope.graph();
  const Value found = g.find_input("ids");
  return found.defined() ? found : g.input("ids", DType::i64, {"batch", "seq"});
}

std::vector<Family> families() {
  GptConfig gpt{.vocab = 11, .layers = 1, .heads = 2, .width = 8, .context = 8};
  gpt.embedding_dropout = gpt.attention_dropout = gpt.residual_dropout = kRate;
  EncoderConfig encoder{.vocab = 11, .context = 8, .layers = 1, .heads = 2, .width = 8, .inner = 8};
  encoder.hidden_dropout = encoder.attention_dropout = kRate;
  EncoderDecoderConfig both = EncoderDecoderConfig::t5();
  both.vocab = 11;
  both.width = both.head_size = both.encoder_inner = both.decoder_inner = 8;
  both.encoder_heads = both.decoder_heads = 2;
  both.encoder_layers = both.decoder_layers = 1;
  both.dropout = both.attention_dropout = both.activation_dropout = both.final_dropout = kRate;
  both.encoder_layer_dropout = both.decoder_layer_dropout = kRate;
  VitConfig vit;
  vit.image_height = vit.image_width = 8;
  vit.patch_height = vit.patch_width = 4;
  vit.width = vit.inner = 8;
  vit.layers = 1;
  vit.heads = 2;
  vit.dropout = vit.attention_dropout = kRate;
  const auto translate = [](const EncoderDecoder& net, Value ids) {
    const Value memory = net.encode(ids, {}).last_hidden_state;
    return net.logits(net.decode(ids, {}, memory, {}).last_hidden_state);
  };
  const auto images_of = [](const Scope& scope) {
    Graph& g = scope.graph();
    const Value found = g.find_input("images");
    return found.defined() ? found : g.input("images", DType::f32, {"batch", 3, 8, 8});
  };
  return {{"gpt", [=](const Scope& net) { return Gpt(net, gpt)({.ids = ids_of(net)}).logits; },
           [=](const Scope& net) {
             const Gpt model(net, gpt);
             const GptInputs inputs{.ids = ids_of(net)};
             return std::pair(model.training()(inputs).logits, model.evaluation()(inputs).logits);
           }},
          {"encoder",
           [=](const Scope& net) {
             return Encoder(net, encoder)({.ids = ids_of(net)}).last_hidden_state;
           },
           [=](const Scope& net) {
             const Encoder model(net, encoder);
             const EncoderInputs inputs{.ids = ids_of(net)};
             return std::pair(model.training()(inputs).last_hidden_state,
                              model.evaluation()(inputs).last_hidden_state);
           }},
          {"encoder_decoder",
           [=](const Scope& net) { return translate(EncoderDecoder(net, both), ids_of(net)); },
           [=](const Scope& net) {
             const EncoderDecoder model(net, both);
             return std::pair(translate(model.training(), ids_of(net)),
                              translate(model.evaluation(), ids_of(net)));
           }},
          {"vit", [=](const Scope& net) { return Vit(net, vit)(images_of(net)).last_hidden_state; },
           [=](const Scope& net) {
             const Vit model(net, vit);
             const Value images = images_of(net);
             return std::pair(model.in(Mode::training)(images).last_hidden_state,
                              model.evaluation()(images).last_hidden_state);
           }}};
}

std::int64_t random_ops(Value y) {
  const Program p = Program("p").output("y", y);
  return count_ops(p, "dropout") + count_ops(p, "bernoulli");
}

BOOST_AUTO_TEST_SUITE(modes_of_families)

BOOST_AUTO_TEST_CASE(a_declared_model_is_applied_in_both_modes) {
  for (const Family& family : families()) {
    BOOST_TEST_CONTEXT(family.name) {
      Graph g;
      const auto [training, evaluation] = family.apply(Scope(g, "net"));
      BOOST_TEST(random_ops(training) >= 3);
      BOOST_TEST(random_ops(evaluation) == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(passes_over_a_model_share_its_parameters) {
  for (const Family& family : families()) {
    BOOST_TEST_CONTEXT(family.name) {
      Graph g;
      const Scope net(g, "net");
      const Value training = family.build(net.training());
      const std::size_t variables = g.variables().size();
      const Value evaluation = family.build(net.evaluation());
      BOOST_TEST(g.variables().size() == variables);
      BOOST_TEST(random_ops(training) >= 3);
      BOOST_TEST(random_ops(evaluation) == 0);
      // A declared model draws the same random numbers as the pass.
      Graph other;
      const auto applied = family.apply(Scope(other, "net"));
      const auto drawn = [](Graph& graph, Value y) {
        Session session(graph, {.seed = 3});
        NamedTensors inputs{{"ids", Tensor::of<std::int64_t>({1, 3}, {1, 2, 3})}};
        if (graph.find_input("images").defined())
          inputs = {{"images", Tensor::full(DType::f32, {1, 3, 8, 8}, 0.5)}};
        return session.run(Program("p").output("y", y), inputs)["y"];
      };
      BOOST_TEST(bitwise_equal(drawn(g, training), drawn(other, applied.first)));
      BOOST_TEST(bitwise_equal(drawn(g, evaluation), drawn(other, applied.second)));
    }
  }
}

BOOST_AUTO_TEST_CASE(dropout_in_a_scope_without_a_mode_is_an_error) {
  for (const Family& family : families()) {
    BOOST_TEST_CONTEXT(family.name) {
      Graph g;
      BOOST_CHECK_EXCEPTION(family.build(Scope(g, "net")), GraphError,
                            says("dropout in scope 'net"));
      Graph other;
      BOOST_CHECK_EXCEPTION(
          family.build(Scope(other, "net")), GraphError,
          says("or apply a declared model with model.training() or model.evaluation()"));
    }
  }
}

BOOST_AUTO_TEST_CASE(models_and_layers_with_rate_0_need_no_mode) {
  Graph g;
  const Scope net(g, "net");
  const Gpt gpt(net, {.vocab = 11, .layers = 1, .heads = 2, .width = 8, .context = 8});
  const Value h = gpt({.ids = ids_of(net)}).last_hidden_state;
  BOOST_TEST(random_ops(h) == 0);
  BOOST_TEST((dropout(net, h, 0) == h));
  BOOST_TEST(!drops_out(net, 0));
  BOOST_TEST(!drops_out(net.evaluation(), 0.5));
  BOOST_TEST(drops_out(net.training(), 0.5));
  BOOST_CHECK_THROW(drops_out(net, 0.5), GraphError);
}

BOOST_AUTO_TEST_CASE(decoding_is_evaluation_in_every_scope) {
  GptConfig config{.vocab = 11, .layers = 1, .heads = 2, .width = 8, .context = 8};
  config.embedding_dropout = config.residual_dropout = kRate;
  for (const bool training : {false, true}) {
    Graph g;
    const Scope net(g, "net");
    const Gpt gpt(training ? net.training() : net, config);
    const GptDecoding decoding = gpt.decode(ids_of(net), g.input("position", DType::i64, {}));
    BOOST_TEST(random_ops(decoding.logits) == 0);
  }
}

BOOST_AUTO_TEST_CASE(label_smoothing_applies_in_training_only) {
  EncoderDecoderConfig config = EncoderDecoderConfig::t5();
  config.vocab = 11;
  config.width = config.head_size = 8;
  config.encoder_layers = config.decoder_layers = 1;
  config.label_smoothing = 0.2;
  Graph g;
  const EncoderDecoder net(Scope(g, "net"), config);
  const Value logits = g.input("logits", DType::f32, {"batch", "target", 11});
  const Value labels = g.input("labels", DType::i64, {"batch", "target"});
  Program p("p");
  p.output("training", net.training().loss(logits, labels))
      .output("evaluation", net.evaluation().loss(logits, labels));
  BOOST_CHECK_EXCEPTION(net.loss(logits, labels), GraphError,
                        says("label smoothing in scope 'net'"));
  Session session(g);
  Tensor scores = Tensor::full(DType::f32, {1, 1, 11}, 0);
  scores.mutable_data<float>()[4] = 20;
  const auto found =
      session.run(p, {{"logits", scores}, {"labels", Tensor::of<std::int64_t>({1, 1}, {4})}});
  BOOST_TEST(found["evaluation"].at(0) < 1e-6);
  BOOST_TEST(found["training"].at(0) > 1);
}

BOOST_AUTO_TEST_CASE(a_second_alias_of_another_variable_is_an_error_in_a_pass) {
  Graph g;
  const Scope net(g, "net");
  const Variable a = net.variable("a", DType::f32, {2}), b = net.variable("b", DType::f32, {2});
  net.training().alias("tied", a);
  net.evaluation().alias("tied", a);
  BOOST_TEST(a.info().aliases.size() == 1u);
  BOOST_CHECK_EXCEPTION(net.evaluation().alias("tied", b), GraphError,
                        says("alias 'net.tied' of variable 'net.b'"));
  BOOST_CHECK_THROW(net.alias("tied", a), GraphError);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
