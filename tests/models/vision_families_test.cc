// Mechanisms of vision transformers after ViT: resized positions, pooling, stochastic depth, rotary
// positions, masked autoencoders, windows. The values of whole models are golden cases.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <string>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/masked_autoencoder.h"
#include "weft/models/families/swin.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(vision_families)
namespace {

using testing::says;

VitConfig tiny() {
  VitConfig c;
  c.image_height = 8;
  c.image_width = 12;
  c.patch_height = c.patch_width = 4;
  c.channels = 2;
  c.layers = 2;
  c.heads = 2;
  c.width = 8;
  c.inner = 12;
  c.initializer_range = 0.5;
  c.decoder_layers = 1;
  c.decoder_heads = 2;
  c.decoder_width = 8;
  c.decoder_inner = 12;
  return c;
}

SwinConfig tiny_swin() {
  SwinConfig c;
  c.image_height = c.image_width = 16;
  c.patch_height = c.patch_width = 2;
  c.channels = 1;
  c.width = 8;
  c.depths = {2, 1};
  c.heads = {2, 2};
  c.window = 4;
  c.mlp_ratio = 2;
  c.drop_path = 0;
  c.initializer_range = 0.5;
  return c;
}

Tensor noise(const Sizes& sizes, std::uint64_t seed) {
  Tensor t = Tensor::empty(DType::f32, sizes);
  for (std::int64_t i = 0; i < t.numel(); ++i)
    t.mutable_data<float>()[i] =
        uniform_float(RandomStream{seed}.word(static_cast<std::uint64_t>(i))) - 0.5F;
  return t;
}

double difference(const Tensor& a, const Tensor& b) {
  double most = 0;
  BOOST_REQUIRE(a.sizes() == b.sizes());
  for (std::int64_t i = 0; i < a.numel(); ++i) most = std::max(most, std::abs(a.at(i) - b.at(i)));
  return most;
}

/// Builds a graph with one output and runs it, with the seed 1.
Tensor output_of(const std::function<Value(Graph&)>& build, const NamedTensors& inputs) {
  Graph graph;
  Program program("p");
  program.output("out", build(graph));
  Session session(graph, {.seed = 1, .threads = 1});
  session.initialise();
  return session.run(program, inputs)["out"];
}

void rejects(const std::function<void(VitConfig&)>& change, const std::string& message) {
  VitConfig c = tiny();
  change(c);
  BOOST_CHECK_EXCEPTION(c.check(), ArgumentError, says(message));
}

BOOST_AUTO_TEST_CASE(weights_for_resizing_are_those_of_pytorch) {
  const auto check = [](std::int64_t from, std::int64_t to, GridFilter filter, std::int64_t row,
                        const std::vector<double>& expected) {
    const std::vector<double> weights = resize_weights(from, to, filter);
    BOOST_TEST(weights.size() == static_cast<std::size_t>(from * to));
    for (std::int64_t i = 0; i < from; ++i)
      BOOST_TEST(std::abs(weights[static_cast<std::size_t>(row * from + i)] -
                          expected[static_cast<std::size_t>(i)]) < 1e-7);
  };
  check(5, 2, GridFilter::antialias, 0,
        {0.3470951266226856, 0.4156203447542029, 0.2394126409874441, 0.0291551393913599,
         -0.0312832517556926});
  check(3, 5, GridFilter::bicubic, 1, {0.612, 0.46, -0.072});
  check(3, 5, GridFilter::antialias, 1,
        {0.6492537313432839, 0.3955223880597015, -0.0447761194029852});
  check(3, 5, GridFilter::bilinear, 1, {0.6, 0.4, 0});
  for (const GridFilter filter :
       {GridFilter::bilinear, GridFilter::bicubic, GridFilter::antialias}) {
    BOOST_TEST((resize_weights(3, 3, filter) == std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1}));
    BOOST_TEST((resize_weights(1, 2, filter) == std::vector<double>{1, 1}));
  }
}

BOOST_AUTO_TEST_CASE(tables_are_resized_alike_in_graphs_and_in_files) {
  const PatchGrid from{3, 2}, to{2, 5};
  const Tensor table = noise({1, 1 + 6, 4}, 3), biases = noise({relative_bias_rows(from), 2}, 4);
  for (const GridFilter filter :
       {GridFilter::bilinear, GridFilter::bicubic, GridFilter::antialias}) {
    const Tensor in_graph = output_of(
        [&](Graph& g) { return resize_position_table(g.constant(table), 1, from, to, filter); },
        {});
    BOOST_TEST(difference(in_graph, resize_position_table(table, 1, from, to, filter)) < 1e-6);
  }
  for (const PatchGrid grid : {from, to}) {
    const Tensor in_graph = output_of(
        [&](Graph& g) { return resize_relative_bias(g.constant(biases), from, grid); }, {});
    BOOST_TEST(difference(in_graph, resize_relative_bias(biases, from, grid)) < 1e-6);
  }
  BOOST_CHECK_EXCEPTION(resize_position_table(table, 0, from, to, GridFilter::bicubic), ShapeError,
                        says("the position table must be [1, 6, 4], not [1, 7, 4]"));
  BOOST_CHECK_EXCEPTION(resize_relative_bias(biases, to, from), ShapeError,
                        says("the table of relative biases must be [30, 2], not [18, 2]"));
}

BOOST_AUTO_TEST_CASE(the_table_of_an_autoencoder_encodes_columns_and_then_rows) {
  const Tensor table = sine_cosine_table(1, {2, 3}, 8);
  BOOST_TEST((table.sizes() == Sizes{1, 7, 8}));
  // The patch at row 1, column 2 is token 6. The frequencies are 1 and 1/100.
  const double expected[] = {std::sin(2), std::sin(0.02), std::cos(2), std::cos(0.02),
                             std::sin(1), std::sin(0.01), std::cos(1), std::cos(0.01)};
  for (std::int64_t f = 0; f < 8; ++f) {
    BOOST_TEST(std::abs(table.at(6 * 8 + f) - expected[f]) < 1e-6);
    BOOST_TEST(table.at(f) == 0);
  }
}

BOOST_AUTO_TEST_CASE(invalid_vision_configs_are_rejected) {
  rejects([](auto& c) { c.registers = -1; }, "registers must be at least 0, not -1");
  rejects(
      [](auto& c) {
        c.positions = VitPositions::rotary_2d;
        c.width = 12;
      },
      "rotary_2d positions need a head size that is a multiple of 4, not width 12 / heads 2");
  rejects(
      [](auto& c) {
        c.positions = VitPositions::fixed;
        c.width = 6;
      },
      "fixed positions need a width that is a multiple of 4, not 6");
  rejects(
      [](auto& c) {
        c.relative_bias = true;
        c.registers = 1;
      },
      "relative_bias and shared_relative_bias need a class token and no other token");
  rejects(
      [](auto& c) {
        c.relative_bias = true;
        c.image_height = c.image_width = 400;
      },
      "number of patches with relative biases must be at most 8192, not 10000");
  rejects([](auto& c) { c.fused_gate = true; }, "fused_gate needs gated");
  rejects([](auto& c) { c.position_rescale = 0.5; },
          "position_rescale must be 0 or at least 1, not 0.5");
  rejects([](auto& c) { c.drop_path = 1; }, "drop_path must be in [0, 1), not 1");
  rejects([](auto& c) { c.decoder_width = 0; }, "decoder_width must be at least 1, not 0");
  rejects(
      [](auto& c) {
        c.pooling = VitPooling::class_and_mean;
        c.final_norm = false;
      },
      "pooling class_and_mean needs final_norm");
  const auto rejects_swin = [](auto&& change, const std::string& message) {
    SwinConfig c = tiny_swin();
    change(c);
    BOOST_CHECK_EXCEPTION(c.check(), ArgumentError, says(message));
  };
  rejects_swin([](auto& c) { c.depths = {2}; }, "not 1 and 2 numbers");
  rejects_swin([](auto& c) { c.depths = {2, 1.5}; }, "depths must be whole numbers from 1 to");
  rejects_swin([](auto& c) { c.heads = {2, 3}; }, "width 16 is not a multiple of heads 3");
  rejects_swin([](auto& c) { c.window = 0; }, "window must be at least 1, not 0");
  rejects_swin([](auto& c) { c.window = 65; }, "window must be at most 64, not 65");
  rejects_swin([](auto& c) { c.image_height = c.image_width = 65536; },
               "number of patches * window^2 must be at most 268435456");
  BOOST_TEST((SwinConfig::from_json(tiny_swin().to_json()) == tiny_swin()));
  VitConfig vit = tiny();
  vit.pooling = VitPooling::attention;
  vit.interpolation = VitInterpolation::antialias;
  BOOST_TEST((VitConfig::from_json(vit.to_json()) == vit));
}

BOOST_AUTO_TEST_CASE(images_of_other_sizes_need_positions_that_can_be_resized) {
  const auto run = [](VitConfig c, const Sizes& size) {
    return output_of(
        [&](Graph& g) {
          const Vit vit(Scope(g).evaluation(), c);
          return vit(g.input("x", ValueType{DType::f32, Shape(size)})).last_hidden_state;
        },
        {{"x", noise(size, 5)}});
  };
  VitConfig c = tiny();
  BOOST_CHECK_EXCEPTION(run(c, {1, 2, 8, 16}), ShapeError,
                        says("images must be [batch, 2, 8, 12]"));
  for (const auto& change : std::vector<std::function<void(VitConfig&)>>{
           [](VitConfig& v) { v.interpolation = VitInterpolation::bicubic; },
           [](VitConfig& v) { v.positions = VitPositions::rotary_2d; },
           [](VitConfig& v) {
             v.positions = VitPositions::none;
             v.relative_bias = true;
           }}) {
    VitConfig other = c;
    change(other);
    BOOST_TEST((run(other, {1, 2, 13, 17}).sizes() == Sizes{1, 1 + 3 * 4, 8}));
    BOOST_CHECK_EXCEPTION(run(other, {1, 2, 8, 3}), ShapeError,
                          says("contain at least one patch of 4 x 4"));
  }
}

BOOST_AUTO_TEST_CASE(every_pooling_has_its_width_and_leaves_out_registers) {
  const Tensor x = noise({2, 2, 8, 12}, 6);
  for (const VitPooling pooling :
       {VitPooling::class_token, VitPooling::mean, VitPooling::patch_mean,
        VitPooling::class_and_mean, VitPooling::attention}) {
    VitConfig c = tiny();
    c.pooling = pooling;
    c.registers = 3;
    BOOST_TEST(c.tokens() == (c.has_class_token() ? 1 : 0) + 3 + 6);
    const Tensor pooled = output_of(
        [&](Graph& g) {
          const Vit vit(Scope(g).evaluation(), c);
          return vit.pool(vit(g.input("x", DType::f32, {2, 2, 8, 12})).last_hidden_state);
        },
        {{"x", x}});
    BOOST_TEST((pooled.sizes() == Sizes{2, c.pooled_width()}));
  }
  // The mean of the patches is that of the tokens after the class token and the registers.
  VitConfig c = tiny();
  c.pooling = VitPooling::patch_mean;
  c.registers = 3;
  Tensor tokens = Tensor::zeros(DType::f32, {1, 10, 8});
  for (std::int64_t i = 0; i < 4 * 8; ++i) tokens.mutable_data<float>()[i] = 100;
  const auto pool = [&](bool final_norm) {
    c.final_norm = final_norm;
    return output_of(
        [&](Graph& g) { return Vit(Scope(g).evaluation(), c).pool(g.constant(tokens)); }, {});
  };
  BOOST_TEST(difference(pool(true), Tensor::zeros(DType::f32, {1, 8})) == 0);
  for (std::int64_t i = 0; i < 80; ++i)
    tokens.mutable_data<float>()[i] = static_cast<float>(i % 8) * 5;
  // Without the final norm, the pooled vector is normalised.
  BOOST_TEST(difference(pool(true), pool(false)) > 10);
}

BOOST_AUTO_TEST_CASE(stochastic_depth_skips_blocks_in_training_only) {
  VitConfig c = tiny();
  c.drop_path = 0.5;
  BOOST_TEST(drop_path_of(c, 0, 3) == 0);
  BOOST_TEST(drop_path_of(c, 1, 3) == 0.25);
  BOOST_TEST(drop_path_of(c, 2, 3) == 0.5);
  BOOST_TEST(drop_path_of(c, 0, 1) == 0);
  c.drop_path_increases = false;
  BOOST_TEST(drop_path_of(c, 0, 3) == 0.5);
  const Tensor x = noise({16, 2, 8, 12}, 7);
  const auto layers_changed = [&](Mode mode) {
    Graph g;
    const Vit vit(Scope(g), c);
    const VitOutputs outputs = vit.in(mode)(g.input("x", DType::f32, {"batch", 2, 8, 12}));
    Program p("p");
    p.output("a", outputs.hidden[0]).output("b", outputs.hidden[1]);
    Session session(g, {.seed = 1, .threads = 1});
    session.initialise();
    const Results r = session.run(p, {{"x", x}});
    int unchanged = 0;
    for (std::int64_t i = 0; i < 16; ++i) {
      bool same = true;
      for (std::int64_t k = 0; k < 7 * 8; ++k)
        same = same && r["a"].at(i * 56 + k) == r["b"].at(i * 56 + k);
      unchanged += same ? 1 : 0;
    }
    return unchanged;
  };
  BOOST_TEST(layers_changed(Mode::evaluation) == 0);
  // Both branches of a block are skipped with probability 1/4.
  const int skipped = layers_changed(Mode::training);
  BOOST_TEST((skipped > 0 && skipped < 12));
}

BOOST_AUTO_TEST_CASE(rotary_coordinates_are_random_in_training_only) {
  VitConfig c = tiny();
  c.positions = VitPositions::rotary_2d;
  c.position_shift = 0.2;
  c.position_jitter = 1.5;
  c.position_rescale = 2;
  const auto cosines = [&](Mode mode, int runs) {
    Graph g;
    Program p("p");
    p.output("cos", patch_rotation(Scope(g).in(mode), c, {2, 3}).cos);
    Session session(g, {.seed = 1, .threads = 1});
    session.initialise();
    Tensor last;
    for (int i = 0; i < runs; ++i) last = session.run(p, {})["cos"];
    return last;
  };
  BOOST_TEST(difference(cosines(Mode::evaluation, 1), cosines(Mode::evaluation, 2)) == 0);
  BOOST_TEST(difference(cosines(Mode::training, 1), cosines(Mode::evaluation, 1)) > 1e-3);
  BOOST_TEST(difference(cosines(Mode::training, 1), cosines(Mode::training, 2)) > 1e-3);
  BOOST_TEST(difference(cosines(Mode::training, 1), cosines(Mode::training, 1)) == 0);
  const Tensor fixed = cosines(Mode::evaluation, 1);  // [1 + 6, 4]
  for (std::int64_t f = 0; f < 4; ++f) BOOST_TEST(fixed.at(f) == 1);
  c.position_jitter = 0;  // off, as 1
  BOOST_TEST((cosines(Mode::training, 1).sizes() == Sizes{7, 4}));
}

BOOST_AUTO_TEST_CASE(a_masked_autoencoder_sees_the_visible_patches_only) {
  VitConfig c = tiny();
  c.positions = VitPositions::fixed;
  const auto encode = [&](const Tensor& images, const Tensor& order, bool pixels) {
    return output_of(
        [&](Graph& g) {
          const MaskedAutoencoder net(Scope(g).evaluation(), c);
          const auto out = net(g.input("x", DType::f32, {"batch", 2, 8, 12}),
                               g.input("noise", DType::f32, {"batch", 6}), 2);
          return pixels ? out.pixels : out.encoder.last_hidden_state;
        },
        {{"x", images}, {"noise", order}});
  };
  const Tensor images = noise({1, 2, 8, 12}, 8);
  // Patches 4 and 1 have the smallest noise.
  const Tensor order = Tensor::of<float>({1, 6}, {0.9F, 0.2F, 0.5F, 0.6F, 0.1F, 0.7F});
  Tensor other = images.clone();
  other.mutable_data<float>()[0] += 1;  // in patch 0
  BOOST_TEST((encode(images, order, false).sizes() == Sizes{1, 3, 8}));
  BOOST_TEST(difference(encode(images, order, false), encode(other, order, false)) == 0);
  BOOST_TEST((encode(images, order, true).sizes() == Sizes{1, 6, 32}));
  other = images.clone();
  other.mutable_data<float>()[5] += 1;  // in patch 1
  BOOST_TEST(difference(encode(images, order, false), encode(other, order, false)) > 1e-4);
  BOOST_TEST(visible_count(9, 0.6) == 3);
  BOOST_TEST(visible_count(196, 0.75) == 49);

  Graph g;
  VitConfig wrong = c;
  wrong.registers = 1;
  BOOST_CHECK_EXCEPTION(MaskedAutoencoder(Scope(g), wrong), ArgumentError,
                        says("a masked autoencoder has a class token and no other token"));
  wrong = c;
  wrong.decoder_heads = 3;
  Graph heads;
  BOOST_CHECK_EXCEPTION(MaskedAutoencoder(Scope(heads), wrong), ArgumentError,
                        says("decoder: width 8 is not a multiple of heads 3"));
  wrong = c;
  wrong.positions = VitPositions::rotary_2d;
  const Vit rotary(Scope(g, "r"), wrong);
  BOOST_CHECK_EXCEPTION(rotary.evaluation().visible(g.input("y", DType::f32, {1, 2, 8, 12}),
                                                    g.input("kept", DType::i64, {1, 2})),
                        ArgumentError, says("patches can be left out only if positions are added"));
}

BOOST_AUTO_TEST_CASE(patches_are_normalised_and_cut_and_joined_without_loss) {
  VitConfig c = tiny();
  c.image_width = 14;  // two columns of pixels are in no patch
  const Tensor images = noise({2, 2, 8, 14}, 9);
  const Tensor again =
      output_of([&](Graph& g) { return images_of(c, patches_of(c, g.constant(images))); }, {});
  for (std::int64_t i = 0; i < images.numel(); ++i)
    BOOST_TEST(again.at(i) == (i % 14 < 12 ? images.at(i) : 0));
  const Tensor patches = output_of([&](Graph& g) { return patches_of(c, g.constant(images)); }, {});
  // Patch 1 of image 0, row 0, column 0, channel 1.
  BOOST_TEST(patches.at(32 + 1) == images.at(8 * 14 + 4));
  const Tensor back = output_of(
      [&](Graph& g) {
        const Value p = g.constant(patches);
        return denormalised_patches(normalised_patches(p), p);
      },
      {});
  BOOST_TEST(difference(back, patches) < 1e-6);
  const Tensor loss = output_of(
      [&](Graph& g) {
        c.normalise_pixel_loss = true;
        const Value x = g.constant(images);
        return masked_patch_loss(c, x, normalised_patches(patches_of(c, x)) + 2.0,
                                 g.constant(Tensor::full(DType::f32, {2, 6}, 1)));
      },
      {});
  BOOST_TEST(std::abs(loss.at(0) - 4) < 1e-5);
}

Tensor swin_tokens(const SwinConfig& c, const Tensor& images) {
  return output_of(
      [&](Graph& g) {
        const Swin swin(Scope(g).evaluation(), c);
        return swin(g.input("x", ValueType{DType::f32, Shape(images.sizes())})).hidden.back();
      },
      {{"x", images}});
}

BOOST_AUTO_TEST_CASE(windows_are_independent_until_they_are_shifted) {
  SwinConfig c = tiny_swin();
  c.depths = {1};
  c.heads = {2};
  const Tensor images = noise({1, 1, 16, 16}, 10);
  Tensor other = images.clone();
  other.mutable_data<float>()[0] += 1;  // in the first window of 4 x 4 patches
  const auto changed = [&] {
    const Tensor a = swin_tokens(c, images), b = swin_tokens(c, other);
    std::vector<bool> windows(4);
    for (std::int64_t p = 0; p < 64; ++p) {
      for (std::int64_t f = 0; f < 8; ++f) {
        if (a.at(p * 8 + f) != b.at(p * 8 + f))
          windows[static_cast<std::size_t>(p / 32 * 2 + p % 8 / 4)] = true;
      }
    }
    return windows;
  };
  BOOST_TEST((changed() == std::vector<bool>{true, false, false, false}));
  c.depths = {2};
  BOOST_TEST((changed() == std::vector<bool>{true, true, true, true}));
  c.window = 8;  // the whole grid: nothing is shifted
  c.depths = {1};
  BOOST_TEST((changed() == std::vector<bool>{true, true, true, true}));
}

BOOST_AUTO_TEST_CASE(swin_accepts_any_image_size_and_windows_that_do_not_fit) {
  for (const auto& [height, width, window] :
       {std::array<std::int64_t, 3>{16, 16, 4}, {15, 9, 3}, {5, 22, 7}, {1, 1, 4}}) {
    SwinConfig c = tiny_swin();
    c.window = window;
    const std::int64_t rows = (height + 1) / 2, columns = (width + 1) / 2;
    const Tensor tokens = swin_tokens(c, noise({2, 1, height, width}, 11));
    BOOST_TEST((tokens.sizes() == Sizes{2, ((rows + 1) / 2) * ((columns + 1) / 2), 16}));
  }
  SwinConfig c = tiny_swin();
  c.positions = true;
  BOOST_CHECK_EXCEPTION(swin_tokens(c, noise({1, 1, 16, 18}, 1)), ShapeError,
                        says("must have 8 x 8 patches, not 8 x 9"));
  BOOST_CHECK_EXCEPTION(swin_tokens(c, noise({1, 2, 16, 16}, 1)), ShapeError,
                        says("images must be [batch, 1, height, width]"));
  Graph g;
  const Swin swin(Scope(g).evaluation(), tiny_swin());
  BOOST_CHECK_EXCEPTION(
      swin(g.input("x", DType::f32, {1, 1, 16, 16}), g.input("mask", DType::i32, {1, 64})),
      ArgumentError, says("patches can be masked only in a model that was built"));
}

BOOST_AUTO_TEST_CASE(swin_results_do_not_depend_on_threads_or_on_the_rest_of_the_batch) {
  Graph g;
  const Swin swin(Scope(g).evaluation(), tiny_swin());
  Program p("p");
  p.output("h", swin(g.input("x", DType::f32, {"batch", 1, 16, 16})).last_hidden_state);
  Session one(g, {.seed = 1, .threads = 1});
  one.initialise();
  Session four(g, one.store(), {.threads = 4});
  const Tensor images = noise({3, 1, 16, 16}, 12);
  const Tensor a = one.run(p, {{"x", images}})["h"];
  BOOST_TEST(bitwise_equal(a, four.run(p, {{"x", images}})["h"]));
  Tensor first = Tensor::empty(DType::f32, {1, 1, 16, 16});
  std::copy_n(images.data<float>(), 256, first.mutable_data<float>());
  const Tensor b = one.run(p, {{"x", first}})["h"];
  for (std::int64_t i = 0; i < b.numel(); ++i) BOOST_TEST(std::abs(a.at(i) - b.at(i)) < 1e-6);
  BOOST_TEST(one.run(p, {{"x", Tensor::empty(DType::f32, {0, 1, 16, 16})}})["h"].numel() == 0);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
