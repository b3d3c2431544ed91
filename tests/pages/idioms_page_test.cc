// The idioms in docs/migration/from-pytorch.md and docs/migration/from-ggml.md. Each idiom occurs
// once, in a program that is executed.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "weft/autodiff/derivatives.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/control/call.h"
#include "weft/graph/control/cond.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/graph/weights/parameter_count.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/layers.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/load_parameters.h"
#include "weft/serialization/safetensors.h"
#include "weft/testing/temporary_folder.h"

namespace {

using namespace weft;

/// Collects Values in `made` and runs a program with all of them as outputs, on small random data.
struct Idioms {
  Graph g;
  Scope net = Scope(g, "net");
  Value x = g.input("x", DType::f32, {"batch", "seq", 16});
  Value t = g.input("t", DType::f32, {"batch", "seq", 16});
  Value ids = g.input("ids", DType::i32, {"batch", "seq"});
  Value images = g.input("images", DType::f32, {"batch", 8, 6, 6});
  Value signal = g.input("signal", DType::f32, {"batch", 8, "time"});
  std::vector<Value> made;

  void run() {
    Program all("all");
    for (std::size_t i = 0; i < made.size(); ++i) all.output("made" + std::to_string(i), made[i]);
    NamedTensors feeds = {{"x", normal_tensor({2, 6, 16}, 1)},
                          {"t", normal_tensor({2, 6, 16}, 2)},
                          {"ids", integer_tensor({2, 6}, 1, 0, 16, DType::i32)},
                          {"images", normal_tensor({2, 8, 6, 6}, 3)},
                          {"signal", normal_tensor({2, 8, 10}, 4)}};
    const std::vector<Value> needed = all.inputs();
    std::erase_if(feeds, [&](const auto& feed) {
      return std::count(needed.begin(), needed.end(), g.find_input(feed.first)) == 0;
    });
    Session session(g, {.seed = 1});
    const Results results = session.run(all, feeds);
    BOOST_TEST(results.size() == made.size());
  }
};

/// The module of docs/migration/from-pytorch.md: x and the result are f32 [..., width].
Value block(const Scope& at, Value x, std::int64_t width) {
  const Variable scale =
      at.variable("scale", DType::f32, {width}, {.initializer = Initializer::ones()});
  const Value h = gelu(linear(at / "up", layer_norm(at / "norm", x), 4 * width));
  return x + scale * linear(at / "down", h, width);
}

BOOST_FIXTURE_TEST_SUITE(idioms_page, Idioms)

BOOST_AUTO_TEST_CASE(tensor_idioms_run) {
  const Tensor a = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const Tensor b = Tensor::zeros(DType::f32, {2, 3});
  const Tensor c = Tensor::full(DType::i64, {2}, -100);
  const std::vector<float> numbers = a.to_vector<float>();
  const float number = a.reshape({4}).data<float>()[3];
  const double any = c.at(1);
  const Tensor half = a.to(DType::bf16);
  BOOST_TEST(number == 4);
  BOOST_TEST(any == -100);
  BOOST_TEST(numbers.size() + b.sizes().size() == 6u);
  BOOST_TEST(half.bytes() == 8u);
}

BOOST_AUTO_TEST_CASE(function_idioms_run) {
  const Variable w =
      net.variable("w", DType::f32, {16, 16}, {.initializer = Initializer::normal(0.1)});
  const Variable table =
      net.variable("table", DType::f32, {16, 16}, {.initializer = Initializer::normal(0.1)});
  const Variable gain =
      net.variable("gain", DType::f32, {16}, {.initializer = Initializer::ones()});
  const Value mask = greater(x, 0);
  const Value index = broadcast_to(unsqueeze(ids / 4, 2), x.shape());
  const Value rows = select(x, 1, 0), group = select(ids / 4, 1, 0);
  const Value sorted_rows = flatten(x, 0, 1);
  const Variable experts = net.variable("experts", DType::f32, {2, 16, 4});
  const Value sizes = g.constant(Tensor::of<std::int64_t>({2}, {5, 7}));
  made = {
      grouped_matmul(sorted_rows, experts, sizes),
      linear(net / "out", x, 4),
      linear(x, w),
      matmul(x, w, {.transpose_b = true}),
      embedding(net / "tok", ids, {.vocab = 16, .width = 8}),
      embedding_bag(net / "bag", ids, {.vocab = 16, .width = 8}),
      take(table, ids, 0),
      layer_norm(net / "norm", x),
      rms_norm(x, gain),
      relu(x),
      gelu(x, GeluForm::tanh),
      softmax(x, -1),
      dropout(x, 0.1, g.key("dropout")),
      permute(reshape(x, {"batch", "seq", 4, 4}), {0, 2, 1, 3}),
      flatten(x, 1),
      unsqueeze(x, 1),
      select(x, 1, 0),
      slice(x, 1, {.begin = 1}),
      slice(x, 1, {.end = -1}),
      concat({x, x}, 2),
      stack({x, x}, 0),
      split_equal(x, 2, 2)[0],
      where(mask, x, -1e9),
      masked_fill(x, mask, 0),
      equal(x, t),
      x > 0,
      einsum("bsi,oi->bso", {x, w}),
      sum(x, {1}),
      max(x, {-1}, true),
      cast(argmax(x, 2), DType::i32),
      topk(x, 3).values,
      scatter_add(x, index, t, 1),
      scatter_max(x, index, t, 1),
      segment_max(rows, group, 8),
      segment_softmax(rows, group, 8),
      one_hot(ids, 16),
      cumsum(x, 1),
      tril(matmul(x, x, {.transpose_b = true})),
      arange(g, x.shape()[1]),
      zeros_like(x),
      full(g, DType::f32, {2, 3}, 0.5),
      stop_gradient(x),
      cross_entropy(x, ids),
      cross_entropy(x, softmax(t)),
      sigmoid_focal_loss(x, t),
      focal_loss(x, ids),
      mse(x, t),
      bce_with_logits(x, t),
      kl_div(log_softmax(x), softmax(t), Reduction::batch_mean),
      lstm(net / "lstm", x, 8).output,
      self_attention(net / "attention", x, {.heads = 4, .causal = false}),
      linear(net / "start", x, 4, {.initializer = Initializer::normal(0.02)}),
      linear(net / "he", x, 4, {.initializer = Initializer::he_normal(16)}),
      linear(net / "glorot", x, 4, {.initializer = Initializer::glorot_uniform(16, 4)}),
      normal(g.key("noise"), x.shape()),
      bernoulli(g.key("noise"), x.shape(), 0.5),
      categorical(g.key("choice"), x),
      random_permutation(g.key("order"), x.shape()[0]),
      pad(x, {{0, 0}, {1, 1}, {0, 0}}),
      take_along_axis(x, argmax(x, 2, true), 2),
      clamp(x, -1, 1),
      2 * x + 1,
      x * sigmoid(x),
      pow(x, 2),
  };
  run();
}

/// Layers that need a scope with a mode.
Value dropped(const Scope& net, Value x, Value images) {
  return sum(dropout(net, x, 0.1)) + sum(channel_dropout(net, images, 0.1));
}

BOOST_AUTO_TEST_CASE(mode_and_image_idioms_run) {
  const auto model = [](const Scope& at, Value h) {
    return linear(at / "head", dropout(at, h, 0.2), 4);
  };
  made = {
      model(net.training(), x),
      model(net.evaluation(), x),
      dropped(net.training(), x, images),
      conv1d(net / "conv1", signal, 16, {.kernel = 3, .padding = 1}),
      conv2d(net / "conv", images, 16, {.kernel = {3, 3}, .padding = same_padding}),
      conv_transpose2d(net / "up", images, 4, {.kernel = {2, 2}, .stride = {2, 2}}),
      batch_norm(net.training() / "bn", images),
      group_norm(net / "gn", images, 4),
      max_pool2d(images, {.kernel = {2, 2}}),
      global_avg_pool(images),
  };
  run();
  std::vector<float> numbers = {1, 2, 3, 4};
  const Tensor mine = Tensor::over(numbers, {2, 2});
  BOOST_TEST(mine.at(3) == 4);
}

BOOST_AUTO_TEST_CASE(attention_and_cache_idioms_run) {
  const Value heads = permute(reshape(x, {"batch", "seq", 4, 4}), {0, 2, 1, 3});
  const Value q = heads, k = heads, v = heads;
  const Value positions = g.input("positions", DType::i64, {"seq"});
  const Value lengths = g.input("lengths", DType::i64, {"batch"});
  const Value rows = g.input("rows", DType::i64, {"batch"});
  const Value cu_seqlens = g.input("cu_seqlens", DType::i64, {"ends"});
  const Variable cache =
      net.variable("keys", DType::f32, {"batch", 4, 32, 4}, {.kind = VariableKind::cache});
  const Value sinks = net.variable("sinks", DType::f32, {4});
  const Value start = g.input("start", DType::i64, {4});
  const Value keys = dynamic_update_slice(cache, k, start);
  const Program decode =
      Program("decode")
          .output("y", attention(q, k, v, {.causal = true}))
          .output(
              "capped",
              attention(q, k, v, {.causal = true, .window = 128, .soft_cap = 50, .sinks = sinks}))
          .output("padded", attention(q, k, v, {.lengths = lengths}))
          .output("texts", attention(q, k, v, {.offsets = cu_seqlens}))
          .output("turned", rope(q, positions))
          .output("appended", tensor_scatter(cache, k, lengths))
          .output("selected", attention(q, cache, cache, {.lengths = lengths, .kv_rows = rows}))
          .update(cache, keys);
  Session session(g, {.seed = 1});
  session.run(decode, {{"x", normal_tensor({2, 6, 16}, 1)},
                       {"positions", Tensor::of<std::int64_t>({6}, {0, 1, 2, 3, 4, 5})},
                       {"lengths", Tensor::of<std::int64_t>({2}, {6, 3})},
                       {"cu_seqlens", Tensor::of<std::int64_t>({3}, {0, 2, 6})},
                       {"rows", Tensor::of<std::int64_t>({2}, {1, 1})},
                       {"start", Tensor::of<std::int64_t>({4}, {0, 0, 5, 0})}});
  session.reset_caches();
}

BOOST_AUTO_TEST_CASE(sequence_loss_idioms_run) {
  const Value targets = maximum(slice(ids, 1, {.end = 3}), 1);
  const Value steps = full(g, DType::i64, {g.dim("batch")}, 6);
  const Value counts = full(g, DType::i64, {g.dim("batch")}, 2);
  made = {ctc_loss(x, targets, steps, counts)};
  run();
}

BOOST_AUTO_TEST_CASE(control_flow_idioms_run) {
  const Variable w =
      net.variable("w", DType::f32, {16, 16}, {.initializer = Initializer::normal(0.1)});
  const Value h0 = zeros(g, DType::f32, {g.dim("batch"), 16});
  const Value steps = permute(x, {1, 0, 2});  // scan loops over axis 0
  const auto cell = [](Graph&, const ScanElements& in) {
    const Value h = tanh(in.elements[0] + matmul(in.carries[0], in.operands[0]));
    return ScanStep{.carries = {h}, .outputs = {h}};
  };
  const auto twice = [](Graph&, const std::vector<Value>& in) { return std::vector{2 * in[0]}; };
  const auto same = [](Graph&, const std::vector<Value>& in) { return std::vector{1 * in[0]}; };
  made = {scan(g, {h0}, {steps}, {w}, cell).outputs[0],
          cond(any(greater(x, 0)), {x}, twice, same)[0]};
  run();
}

BOOST_AUTO_TEST_CASE(the_module_and_training_loop_idioms_run) {
  const std::vector<NamedTensors> batches = {
      {{"x", normal_tensor({4, 16}, 1)}, {"labels", integer_tensor({4}, 1, 0, 4)}}};
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f32, {"batch", 16});
  const Value labels = g.input("labels", DType::i64, {"batch"});
  Value h = x;
  for (int i = 0; i < 2; ++i) h = block(net / i, h, 16);
  const Value loss = cross_entropy(linear(net / 2, h, 4), labels);
  const Program train =
      Program("train").output("loss", loss).update(adamw(loss, net.parameters(), {.lr = 1e-3}));

  Session session(g, {.seed = 1});
  for (const NamedTensors& batch : batches)  // {{"x", f32 [n, 16]}, {"labels", i64 [n]}}
    std::printf("%.4f\n", session.run(train, batch)["loss"].item<float>());
  BOOST_TEST(session.value("net.0.norm.weight").numel() == 16);
  BOOST_TEST(session.value("net.2.weight").numel() == 64);
}

BOOST_AUTO_TEST_CASE(training_idioms_run) {
  const Value y = linear(net / "out", linear(net / "body", x, 16), 4);
  const Value loss = mean(square(y));
  const Variable w = g.find_variable("net.out.weight");
  g.set_name("hidden", y);
  const std::vector<Value> derived = {gradient(loss, x), jvp(y, {x}, {ones_like(x)}),
                                      vjp(y, {x}, ones_like(y))[0], jacobian(y, w),
                                      hessian(loss, w)};
  const TrainingStep step = adamw(
      loss, g.parameters(),
      {.lr = warmup_cosine(1e-3, 100, 10000), .step = {.clip_norm = 1, .skip_nonfinite = true}});
  const Program train = Program("train")
                            .output("loss", loss)
                            .update(step)
                            .update(Ema(net.parameters(), {.decay = 0.999}).updates(step));
  const Program grouped = Program("grouped").update(adamw(
      loss,
      group_parameters(net.parameters(), {{.where = "net.body.*", .learning_rate_scale = 0.1}}),
      {.lr = 1e-3}));
  const Program own_rate =
      Program("own_rate")
          .update(adamw(loss,
                        group_parameters(net.parameters(), {{.where = "net.out.*", .lr = 1e-2}})));
  const Scope target(g, "target");
  linear(target / "out", linear(target / "body", x, 16), 4);
  const Program with_target =
      Program("with_target").update(step).update(polyak_updates(target, net, step, {.tau = 0.005}));
  const Program momentum =
      Program("momentum").update(sgd(loss, net.parameters(), {.lr = 0.1, .momentum = 0.9}));
  const Program evaluate = Program("evaluate").output("loss", loss);

  Session session(g, {.seed = 1, .threads = 4});
  const NamedTensors batch = {{"x", normal_tensor({2, 6, 16}, 1)}};
  session.set_profiling(true);
  const float now = session.run(train, batch)["loss"].item<float>();
  const Tensor hidden = session.run(evaluate, batch, {.fetch = {"hidden"}})["hidden"];
  const Tensor weight = session.value("net.out.weight");
  session.set_value("net.out.bias", Tensor::zeros(DType::f32, {4}));
  session.run(grouped, batch);
  session.run(momentum, batch);
  session.run(own_rate, batch);
  copy_parameters(session, net, target);
  session.run(with_target, batch);
  const Tensor v = flat_parameters(session, net.parameters());
  set_flat_parameters(session, net.parameters(), v);
  const LbfgsResult minimised =
      minimize(session, loss, net.parameters(), batch, {.max_iterations = 20});
  BOOST_TEST(minimised.loss < now);
  Session averaged(g, averaged_store(*session.store()));
  BOOST_TEST(std::isfinite(now));
  BOOST_TEST(weight.rank() + hidden.rank() == 5);
  BOOST_TEST(averaged.value("net.out.weight").rank() == 2);

  const testing::TemporaryFolder folder;
  const std::string path = folder.path("net.weft");
  save_checkpoint(path, session, {train, evaluate});
  const Checkpoint file = load_checkpoint(path);
  const std::string weights = folder.path("net.safetensors");
  write_safetensors(weights, session.store()->snapshot());
  load_parameters(session, weights, {.allow_missing = {"*"}, .allow_unexpected = {"*"}});
  const QuantizedModel small =
      quantize({evaluate}, *session.store(), {.weights = WeightFormat::int8});
  const QuantizedModel blocks =
      quantize({evaluate}, *session.store(), {.weights = WeightFormat::q8_0});
  const std::string text = to_text(train), drawing = to_dot(train);
  const std::string times = session.profile().table();
  Program program = evaluate;
  program.precision(Precision::medium);
  const std::size_t arena = session.plan(train, {{"x", {2, 6, 16}}})->arena_bytes;
  BOOST_TEST(count_parameters(g) == 2 * (16 * 16 + 16 + 4 * 16 + 4));  // net and target
  g.set_trainable(g.find_variable("net.out.bias"), false);
  const Variable count = g.variable("count", DType::i64, {}, {.kind = VariableKind::buffer});
  BOOST_TEST(!times.empty());
  BOOST_TEST(arena > 0u);
  BOOST_TEST(blocks.weights.size() == small.weights.size());
  BOOST_TEST(small.weights.size() + file.programs().size() == 4u);
  BOOST_TEST(text.size() + drawing.size() + count.name().size() > 100u);
  BOOST_TEST(derived.size() == 5u);
}

BOOST_AUTO_TEST_CASE(the_gradient_accumulation_idiom_runs) {
  const Value y = linear(net / "out", x, 16);
  const Value loss = mse(y, t, Reduction::shard_mean);
  const Program train = Program("train")
                            .output("loss", loss)
                            .shards({.count = 8})
                            .update(adamw(loss, g.parameters()));
  Session session(g, {.seed = 1});
  session.run(train, {{"x", normal_tensor({8, 6, 16}, 1)}, {"t", normal_tensor({8, 6, 16}, 2)}});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
