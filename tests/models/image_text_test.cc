// Models that compare images and texts: configs, pooling of texts, losses.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "weft/autodiff/check_gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/image_text.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(image_text)
namespace {

using testing::says;

ImageTextConfig small_towers() {
  ImageTextConfig c;
  c.text.vocab = 9;
  c.text.context = 6;
  c.image.image_height = c.image.image_width = 4;
  c.image.patch_height = c.image.patch_width = 2;
  c.image.channels = 1;
  c.text.layers = c.image.layers = 1;
  c.text.heads = c.image.heads = 2;
  c.text.width = c.image.width = 8;
  c.text.inner = c.image.inner = 12;
  c.text.initializer_range = c.image.initializer_range = 0.5;
  c.projection = 5;
  c.end_id = 7;
  return c;
}

BOOST_AUTO_TEST_CASE(configs_of_two_towers_round_trip) {
  ImageTextConfig c = small_towers();
  BOOST_TEST((ImageTextConfig::from_json(c.to_json()) == c));
  c.loss = ImageTextLoss::sigmoid;
  c.text_pooling = TextTowerPooling::last;
  c.image.pooling = VitPooling::attention;
  c.image.final_norm = true;
  c.image_projection = false;
  c.projection = 8;
  c.text_projection_bias = true;
  c.logit_bias = -10;
  BOOST_TEST((ImageTextConfig::from_json(c.to_json()) == c));
  const auto changed = ImageTextConfig::fields().with(
      small_towers(), {{"text_layers", "3"}, {"vision_width", "16"}, {"loss", "sigmoid"}});
  BOOST_TEST(changed.text.layers == 3);
  BOOST_TEST(changed.image.width == 16);
}

BOOST_AUTO_TEST_CASE(invalid_configs_name_the_tower_and_the_field) {
  const auto rejects = [](auto&& change, const std::string& message) {
    ImageTextConfig wrong = small_towers();
    change(wrong);
    BOOST_CHECK_EXCEPTION(wrong.check(), ArgumentError, says(message));
  };
  rejects([](auto& c) { c.text.heads = 3; }, "text tower: ");
  rejects([](auto& c) { c.image.heads = 3; }, "image tower: width 8 is not a multiple of heads 3");
  rejects([](auto& c) { c.end_id = 9; }, "end_id 9 must be below text_vocab, which is 9");
  rejects([](auto& c) { c.projection = 0; }, "projection must be at least 1");
  rejects([](auto& c) { c.projection = -1; }, "projection must be at least 0, not -1");
  rejects([](auto& c) { c.image_projection = false; },
          "have the width 8 of the image tower, but projection is 5");
  rejects([](auto& c) { c.logit_scale = 101; }, "logit_scale must be in [-100, 100], not 101");
  rejects([](auto& c) { c.logit_bias = std::nan(""); }, "logit_bias must be in [-100, 100]");
}

/// Returns the pooled hidden states of texts, and the hidden states of all tokens.
std::pair<Tensor, Tensor> pooled_texts(ImageTextConfig c, const Tensor& ids) {
  c.towers = ImageTextTowers::text;
  c.projection = 0;
  Graph graph;
  const ImageText towers(Scope(graph).evaluation(), c);
  const TextTowerOutputs text =
      towers.text({.ids = graph.input("ids", DType::i32, {"batch", "seq"})});
  Session session(graph, {.seed = 3, .threads = 1});
  const Results results = session.run(
      Program("p").output("pooled", text.pooled).output("h", text.encoder.last_hidden_state),
      {{"ids", ids}});
  return {results["pooled"], results["h"]};
}

BOOST_AUTO_TEST_CASE(texts_are_pooled_at_the_token_that_the_config_names) {
  const Tensor ids = Tensor::of<std::int32_t>({3, 4}, {1, 7, 8, 7,  //
                                                       2, 3, 4, 7,  //
                                                       5, 1, 2, 3});
  const auto check = [&](TextTowerPooling pooling, std::vector<std::int64_t> places) {
    ImageTextConfig c = small_towers();
    c.text_pooling = pooling;
    const auto [pooled, h] = pooled_texts(c, ids);
    for (std::int64_t row = 0; row < 3; ++row) {
      for (std::int64_t i = 0; i < 8; ++i) {
        BOOST_TEST(pooled.at(row * 8 + i) ==
                   h.at((row * 4 + places[static_cast<std::size_t>(row)]) * 8 + i));
      }
    }
  };
  // The first end-of-text token counts; a row without one is pooled at its first token.
  check(TextTowerPooling::end_of_text, {1, 3, 0});
  check(TextTowerPooling::largest_id, {2, 3, 0});
  check(TextTowerPooling::last, {3, 3, 3});
}

BOOST_AUTO_TEST_CASE(tokens_of_a_causal_text_tower_do_not_attend_to_later_tokens) {
  ImageTextConfig c = small_towers();
  const auto first_row = [&](std::int32_t last) {
    const Tensor h = pooled_texts(c, Tensor::of<std::int32_t>({1, 3}, {1, 7, last})).second;
    return std::vector<double>{h.at(0), h.at(8), h.at(15)};
  };
  BOOST_TEST(first_row(2) == first_row(3), boost::test_tools::per_element());
  c.text.causal = false;
  BOOST_TEST((first_row(2) != first_row(3)));
}

BOOST_AUTO_TEST_CASE(the_contrastive_losses_equal_their_formulas) {
  constexpr std::int64_t kCount = 3;
  std::vector<float> values = {2, -1, 0.5, 0.25, 1.5, -2, -0.75, 3, 1};
  Graph graph;
  const Value logits = graph.input("logits", DType::f32, {"n", "n"});
  Session session(graph, {.threads = 1});
  const Results results = session.run(
      Program("p").output("clip", clip_loss(logits)).output("siglip", siglip_loss(logits)),
      {{"logits", Tensor::of({kCount, kCount}, values)}});
  double clip = 0, siglip = 0;
  const auto at = [&](std::int64_t i, std::int64_t j) {
    return static_cast<double>(values[static_cast<std::size_t>(i * kCount + j)]);
  };
  for (std::int64_t i = 0; i < kCount; ++i) {
    double row = 0, column = 0;
    for (std::int64_t j = 0; j < kCount; ++j) {
      row += std::exp(at(i, j));
      column += std::exp(at(j, i));
      siglip += std::log1p(std::exp((i == j ? -1 : 1) * at(i, j))) / kCount;
    }
    clip += (std::log(row) + std::log(column) - 2 * at(i, i)) / (2 * kCount);
  }
  BOOST_TEST(std::abs(results["clip"].item<float>() - clip) < 1e-6);
  BOOST_TEST(std::abs(results["siglip"].item<float>() - siglip) < 1e-6);
}

BOOST_AUTO_TEST_CASE(the_gradients_of_the_contrastive_losses_are_correct) {
  for (const bool sigmoid : {false, true}) {
    Graph graph;
    const Value images = graph.input("images", DType::f64, {"n", 4}),
                texts = graph.input("texts", DType::f64, {"n", 4});
    const Value logits = 3.0 * matmul(unit_vectors(images), transpose(unit_vectors(texts)));
    const Value loss = sigmoid ? siglip_loss(logits) : clip_loss(logits);
    const auto numbers = [](double shift) {
      Tensor t = Tensor::empty(DType::f64, {3, 4});
      for (std::int64_t i = 0; i < 12; ++i)
        t.mutable_data<double>()[i] = std::sin(shift + 1.3 * static_cast<double>(i));
      return t;
    };
    const auto report = check_gradients(
        loss, {images, texts}, {.feeds = {{"images", numbers(0.2)}, {"texts", numbers(1.1)}}});
    BOOST_TEST(bool(report), report);
  }
}

BOOST_AUTO_TEST_CASE(contrastive_losses_reject_other_shapes_and_reductions) {
  Graph graph;
  const Value wide = graph.input("wide", DType::f32, {2, 3}),
              square = graph.input("square", DType::f32, {2, 2});
  BOOST_CHECK_EXCEPTION(clip_loss(wide), ShapeError, says("the logits must be [n, n]"));
  BOOST_CHECK_EXCEPTION(siglip_loss(wide), ShapeError, says("the logits must be [n, n]"));
  BOOST_CHECK_EXCEPTION(clip_loss(square, Reduction::sum), ArgumentError,
                        says("the reduction of a contrastive loss must be mean or shard_mean"));
}

BOOST_AUTO_TEST_CASE(single_towers_compute_only_their_vectors) {
  ImageTextConfig c = small_towers();
  c.towers = ImageTextTowers::image;
  Graph graph;
  const ImageText image(Scope(graph).evaluation(), c);
  const Value pixels = graph.input("pixels", DType::f32, {"batch", 1, 4, 4});
  BOOST_TEST((image.image(pixels).vectors.size(1) == Dim(5)));
  BOOST_CHECK_EXCEPTION(image.text({.ids = graph.input("ids", DType::i32, {"batch", "seq"})}),
                        ArgumentError, says("the model has no text tower"));
  const Value vectors = image.image(pixels).vectors;
  BOOST_CHECK_EXCEPTION(image.logits(vectors, vectors), ArgumentError, says("both towers"));
  c.towers = ImageTextTowers::text;
  Graph other;
  BOOST_CHECK_EXCEPTION(
      ImageText(Scope(other), c).image(other.input("pixels", DType::f32, {"batch", 1, 4, 4})),
      ArgumentError, says("the model has no image tower"));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
