// A training run that is saved, loaded and continued gives the same bits as an uninterrupted run.
#include <boost/test/unit_test.hpp>

#include "weft/graph/functions.h"
#include "weft/serialization/checkpoint.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/serialization/file_bytes.h"

namespace weft {
namespace {

// A training program without gradients. Each step updates the weight with momentum and noise
// from a random key, and increments a counter.
Program training(Graph& g) {
  const Value x = g.input("x", DType::f32, {"n", 3});
  const Variable w = g.variable("w", DType::f32, {3}, {.initializer = Initializer::normal(1)});
  const Variable m = g.variable("w.momentum", DType::f32, {3}, {.kind = VariableKind::optimizer});
  const Variable step = g.variable("step", DType::i64, {}, {.kind = VariableKind::optimizer});
  const Value decay = exp(w.value());
  const Variable key = g.key("dropout"), noise = g.key("noise");
  const Value kept =
      g.apply("dropout", {x, key}, {{"rate", 0.5}, {"stream", g.next_stream()}}).output(0);
  const Value slope = sum(tanh(kept * w), {0}) + decay * normal(noise, Shape{3});
  const Value moved = m.value() * 0.9 + slope * 0.1;
  return Program("train")
      .output("loss", sum(slope))
      .update(w, w.value() - moved * 0.01)
      .update(m, moved)
      .update(step, step.value() + 1);
}

Tensor batch() { return Tensor::of<float>({2, 3}, {0.3f, -1, 2, 0.7f, 0.1f, -0.4f}); }

BOOST_AUTO_TEST_SUITE(resume)

BOOST_AUTO_TEST_CASE(a_resumed_run_is_bit_exact) {
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
    // A different seed has no effect, because all state comes from the file. No model code is
    // needed.
    const Checkpoint c = load_checkpoint(folder / "net.weft");
    Session resumed(c.graph(), c.store(), {.seed = 99});
    for (const Tensor& loss : losses) {
      BOOST_TEST(bitwise_equal(resumed.run(c.program("train"), {{"x", batch()}})["loss"], loss));
    }
    // Overwrites the mapped file.
    save_checkpoint(folder / "net.weft", resumed, {c.program("train")});
  }
  const Checkpoint a = load_checkpoint(folder / "net.weft"),
                   b = load_checkpoint(folder / "through.weft");
  BOOST_TEST(a.tensors().size() == 5u);
  for (const auto& [name, t] : a.tensors())
    BOOST_TEST(bitwise_equal(t, b.tensors().at(name)), name);
  BOOST_TEST(a.tensors().at("step").item<std::int64_t>() == 7);
}

// A file does not depend on when or how often its training run was interrupted.
BOOST_AUTO_TEST_CASE(a_resumed_run_writes_the_same_bytes_as_an_uninterrupted_run) {
  testing::TemporaryFolder folder;
  const auto run = [&](Session& session, const Program& train, int steps) {
    for (int i = 0; i < steps; ++i) session.run(train, {{"x", batch()}});
  };
  Graph g;
  const Program train = training(g),
                predict = Program("predict").output("y", exp(g.find_input("x")));
  Session session(g, {.seed = 7});
  for (int stop = 0; stop < 4; ++stop) {
    save_checkpoint(folder / std::to_string(stop), session, {train, predict});
    run(session, train, 1);
  }
  save_checkpoint(folder / "whole", session, {train, predict});
  const std::string whole = testing::read_file(folder / "whole");
  for (int stop = 0; stop < 4; ++stop) {
    for (int i = stop; i <= 4; ++i) {
      const Checkpoint file = load_checkpoint(folder / std::to_string(stop));
      Session resumed(file.graph(), file.store());
      run(resumed, file.program("train"), i < 4 ? 1 : 0);
      save_checkpoint(folder / std::to_string(stop), resumed, file.programs());
    }
    BOOST_TEST((testing::read_file(folder / std::to_string(stop)) == whole),
               "stopped after step " << stop);
  }
  // An extracted inference file does not depend on which of these files it was extracted from,
  // either.
  extract_checkpoint(folder / "whole", folder / "part", {"train"});
  extract_checkpoint(folder / "0", folder / "other", {"train"});
  BOOST_TEST((testing::read_file(folder / "part") == testing::read_file(folder / "other")));
  save_checkpoint(folder / "built", session, {train});
  BOOST_TEST((testing::read_file(folder / "built") == testing::read_file(folder / "part")));
}

BOOST_AUTO_TEST_CASE(a_session_can_be_saved_before_its_first_run) {
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
