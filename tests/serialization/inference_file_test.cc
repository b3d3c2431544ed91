// Files with inference programs, and errors that loaded graphs report for invalid data.
#include <boost/test/unit_test.hpp>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/extract.h"
#include "weft/serialization/checkpoint.h"
#include "weft/tests/serialization/file_bytes.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::message_contains;
using testing::says;

BOOST_AUTO_TEST_SUITE(inference_file)

BOOST_AUTO_TEST_CASE(a_file_contains_only_the_variables_that_its_programs_need) {
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
  // A file with the training program contains all variables, so that training can continue.
  const Checkpoint all = load_checkpoint(folder / "all.weft");
  BOOST_TEST(all.tensors().size() > 3u);
  Session resumed(all.graph(), all.store());
  BOOST_TEST(bitwise_equal(resumed.run(all.program("train"), both)["loss"],
                           session.run(train, both)["loss"]));
  // Saving from a store also requires only the variables that the saved programs need.
  const auto small = std::make_shared<VariableStore>();
  small->insert("w", VariableKind::parameter, session.value("w"));
  save_checkpoint(folder / "small.weft", *small, {predict});
  BOOST_CHECK_EXCEPTION(save_checkpoint(folder / "small.weft", *small, {train}), StateError,
                        message_contains({"lacks variables of the graph", "'optimizer.w.m'"}));
}

/// A network with dropout, a training program and a prediction program.
struct DropoutNet {
  Graph graph;
  Program train{"train"}, predict{"predict"};
  NamedTensors x = {{"x", Tensor::full(DType::f32, {2, 8}, 1)}};
  NamedTensors both = {x[0], {"z", Tensor::full(DType::f32, {2, 4}, 1)}};

  DropoutNet() {
    Graph& g = graph;
    const Value input = g.input("x", DType::f32, {"batch", 8});
    const Value z = g.input("z", DType::f32, {"batch", 4});
    const Initializer normal = Initializer::normal(0.5);
    const Variable unused = g.variable("unused", DType::f32, {8});
    const Variable w = g.variable("w", DType::f32, {8, 4}, {.initializer = normal});
    g.alias("tied", w);
    const Value y = matmul(input, w);
    const Value loss = mean(square(dropout(y, 0.5, g.key("dropout")) - z));
    g.set_name("hidden", tanh(y));
    g.set_name("error", y - z);
    g.set_name("unused_too", y + sum(unused.value()));
    predict.output("y", y);
    train.output("loss", loss).update(adamw(loss, {w}, {.lr = 0.1}));
  }
};

BOOST_AUTO_TEST_CASE(extracted_graphs_contain_only_the_needed_nodes_and_variables) {
  DropoutNet net;
  Session session(net.graph, {.seed = 3});
  session.run(net.train, net.both);
  const auto [graph, programs] = extract({net.predict});
  BOOST_TEST(graph->variables().size() == 1u);
  BOOST_TEST(graph->find_variable("tied").name() == "w");
  BOOST_TEST(graph->inputs().size() == 1u);
  BOOST_TEST(graph->node_count() == 4u);  // x, w, their product, and the value named hidden
  BOOST_TEST(graph->find_named("hidden").defined());
  BOOST_TEST(!graph->find_named("error").defined());
  BOOST_TEST(!graph->find_named("unused_too").defined());
  Session small(*graph, session.store());
  BOOST_TEST(
      bitwise_equal(small.run(programs[0], net.x)["y"], session.run(net.predict, net.x)["y"]));
  // An extracted training program draws the same random numbers and performs the same steps.
  const auto [other, trainings] = extract({net.train});
  Session first(net.graph, {.seed = 5}), second(*other, {.seed = 5});
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(bitwise_equal(first.run(net.train, net.both)["loss"],
                             second.run(trainings[0], net.both)["loss"]));
  }
  // Files also contain the unused inputs of the graph.
  BOOST_TEST(needed_values(net.graph, {net.predict}, true).size() >
             needed_values(net.graph, {net.predict}, false).size());
  BOOST_CHECK_EXCEPTION(extract({}), GraphError, says("extract: there is no program to extract"));
  DropoutNet another;
  BOOST_CHECK_THROW(extract({net.predict, another.predict}), GraphError);
}

BOOST_AUTO_TEST_CASE(an_inference_file_can_be_extracted_from_a_training_file) {
  const testing::TemporaryFolder folder;
  DropoutNet net;
  Session session(net.graph, {.seed = 3});
  session.run(net.train, net.both);
  const std::string whole = folder / "whole.weft", small = folder / "small.weft";
  save_checkpoint(whole, session, {net.train, net.predict},
                  {.attachments = {{"model.classes", "text", "a b"},
                                   {"model.config", "text", "{}"},
                                   {"train.history", "text", "1 2 3"}}});
  extract_checkpoint(whole, small, {"predict"}, {"model.*"});
  const Checkpoint file = load_checkpoint(small, {.verify = true});
  BOOST_TEST(file.programs().size() == 1u);
  BOOST_TEST(file.tensors().size() == 1u);
  BOOST_TEST(file.graph().inputs().size() == 1u);
  BOOST_TEST(file.attachments().size() == 2u);
  BOOST_TEST(file.attachment("model.classes").bytes == "a b");
  Session loaded(file.graph(), file.store());
  BOOST_TEST(bitwise_equal(loaded.run(file.program("predict"), net.x)["y"],
                           session.run(net.predict, net.x)["y"]));
  // Loading selected programs has the same effect: optimizer moments are neither read nor stored.
  const Checkpoint part =
      load_checkpoint(whole, {.mode = LoadOptions::Mode::copy, .programs = {"predict"}});
  BOOST_TEST(part.tensors().size() == 1u);
  BOOST_TEST(part.store()->names().size() == 1u);
  BOOST_TEST(part.attachments().size() == 3u);
  BOOST_TEST(!part.has_program("train"));
  // The output may be the same file as the input.
  extract_checkpoint(whole, whole, {"predict"});
  BOOST_TEST(testing::read_file(whole).size() < testing::read_file(small).size());
  BOOST_CHECK_EXCEPTION(extract_checkpoint(small, whole, {"train"}), ArgumentError,
                        says("has no program 'train'; its programs are: 'predict'"));
  BOOST_CHECK_EXCEPTION(extract_checkpoint(small, whole, {}), ArgumentError,
                        says("small.weft: the list of programs is empty"));
  BOOST_CHECK_EXCEPTION(
      extract_checkpoint(small, whole, {"predict"}, {"train.*"}), ArgumentError,
      says(
          "no attachment matches 'train.*'; the attachments are: 'model.classes', 'model.config'"));
}

BOOST_AUTO_TEST_CASE(a_session_initialises_only_the_variables_of_the_programs_it_runs) {
  DropoutNet net;
  Session session(net.graph, {.seed = 3});
  session.run(net.predict, net.x);
  BOOST_TEST(session.store()->names().size() == 1u);
  // A store that was filled with other weights does not contain this variable, which is an error
  // without initialise_missing.
  const auto store = std::make_shared<VariableStore>();
  store->insert("v", VariableKind::parameter, Tensor::full(DType::f32, {8, 4}, 1));
  Session strict(net.graph, store);
  BOOST_CHECK_EXCEPTION(strict.run(net.predict, net.x), StateError,
                        message_contains({"lacks a parameter of the graph: 'w' f32[8, 4]",
                                          "SessionOptions::initialise_missing"}));
  Session lenient(net.graph, store, {.initialise_missing = true});
  lenient.run(net.predict, net.x);
  BOOST_TEST(store->contains("w"));
}

BOOST_AUTO_TEST_CASE(index_errors_name_the_scope_variable_input_and_source_line) {
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
