// A training that is saved, loaded and continued gives the same bits as one that was not
// interrupted.
#include <boost/test/unit_test.hpp>

#include "weft/graph/functions.h"
#include "weft/serialization/checkpoint.h"
#include "weft/testing/temporary_folder.h"

namespace weft {
namespace {

// Gradient-free: a step moves the weight with momentum, noise from a key, and a counter.
Program training(Graph& g) {
  const Value x = g.input("x", DType::f32, {"n", 3});
  const Variable w = g.variable("w", DType::f32, {3}, {.initializer = Initializer::normal(1)});
  const Variable m = g.variable("w.momentum", DType::f32, {3}, {.kind = VariableKind::optimizer});
  const Variable step = g.variable("step", DType::i64, {}, {.kind = VariableKind::optimizer});
  const Variable key = g.key("dropout");
  const Value kept =
      g.apply("dropout", {x, key}, {{"rate", 0.5}, {"stream", g.next_stream()}}).output(0);
  const Value slope = sum(tanh(kept * w), {0});
  const Value moved = m.value() * 0.9 + slope * 0.1;
  return Program("train")
      .output("loss", sum(slope))
      .update(w, w.value() - moved * 0.01)
      .update(m, moved)
      .update(step, step.value() + 1);
}

Tensor batch() { return Tensor::of<float>({2, 3}, {0.3f, -1, 2, 0.7f, 0.1f, -0.4f}); }

BOOST_AUTO_TEST_SUITE(resume)

BOOST_AUTO_TEST_CASE(resuming_continues_with_the_same_bits) {
  testing::TemporaryFolder folder;
  Graph g;
  const Program train = training(g);
  Session session(g, {.seed = 7});
  for (int i = 0; i < 3; ++i) session.run(train, {{"x", batch()}});
  save_checkpoint(folder / "net.weft", session, {train});
  std::vector<Tensor> losses;
  for (int i = 0; i < 4; ++i)
    losses.push_back(session.run(train, {{"x", batch()}})["loss"].clone());
  save_checkpoint(folder / "through.weft", session, {train});

  {
    // Another seed: all state comes from the file. No model code either.
    const Checkpoint c = load_checkpoint(folder / "net.weft");
    Session resumed(c.graph(), c.store(), {.seed = 99});
    for (const Tensor& loss : losses) {
      BOOST_TEST(bitwise_equal(resumed.run(c.program("train"), {{"x", batch()}})["loss"], loss));
    }
    // Over the file that is mapped.
    save_checkpoint(folder / "net.weft", resumed, {c.program("train")});
  }
  const Checkpoint a = load_checkpoint(folder / "net.weft"),
                   b = load_checkpoint(folder / "through.weft");
  BOOST_TEST(a.tensors().size() == 4u);
  for (const auto& [name, t] : a.tensors())
    BOOST_TEST(bitwise_equal(t, b.tensors().at(name)), name);
  BOOST_TEST(a.tensors().at("step").item<std::int64_t>() == 7);
}

BOOST_AUTO_TEST_CASE(a_session_that_never_ran_can_be_saved) {
  testing::TemporaryFolder folder;
  Graph g;
  const Program train = training(g);
  Session session(g, {.seed = 7});
  save_checkpoint(folder / "net.weft", session, {train});
  const Checkpoint c = load_checkpoint(folder / "net.weft");
  Session resumed(c.graph(), c.store());
  BOOST_TEST(bitwise_equal(resumed.run(c.program("train"), {{"x", batch()}})["loss"],
                           session.run(train, {{"x", batch()}})["loss"]));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
