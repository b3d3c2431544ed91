// Stores: ownership of variable memory, initial values and missing variables.
#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::message_contains;

template <class E, class F>
void check_message(F&& f, std::vector<std::string> parts) {
  BOOST_CHECK_EXCEPTION(f(), E, message_contains(std::move(parts)));
}

// A network y = x w + bias, and a training step with a moment.
struct TrainedNet {
  Graph graph;
  Value x = graph.input("x", DType::f32, {"batch", 20});
  Variable weight =
      graph.variable("net.weight", DType::f32, {20, 30}, {.initializer = Initializer::normal(0.5)});
  Variable bias = graph.variable("net.bias", DType::f32, {30});
  Variable moment =
      graph.variable("net.weight.moment", DType::f32, {20, 30}, {.kind = VariableKind::optimizer});
  Program predict{"predict"}, train{"train"};
  TrainedNet() {
    predict.output("y", linear(x, weight, bias, LinearLayout::in_out));
    train.update(moment, moment.value() * 0.5 + weight.value())
        .update(weight, weight.value() - moment.value());
  }
};

NamedTensors feeds(std::int64_t batch = 40) { return {{"x", sample_uniform({batch, 20}, 7)}}; }

BOOST_AUTO_TEST_SUITE(store)

BOOST_AUTO_TEST_CASE(writing_to_an_inserted_tensor_does_not_change_the_variable) {
  TrainedNet net;
  const auto store = std::make_shared<VariableStore>();
  Tensor weight = sample_uniform({20, 30}, 1), bias = sample_uniform({30}, 2);
  const Tensor first = weight.clone();
  store->insert("net.weight", VariableKind::parameter, weight);
  std::vector<float> memory(30, 1.0f);
  store->insert("net.bias", VariableKind::parameter,
                Tensor::borrow(DType::f32, {30}, memory.data()));
  Session packed(net.graph, store, {.prepack = true});
  const Tensor y = packed.run(net.predict, feeds())["y"];
  weight.fill(3);
  memory[0] = 9;
  BOOST_TEST(bitwise_equal(store->tensor("net.weight"), first));
  BOOST_TEST(store->tensor("net.bias").at(0) == 1);
  BOOST_TEST(bitwise_equal(packed.run(net.predict, feeds())["y"], y));
  store->set("net.bias", bias);
  bias.fill(4);
  BOOST_TEST(store->tensor("net.bias").at(0) != 4);
}

BOOST_AUTO_TEST_CASE(a_tensor_that_is_moved_into_a_store_is_not_copied) {
  VariableStore store;
  Tensor weight = sample_uniform({20, 30}, 1);
  const std::byte* data = weight.raw();
  store.insert("w", VariableKind::parameter, std::move(weight));
  BOOST_TEST(store.tensor("w").raw() == data);
  // A tensor from another store is not copied either, because it cannot be written.
  VariableStore other;
  other.insert("w", VariableKind::parameter, store.tensor("w"));
  BOOST_TEST(other.tensor("w").raw() == data);
}

BOOST_AUTO_TEST_CASE(snapshots_are_read_only) {
  VariableStore store;
  store.insert("w", VariableKind::parameter, sample_uniform({3}, 1));
  Tensor snapshot = store.tensor("w");
  check_message<StateError>([&] { snapshot.fill(1); }, {"read-only", "clone()"});
}

BOOST_AUTO_TEST_CASE(a_parameter_missing_from_a_loaded_store_is_an_error_with_the_closest_name) {
  TrainedNet net;
  const auto store = std::make_shared<VariableStore>();
  store->insert("net.weights", VariableKind::parameter, sample_uniform({20, 30}, 1));
  store->insert("net.bias", VariableKind::parameter, sample_uniform({30}, 1));
  Session session(net.graph, store);
  for (int twice = 0; twice < 2; ++twice) {
    check_message<StateError>([&] { session.run(net.predict, feeds()); },
                              {"lacks a parameter of the graph: 'net.weight' f32[20, 30] (did you "
                               "mean 'net.weights'?)",
                               "SessionOptions::initialise_missing"});
  }
  check_message<StateError>([&] { session.value("net.weight"); }, {"'net.weights'"});
  // With initialise_missing, missing parameters are initialised.
  Session all(net.graph, store, {.seed = 4, .initialise_missing = true});
  all.run(net.predict, feeds());
  Session fresh(net.graph, {.seed = 4});
  BOOST_TEST(bitwise_equal(all.value("net.weight"), fresh.value("net.weight")));
  BOOST_TEST(!bitwise_equal(all.value("net.bias"), fresh.value("net.bias")));
}

BOOST_AUTO_TEST_CASE(individual_variables_can_be_initialised_in_a_loaded_store) {
  TrainedNet net;
  const auto store = std::make_shared<VariableStore>();
  store->insert("net.bias", VariableKind::parameter, sample_uniform({30}, 1));
  store->allow_initialisation({"net.weight"});
  Session session(net.graph, store);
  session.run(net.predict, feeds());
  // Moments and keys that the file does not contain are always initialised.
  session.run(net.train);
  BOOST_TEST(store->contains("net.weight.moment"));
}

BOOST_AUTO_TEST_CASE(a_session_creates_the_variables_of_the_programs_that_it_runs) {
  TrainedNet net;
  Session session(net.graph);
  session.plan(net.predict, {{"x", Sizes{2, 20}}});
  BOOST_TEST(session.store()->names().empty());
  session.run(net.predict, feeds());
  BOOST_TEST(session.store()->names() == (std::vector<std::string>{"net.weight", "net.bias"}),
             boost::test_tools::per_element());
  session.run(net.train);
  BOOST_TEST(session.store()->contains("net.weight.moment"));
  Session second(net.graph);
  BOOST_TEST(second.value("net.bias").numel() == 30);
  BOOST_TEST(second.store()->names() == (std::vector<std::string>{"net.bias"}),
             boost::test_tools::per_element());
  second.initialise();
  BOOST_TEST(second.store()->names().size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_failed_run_does_not_determine_cache_sizes) {
  Graph g;
  const Variable cache = g.variable("kv", DType::f32, {"batch", 4}, {.kind = VariableKind::cache});
  const Value x = g.input("x", DType::f32, {"batch", 4});
  const Value index = g.input("index", DType::i32, {"batch"});
  const Program step =
      Program("step").output("rows", take(x, index, 0)).update(cache, cache.value() + x);
  Session session(g);
  const auto feed = [](std::int64_t batch, double index) -> NamedTensors {
    return {{"x", Tensor::full(DType::f32, {batch, 4}, 1)},
            {"index", Tensor::full(DType::i32, {batch}, index)}};
  };
  BOOST_CHECK_THROW(session.run(step, feed(3, 7)), DataError);
  BOOST_CHECK_THROW(session.run(step, feed(3, 0), {.cancel = [] { return true; }}), CancelledError);
  session.run(step, feed(2, 0));
  BOOST_TEST(session.value("kv").sizes() == (Sizes{2, 4}), boost::test_tools::per_element());
  // A failing run does not change an existing cache.
  BOOST_CHECK_THROW(session.run(step, feed(2, 7)), DataError);
  BOOST_TEST(session.value("kv").at(0) == 1);
}

BOOST_AUTO_TEST_CASE(errors_for_unknown_names_suggest_the_closest_name) {
  TrainedNet net;
  Session session(net.graph);
  const Tensor value = Tensor::zeros(DType::f32, {20, 30});
  check_message<GraphError>([&] { net.graph.find_variable("net.wieght"); },
                            {"no variable 'net.wieght' (did you mean 'net.weight'?)", "net.bias"});
  check_message<GraphError>([&] { session.set_value("weight", value); },
                            {"(did you mean 'net.weight'?)"});
  check_message<GraphError>([&] { session.value("net.wight"); }, {"(did you mean 'net.weight'?)"});
  session.initialise();
  check_message<GraphError>([&] { session.store()->tensor("net.bais"); },
                            {"(did you mean 'net.bias'?)"});
  check_message<ArgumentError>([&] { session.run(net.predict, {{"X", value}}); }, {"'x'"});
  check_message<GraphError>([&] { session.run(net.predict, feeds())["yy"]; },
                            {"(did you mean 'y'?)"});
  check_message<ArgumentError>(
      [&] {
        session.run(net.predict, feeds(), {.dims = {{"batsch", 2}}});
      },
      {"(did you mean 'batch'?)"});
  check_message<GraphError>([&] { session.run(net.predict, feeds(), {.fetch = {"net.weigth"}}); },
                            {"(did you mean 'net.weight'?)"});
}

BOOST_AUTO_TEST_CASE(errors_for_readers_that_draw_random_numbers_name_the_key_and_own_keys) {
  Graph g;
  const Variable w = g.variable("w", DType::f32, {8}, {.initializer = Initializer::ones()});
  const Program train = Program("train").update(w, w.value() * 0.5);
  const Program sample = Program("sample").output("y", dropout(w, 0.5, g.key("dropout")));
  const auto store = std::make_shared<VariableStore>();
  Session trainer(g, store), reader(g, store), other(g, store, {.own_keys = true});
  trainer.run(train);
  check_message<StateError>([&] { reader.run(sample); },
                            {"another Session updates this VariableStore", "program 'sample' draws",
                             "key 'dropout'", "SessionOptions::own_keys"});
  other.run(sample);
  check_message<StateError>([&] { other.run(train); }, {"program 'train' updates 'w'"});
}

BOOST_AUTO_TEST_CASE(errors_for_item_with_the_wrong_type_suggest_a_conversion) {
  const Tensor loss = Tensor::scalar(DType::f32, 2.5);
  check_message<DTypeError>(
      [&] { loss.item<double>(); },
      {"item() of f32[] was called with type f64", ".at(0)", ".to(DType::f64)"});
  check_message<DTypeError>([&] { loss.item<bool>(); }, {".to(DType::boolean)"});
  BOOST_TEST(loss.at(0) == 2.5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
