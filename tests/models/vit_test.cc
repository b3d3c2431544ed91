// Vision transformers: sizes, positions, masked patches.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/vit.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(vit)
namespace {

using testing::says;

VitConfig small() {
  VitConfig c;
  c.image_height = 8;
  c.image_width = 12;
  c.patch_height = 4;
  c.patch_width = 3;
  c.channels = 2;
  c.layers = 2;
  c.heads = 2;
  c.width = 8;
  c.inner = 12;
  c.initializer_range = 0.5;
  return c;
}

Tensor random_images(const VitConfig& c, std::int64_t batch) {
  Tensor images = Tensor::empty(DType::f32, {batch, c.channels, c.image_height, c.image_width});
  for (std::int64_t i = 0; i < images.numel(); ++i) {
    images.mutable_data<float>()[i] =
        static_cast<float>(RandomStream{9}.word(static_cast<std::uint64_t>(i)) % 1000) / 500 - 1;
  }
  return images;
}

BOOST_AUTO_TEST_CASE(vit_configs_round_trip_and_invalid_configs_are_rejected) {
  VitConfig c = small();
  c.positions = VitPositions::sinusoidal_2d;
  c.pooling = VitPooling::mean;
  BOOST_TEST((VitConfig::from_json(c.to_json()) == c));
  const auto rejects = [](auto&& change, const std::string& message) {
    VitConfig wrong = small();
    change(wrong);
    BOOST_CHECK_EXCEPTION(wrong.check(), ArgumentError, says(message));
  };
  rejects([](auto& c) { c.patch_height = 9; },
          "an image of 8 x 12 is smaller than a patch of 9 x 3");
  rejects([](auto& c) { c.heads = 3; }, "width 8 is not a multiple of heads 3");
  rejects([](auto& c) { c.layers = 0; }, "layers must be at least 1, not 0");
  rejects([](auto& c) { c.dropout = -1; }, "dropout must be in [0, 1), not -1");
  rejects(
      [](auto& c) {
        c.pooling = VitPooling::mean;
        c.distillation = true;
      },
      "distillation needs a class token");
  BOOST_CHECK_EXCEPTION(VitConfig::from_json(R"({"family": "gpt"})"), FormatError,
                        says("of family \"gpt\", not \"vit\""));
}

BOOST_AUTO_TEST_CASE(vit_b_16_has_the_published_number_of_parameters) {
  Graph g;
  const Vit vit(Scope(g), VitConfig{});
  std::int64_t count = 0;
  for (const Variable& v : g.parameters()) count += v.shape().numel().constant();
  BOOST_TEST(count + 768 * 1000 + 1000 == 86567656);  // including the ImageNet classifier
}

BOOST_AUTO_TEST_CASE(without_positions_mean_pooling_ignores_the_order_of_patches) {
  for (const bool positions : {false, true}) {
    VitConfig c = small();
    c.pooling = VitPooling::mean;
    Graph g;
    const Vit vit(Scope(g), c);
    Program p("p");
    p.output("pooled",
             vit.pool(vit(g.input("images", DType::f32, {"batch", 2, 8, 12})).last_hidden_state));
    Session session(g, {.seed = 1});
    session.initialise();
    if (!positions)
      session.set_value("positions", Tensor::full(DType::f32, {1, c.tokens(), c.width}, 0));
    const Tensor images = random_images(c, 1);
    Tensor swapped =
        images.clone();  // the two rows of patches, which are the upper and lower halves
    for (std::int64_t i = 0; i < images.numel(); ++i) {
      const std::int64_t y = i / 12 % 8;
      swapped.mutable_data<float>()[i + (y < 4 ? 48 : -48)] = images.data<float>()[i];
    }
    const Tensor a = session.run(p, {{"images", images}})["pooled"];
    const Tensor b = session.run(p, {{"images", swapped}})["pooled"];
    double most = 0;
    for (std::int64_t i = 0; i < a.numel(); ++i) most = std::max(most, std::abs(a.at(i) - b.at(i)));
    BOOST_TEST((positions ? most > 1e-3 : most < 1e-5));
  }
}

BOOST_AUTO_TEST_CASE(two_dimensional_sinusoidal_positions_encode_rows_and_columns) {
  VitConfig c = small();
  c.positions = VitPositions::sinusoidal_2d;
  Graph g;
  const Vit vit(Scope(g), c);
  Program p("p");
  p.output("h", vit(g.input("images", DType::f32, {"batch", 2, 8, 12})).hidden.front());
  Session session(g);
  session.initialise();
  session.set_value("class_token", Tensor::full(DType::f32, {1, 1, 8}, 0));
  const Tensor h = session.run(p, {{"images", Tensor::full(DType::f32, {1, 2, 8, 12}, 0)}})["h"];
  // The patch at row 1, column 2 is token 1 + 6. Rows and columns are encoded by 4 features each,
  // with the frequencies 1 and 1/100.
  const double expected[] = {std::sin(1), std::sin(0.01), std::cos(1), std::cos(0.01),
                             std::sin(2), std::sin(0.02), std::cos(2), std::cos(0.02)};
  for (std::int64_t f = 0; f < 8; ++f) {
    BOOST_TEST(std::abs(h.at(7 * 8 + f) - expected[f]) < 1e-6);
    BOOST_TEST(h.at(f) == 0);
  }
}

BOOST_AUTO_TEST_CASE(position_embeddings_are_interpolated) {
  VitConfig from = small();
  from.width = 1;
  from.heads = 1;
  Tensor table = Tensor::empty(DType::f32, {1, 9, 1});
  for (std::int64_t i = 0; i < 9; ++i)
    table.mutable_data<float>()[i] = i == 0 ? 7.0f : static_cast<float>((i - 1) % 4);
  BOOST_TEST(bitwise_equal(interpolate_positions(table, from, from), table));
  VitConfig to = from;
  to.image_width = 24;  // 8 columns instead of 4
  to.image_height = 16;
  const Tensor larger = interpolate_positions(table, from, to);
  BOOST_TEST((larger.sizes() == Sizes{1, 33, 1}));
  BOOST_TEST(larger.at(0) == 7);
  // Expected values: cubic interpolation of 0, 1, 2, 3, with the end values replicated.
  const double expected[] = {-0.10546875, 0.19140625, 0.66796875, 1.296875,
                             1.703125,    2.33203125, 2.80859375, 3.10546875};
  for (std::int64_t i = 0; i < 32; ++i)
    BOOST_TEST(std::abs(larger.at(1 + i) - expected[i % 8]) < 1e-6);
  to.width = 2;
  BOOST_CHECK_EXCEPTION(interpolate_positions(table, from, to), ShapeError,
                        says("must be f32[1, 9, 1]"));
}

BOOST_AUTO_TEST_CASE(images_and_masks_must_have_the_expected_shape) {
  Graph g;
  const Vit vit(Scope(g), small());
  const Value images = g.input("images", DType::f32, {"batch", 2, 8, 12});
  BOOST_CHECK_EXCEPTION(vit(g.input("wide", DType::f32, {"batch", 2, 8, 13})), ShapeError,
                        says("images must be [batch, 2, 8, 12]"));
  BOOST_CHECK_EXCEPTION(vit(images, g.input("mask", DType::boolean, {"batch", 8})), ArgumentError,
                        says("only in a model that was built with masked_patches"));
}

BOOST_AUTO_TEST_CASE(masked_patches_do_not_affect_the_output) {
  const VitConfig c = small();
  Graph g;
  const Vit vit(Scope(g), c, true);
  const Value images = g.input("images", DType::f32, {"batch", 2, 8, 12});
  const Value mask = g.input("mask", DType::boolean, {"batch", 8});
  Program p("p");
  p.output("h", vit(images, mask).last_hidden_state);
  Session session(g, {.seed = 4});
  Tensor hidden = Tensor::full(DType::boolean, {1, 8}, 0);
  hidden.mutable_data<bool>()[0] = true;
  const Tensor first = random_images(c, 1);
  Tensor second = first.clone();
  second.mutable_data<float>()[0] += 1;  // a pixel of patch 0
  const Tensor a = session.run(p, {{"images", first}, {"mask", hidden}})["h"];
  const Tensor b = session.run(p, {{"images", second}, {"mask", hidden}})["h"];
  BOOST_TEST(bitwise_equal(a, b));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
