// Files with programs that only infer, and what a loaded graph says of a mistake in the data.
#include <boost/test/unit_test.hpp>

#include "weft/autodiff/optimizer.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/serialization/checkpoint.h"
#include "weft/tests/kit/messages.h"
#include "weft/tests/serialization/file_bytes.h"

namespace weft {
namespace {

using testing::message_contains;

BOOST_AUTO_TEST_SUITE(inference_file)

BOOST_AUTO_TEST_CASE(a_file_holds_the_variables_that_its_programs_need) {
  const testing::TemporaryFolder folder;
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 8}),
              z = g.input("z", DType::f32, {"batch", 4});
  const Variable w = g.variable("w", DType::f32, {8, 4}, {.initializer = Initializer::normal(0.5)});
  const Variable unused = g.variable("unused", DType::f32, {8});
  const Value y = matmul(x, w);
  const Value loss = mean(square(y - z));
  const TrainingStep step = adamw(loss, {w}, {.lr = 0.1});
  g.set_name("hidden", tanh(y));
  g.set_name("loss_of_unused", loss + sum(unused.value()));
  const Program predict = Program("predict").output("y", y);
  const Program train = Program("train").output("loss", loss).update(step);
  Session session(g);
  const NamedTensors feeds = {{"x", Tensor::full(DType::f32, {2, 8}, 1)}};
  const NamedTensors both = {feeds[0], {"z", Tensor::full(DType::f32, {2, 4}, 1)}};
  session.run(train, both);
  save_checkpoint(folder / "predict.weft", session, {predict});
  save_checkpoint(folder / "all.weft", session, {train, predict});

  const Checkpoint file = load_checkpoint(folder / "predict.weft");
  BOOST_TEST(file.tensors().size() == 1u);
  BOOST_TEST(file.graph().variables().size() == 1u);
  BOOST_TEST(file.graph().find_named("hidden").defined());
  BOOST_TEST(!file.graph().find_named("loss_of_unused").defined());
  Session loaded(file.graph(), file.store());
  const Results got = loaded.run(file.program("predict"), feeds, {.fetch = {"hidden"}});
  const Results expected = session.run(predict, feeds, {.fetch = {"hidden"}});
  BOOST_TEST(bitwise_equal(got["y"], expected["y"]));
  BOOST_TEST(bitwise_equal(got["hidden"], expected["hidden"]));
  // A training needs them all, and goes on.
  const Checkpoint all = load_checkpoint(folder / "all.weft");
  BOOST_TEST(all.tensors().size() > 3u);
  Session resumed(all.graph(), all.store());
  BOOST_TEST(bitwise_equal(resumed.run(all.program("train"), both)["loss"],
                           session.run(train, both)["loss"]));
  // The store's saver asks for no more either.
  const auto small = std::make_shared<VariableStore>();
  small->insert("w", VariableKind::parameter, session.value("w"));
  save_checkpoint(folder / "small.weft", *small, {predict});
  BOOST_CHECK_EXCEPTION(save_checkpoint(folder / "small.weft", *small, {train}), StateError,
                        message_contains({"lacks variables of the graph", "'optimizer.w.m'"}));
}

BOOST_AUTO_TEST_CASE(an_index_out_of_range_names_scope_variable_input_and_the_users_line) {
  const testing::TemporaryFolder folder;
  Graph g;
  const Scope tok = Scope(g, "net") / "tok";
  const Value tokens = g.input("tokens", DType::i32, {"n"});
  Program p("p");
  {
    const Graph::Frame frame(g, "my_layer()", SourceLocation::current(), tok.path());
    p.output("y", embedding(tokens, tok.variable("weight", DType::f32, {10, 4})));
  }
  Session session(g);
  const NamedTensors wrong = {{"tokens", Tensor::full(DType::i32, {3}, 12)}};
  session.run(p, {{"tokens", Tensor::full(DType::i32, {3}, 9)}});
  save_checkpoint(folder / "p.weft", session, {p});
  const Checkpoint file = load_checkpoint(folder / "p.weft");
  Session loaded(file.graph(), file.store());
  for (int i = 0; i < 2; ++i) {
    Session& s = i == 0 ? session : loaded;
    const Program& program = i == 0 ? p : file.program("p");
    BOOST_CHECK_EXCEPTION(s.run(program, wrong), DataError,
                          message_contains({"12", "'net.tok.weight'", "'tokens'",
                                            "in scope net.tok", "inference_file_test.cc:"}));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
