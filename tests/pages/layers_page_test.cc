// The code of models/layers/README.md.
#include <boost/test/unit_test.hpp>
#include <cstdint>

#include "weft/autodiff/optimizer.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers/channel_norm.h"
#include "weft/models/layers/conv.h"
#include "weft/models/layers/dropout.h"
#include "weft/models/layers/linear.h"
#include "weft/testing/random_tensors.h"

namespace {

using namespace weft;

Value small_cnn(const Scope& net, Value images) {
  Value h = images;
  for (const int width : {16, 32}) {
    const Scope block = net / width;
    h = relu(batch_norm(block / "norm", conv2d(block / "conv", h, width,
                                               {.padding = same_padding, .bias = false})));
    h = max_pool2d(h, {.kernel = {2, 2}});
  }
  return linear(net / "head", dropout(net, global_avg_pool(h), 0.2), 10);
}

BOOST_AUTO_TEST_SUITE(layers_page)

BOOST_AUTO_TEST_CASE(one_function_trains_and_predicts) {
  Graph g;
  const Value images = g.input("images", DType::f32, {"batch", 1, 8, 8});
  const Value labels = g.input("labels", DType::i32, {"batch"});

  const Scope net(g, "net");
  const Value loss = cross_entropy(small_cnn(net.training(), images), labels);
  const Value logits = small_cnn(net.evaluation(), images);
  Program train = Program("train").output("loss", loss).update(adamw(loss, net.parameters()));
  Program predict = Program("predict").output("logits", logits);

  Session session(g, {.seed = 1});
  const Tensor pixels = testing::normal_tensor({4, 1, 8, 8}, 1);
  const Tensor classes = Tensor::of<std::int32_t>({4}, {0, 3, 5, 9});
  const float before =
      session.run(train, {{"images", pixels}, {"labels", classes}})["loss"].item<float>();
  for (int step = 0; step < 30; ++step)
    session.run(train, {{"images", pixels}, {"labels", classes}});
  const float after =
      session.run(train, {{"images", pixels}, {"labels", classes}})["loss"].item<float>();
  BOOST_TEST(after < before);
  BOOST_TEST((session.run(predict, {{"images", pixels}})["logits"].sizes() == Sizes{4, 10}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
