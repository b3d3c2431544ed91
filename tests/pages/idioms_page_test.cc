// The idioms of graph/PYTORCH.md and graph/GGML.md: each stands here once, in a program that runs.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "weft/autodiff/derivatives.h"
#include "weft/autodiff/optimizer.h"
#include "weft/graph/control/call.h"
#include "weft/graph/control/cond.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/layers/channel_norm.h"
#include "weft/models/layers/conv.h"
#include "weft/models/layers/dropout.h"
#include "weft/models/layers/embedding.h"
#include "weft/models/layers/linear.h"
#include "weft/models/layers/norm.h"
#include "weft/models/layers/recurrent.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/safetensors.h"
#include "weft/testing/random_tensors.h"
#include "weft/testing/temporary_folder.h"

namespace {

using namespace weft;

/// Runs a program of these outputs with x f32 [2, 6, 16] and ids i32 [2, 6].
struct Idioms {
  Graph g;
  Scope net = Scope(g, "net");
  Value x = g.input("x", DType::f32, {"batch", "seq", 16});
  Value ids = g.input("ids", DType::i32, {"batch", "seq"});
  std::vector<Value> made;

  void run() {
    Program all("all");
    for (std::size_t i = 0; i < made.size(); ++i) all.output("made" + std::to_string(i), made[i]);
    Session session(g, {.seed = 1});
    const Results results =
        session.run(all, {{"x", testing::normal_tensor({2, 6, 16}, 1)},
                          {"ids", testing::integer_tensor({2, 6}, 1, 0, 16, DType::i32)}});
    BOOST_TEST(results.size() == made.size());
  }
};

BOOST_FIXTURE_TEST_SUITE(idioms_page, Idioms)

BOOST_AUTO_TEST_CASE(tensors) {
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

BOOST_AUTO_TEST_CASE(functions) {
  const Variable w =
      net.variable("w", DType::f32, {16, 16}, {.initializer = Initializer::normal(0.1)});
  const Variable table =
      net.variable("table", DType::f32, {16, 16}, {.initializer = Initializer::normal(0.1)});
  const Variable gain =
      net.variable("gain", DType::f32, {16}, {.initializer = Initializer::ones()});
  const Value mask = greater(x, 0);
  made = {
      linear(net / "out", x, 4),
      linear(x, w),
      matmul(x, w, {.transpose_b = true}),
      embedding(net / "tok", ids, {.vocab = 16, .width = 8}),
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
      einsum("bsi,oi->bso", {x, w}),
      sum(x, {1}),
      max(x, {-1}, true),
      cast(argmax(x, 2), DType::i32),
      topk(x, 3).values,
      one_hot(ids, 16),
      cumsum(x, 1),
      tril(matmul(x, x, {.transpose_b = true})),
      arange(g, x.shape()[1]),
      zeros_like(x),
      full(g, DType::f32, {2, 3}, 0.5),
      stop_gradient(x),
      cross_entropy(x, ids),
      mse(x, 0),
      bce_with_logits(x, cast(mask, DType::f32)),
      lstm(net / "lstm", x, 8).output,
      normal(g.key("noise"), x.shape()),
      clamp(x, -1, 1),
      2 * x + 1,
      x * sigmoid(x),
      pow(x, 2),
  };
  run();
}

BOOST_AUTO_TEST_CASE(modes_and_images) {
  const auto model = [](const Scope& at, Value h) {
    return linear(at / "head", dropout(at, h, 0.2), 4);
  };
  made = {model(net.training(), x), model(net.evaluation(), x)};
  const Value images = unsqueeze(x, 1);
  made.push_back(conv2d(net / "conv", images, 8, {.kernel = {3, 3}, .padding = same_padding}));
  made.push_back(batch_norm(net.training() / "bn", images));
  made.push_back(max_pool2d(images, {.kernel = {2, 2}}));
  made.push_back(global_avg_pool(images));
  run();
  std::vector<float> numbers = {1, 2, 3, 4};
  const Tensor mine = Tensor::over(numbers, {2, 2});
  BOOST_TEST(mine.at(3) == 4);
}

BOOST_AUTO_TEST_CASE(attention_and_caches) {
  const Value heads = permute(reshape(x, {"batch", "seq", 4, 4}), {0, 2, 1, 3});
  const Value q = heads, k = heads, v = heads;
  const Value positions = g.input("positions", DType::i64, {"seq"});
  const Value lengths = g.input("lengths", DType::i64, {"batch"});
  const Variable cache =
      net.variable("keys", DType::f32, {"batch", 4, 32, 4}, {.kind = VariableKind::cache});
  const Value start = g.input("start", DType::i64, {4});
  const Value keys = dynamic_update_slice(cache, k, start);
  const Program decode = Program("decode")
                             .output("y", attention(q, k, v, {.causal = true}))
                             .output("padded", attention(q, k, v, {.lengths = lengths}))
                             .output("turned", rope(q, positions))
                             .update(cache, keys);
  Session session(g, {.seed = 1});
  session.run(decode, {{"x", testing::normal_tensor({2, 6, 16}, 1)},
                       {"positions", Tensor::of<std::int64_t>({6}, {0, 1, 2, 3, 4, 5})},
                       {"lengths", Tensor::of<std::int64_t>({2}, {6, 3})},
                       {"start", Tensor::of<std::int64_t>({4}, {0, 0, 5, 0})}});
  session.reset_caches();
}

BOOST_AUTO_TEST_CASE(control) {
  const Variable w =
      net.variable("w", DType::f32, {16, 16}, {.initializer = Initializer::normal(0.1)});
  const Value h0 = zeros(g, DType::f32, {g.dim("batch"), 16});
  const auto states =
      scan(g, {h0}, {permute(x, {1, 0, 2})}, {w}, [](Graph&, const ScanElements& in) {
        const Value h = tanh(in.elements[0] + matmul(in.carries[0], in.operands[0]));
        return ScanStep{{h}, {h}};
      });
  const auto twice = [](Graph&, const std::vector<Value>& in) { return std::vector{2 * in[0]}; };
  const auto same = [](Graph&, const std::vector<Value>& in) { return std::vector{1 * in[0]}; };
  made = {states.outputs[0], cond(any(greater(x, 0)), {x}, twice, same)[0]};
  run();
}

BOOST_AUTO_TEST_CASE(training) {
  const Value y = linear(net / "out", x, 4);
  const Value loss = mean(square(y));
  const Value slope = gradient(loss, x);
  const std::vector<Value> tangent = {jvp(y, {x}, {ones_like(x)})};
  const Program train =
      Program("train")
          .output("loss", loss)
          .update(adamw(loss, g.parameters(),
                        {.lr = warmup_cosine(1e-3, 100, 10000), .step = {.clip_norm = 1}}));
  const Program evaluate = Program("evaluate").output("loss", loss);
  Session session(g, {.seed = 1, .threads = 4});
  const NamedTensors batch = {{"x", testing::normal_tensor({2, 6, 16}, 1)}};
  const float now = session.run(train, batch)["loss"].item<float>();
  const Tensor weight = session.value("net.out.weight");
  session.set_value("net.out.bias", Tensor::zeros(DType::f32, {4}));
  BOOST_TEST(std::isfinite(now));
  BOOST_TEST(weight.rank() == 2);

  const testing::TemporaryFolder folder;
  const std::string path = folder.path("net.weft");
  save_checkpoint(path, session, {train, evaluate});
  const Checkpoint file = load_checkpoint(path);
  write_safetensors(folder.path("net.safetensors"), session.store()->snapshot());
  const QuantizedModel small =
      quantize({evaluate}, *session.store(), {.weights = WeightFormat::int8});
  const std::string text = to_text(train), drawing = to_dot(train);
  Session profiled(g, {.seed = 1, .profile = true});
  profiled.run(evaluate, batch);
  const std::string times = profiled.profile().table();
  Program fast = evaluate;
  fast.precision(Precision::medium);
  const std::size_t arena = session.plan(train, {{"x", {2, 6, 16}}})->arena_bytes;
  g.set_trainable(g.find_variable("net.out.bias"), false);
  const Variable count = g.variable("count", DType::i64, {}, {.kind = VariableKind::buffer});
  BOOST_TEST(!times.empty());
  BOOST_TEST(arena > 0u);
  BOOST_TEST(small.weights.size() + file.programs().size() == 3u);
  BOOST_TEST(text.size() + drawing.size() + tangent.size() + count.name().size() > 100u);
  BOOST_TEST(slope.defined());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
