// Code blocks in docs/losses.md.
#include <boost/test/unit_test.hpp>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"

namespace {

using namespace weft;

BOOST_AUTO_TEST_SUITE(losses_page)

BOOST_AUTO_TEST_CASE(a_student_learns_from_the_probabilities_of_a_teacher) {
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f32, {"batch", 8});
  const Value labels = g.input("labels", DType::i64, {"batch"});
  const Value teacher = linear(net / "teacher", x, 5);
  const Value student = linear(net / "student", x, 5);

  const double temperature = 2;
  const Value soft = softmax(stop_gradient(teacher) / temperature);
  const Value distillation = cross_entropy(student / temperature, soft) * temperature * temperature;
  const Value loss = 0.5 * distillation + 0.5 * cross_entropy(student, labels);
  const Program train =
      Program("train").output("loss", loss).update(adam(loss, (net / "student").parameters()));

  Session session(g, {.seed = 1});
  const NamedTensors batch = {{"x", normal_tensor({16, 8}, 1)},
                              {"labels", integer_tensor({16}, 2, 0, 5, DType::i64)}};
  const float first = session.run(train, batch)["loss"].item<float>();
  float last = first;
  for (int step = 0; step < 50; ++step) last = session.run(train, batch)["loss"].item<float>();
  BOOST_TEST(last < first);
}

BOOST_AUTO_TEST_CASE(two_encoders_learn_a_common_space) {
  Graph g;
  const Scope net(g, "net");
  const Value images = g.input("images", DType::f32, {"pairs", 12});
  const Value texts = g.input("texts", DType::f32, {"pairs", 6});
  const Variable scale =
      net.variable("scale", DType::f32, {}, {.initializer = Initializer::constant(2.66)});

  const Value a = linear(net / "image", images, 16);  // row i of both belongs together
  const Value b = linear(net / "text", texts, 16);
  const Value loss = info_nce(a, b, {.temperature = exp(-scale), .symmetric = true});
  const Program train =
      Program("train").output("loss", loss).update(adam(loss, net.parameters(), {.lr = 0.01}));

  Session session(g, {.seed = 1});
  const NamedTensors batch = {{"images", normal_tensor({8, 12}, 1)},
                              {"texts", normal_tensor({8, 6}, 2)}};
  const float first = session.run(train, batch)["loss"].item<float>();
  float last = first;
  for (int step = 0; step < 100; ++step) last = session.run(train, batch)["loss"].item<float>();
  BOOST_TEST(last < first / 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
