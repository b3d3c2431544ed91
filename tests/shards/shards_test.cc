// Programs whose batch is divided into shards. Their results match those of the whole batch, and
// the bits depend only on the number of shards.
#include <boost/test/unit_test.hpp>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/graph/control/call.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/distributed/split_shards.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/models/layers/channel_norm.h"
#include "weft/models/layers/linear.h"
#include "weft/serialization/checkpoint.h"
#include "weft/testing/close.h"
#include "weft/testing/random_tensors.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/shards/same_bits.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

constexpr std::int64_t kRows = 16, kWidth = 5, kClasses = 3;

// A classifier in f64. Labels of -100 exclude rows from the loss.
struct Classifier {
  Graph g;
  Value x = g.input("x", DType::f64, {"batch", kWidth});
  Value labels = g.input("labels", DType::i32, {"batch"});
  Value hidden = tanh(linear(Scope(g, "hidden"), x, 7));
  Value logits = linear(Scope(g, "out"), hidden, kClasses);
  Value loss = cross_entropy(logits, labels);
  Value total = cross_entropy(logits, labels, {.reduction = Reduction::sum});
  Value counted = sum(cast(not_equal(labels, -100), DType::i64));

  NamedTensors feeds() const {
    const Tensor all = integer_tensor({kRows}, 3, 0, kClasses, DType::i32);
    std::vector<std::int32_t> given = all.to_vector<std::int32_t>();
    for (const std::size_t left_out : {1u, 2u, 9u, 10u, 11u}) given[left_out] = -100;
    return {{"x", normal_tensor({kRows, kWidth}, 1, DType::f64)},
            {"labels", Tensor::of<std::int32_t>({kRows}, given)}};
  }
  Program train(Value of, int shards = 1) {
    return Program("train")
        .output("loss", of)
        .shards({.count = shards})
        .update(adamw(of, g.parameters(), {.lr = 0.1, .step = {.clip_norm = 0.1}}));
  }
};

// Returns the loss of every step, and all variables after the last step.
NamedTensors after_steps(Graph& g, const Program& program, const NamedTensors& feeds,
                         SessionOptions options = {}, int steps = 3) {
  options.seed = 7;
  Session session(g, options);
  NamedTensors result;
  for (int i = 0; i < steps; ++i) {
    result.emplace_back("loss", session.run(program, feeds)["loss"].clone());
  }
  for (const Variable& v : program.variables()) {
    if (v.info().kind != VariableKind::key) {
      result.emplace_back(v.name(), session.value(v.name()));
    }
  }
  return result;
}

void check_close(const NamedTensors& found, const NamedTensors& expected, double tolerance) {
  BOOST_REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    BOOST_TEST_CONTEXT(found[i].first) {
      BOOST_TEST(expect_close(found[i].second, expected[i].second,
                              {.absolute = tolerance, .relative = tolerance}));
    }
  }
}

BOOST_AUTO_TEST_SUITE(shards)

BOOST_AUTO_TEST_CASE(a_sharded_step_equals_a_step_on_the_whole_batch) {
  Classifier whole;
  const NamedTensors expected = after_steps(whole.g, whole.train(whole.loss), whole.feeds());
  for (const int count : {1, 2, 4, 8, 16}) {
    BOOST_TEST_CONTEXT(count << " shards") {
      Classifier cut;
      const Value loss = shard_mean(cut.total, cut.counted);
      check_close(after_steps(cut.g, cut.train(loss, count), cut.feeds()), expected, 1e-11);
    }
  }
}

BOOST_AUTO_TEST_CASE(shard_losses_equal_the_loss_of_the_batch) {
  struct Losses {
    Graph g;
    Value x = g.input("x", DType::f64, {"batch", 4});
    Value targets = g.input("targets", DType::f64, {"batch", 4});
    Value labels = g.input("labels", DType::i32, {"batch"});
    Variable w = g.variable("w", DType::f64, {4, 4});
    NamedTensors found(Reduction reduction, int shards) {
      const Value y = matmul(x, w.value());
      const std::vector<Value> losses = {
          cross_entropy(y, labels, {.label_smoothing = 0.1, .reduction = reduction}),
          mse(y, targets, reduction), l1(y, targets, reduction),
          bce_with_logits(y, targets, reduction), kl_div(y, targets, reduction)};
      Program program("losses");
      program.shards({.count = shards});
      for (std::size_t i = 0; i < losses.size(); ++i) {
        program.output("loss" + std::to_string(i), losses[i])
            .output("slope" + std::to_string(i), gradient(losses[i], w));
      }
      // There are two losses, each with its own count of labelled rows.
      program.output("both", gradient(losses[0] + losses[1], w));
      const Tensor given = integer_tensor({8}, 3, 0, 4, DType::i32);
      std::vector<std::int32_t> some = given.to_vector<std::int32_t>();
      some[0] = some[1] = some[6] = -100;  // the first of 4 shards has no labelled rows
      Session session(g, {.seed = 2});
      const Results results =
          session.run(program, {{"x", normal_tensor({8, 4}, 5, DType::f64)},
                                {"targets", normal_tensor({8, 4}, 6, DType::f64)},
                                {"labels", Tensor::of<std::int32_t>({8}, some)}});
      return {results.begin(), results.end()};
    }
  };
  Losses whole, cut;
  const NamedTensors expected = whole.found(Reduction::mean, 1);
  check_close(cut.found(Reduction::shard_mean, 4), expected, 1e-13);
}

BOOST_AUTO_TEST_CASE(means_are_scaled_after_all_shards_are_summed) {
  const auto sums_of = [](bool weighed) {
    Classifier c;
    const Value weights = c.g.input("weights", DType::f64, {"batch"});
    const Value each = cross_entropy(c.logits, c.labels, {.reduction = Reduction::none});
    const Value loss =
        weighed ? shard_mean(sum(each * weights), sum(weights))
                : cross_entropy(c.logits, c.labels, {.reduction = Reduction::shard_mean});
    return split_shards(c.train(loss, 4)).stages.size();
  };
  // No shard waits for the divisor of the mean.
  BOOST_TEST(sums_of(false) == 1u);
  BOOST_TEST(sums_of(true) == 1u);
}

BOOST_AUTO_TEST_CASE(bits_depend_only_on_the_number_of_shards) {
  Classifier one;
  const Program program = one.train(shard_mean(one.total, one.counted), 8);
  const NamedTensors expected = after_steps(one.g, program, one.feeds(), {.threads = 1});
  check_same(after_steps(one.g, program, one.feeds(), {.threads = 3, .shuffle_seed = 5}), expected);
  check_same(after_steps(one.g, program, one.feeds(), {.threads = 2, .poison = true}), expected);
  // Every shard is fed separately, as a data loader would.
  Session session(one.g, {.seed = 7, .threads = 2});
  const auto feeds = [&](int shard) {
    NamedTensors result;
    for (const auto& [name, tensor] : one.feeds()) {
      Sizes sizes = tensor.sizes();
      sizes[0] = kRows / 8;
      const std::size_t bytes = tensor.bytes() / 8;
      result.emplace_back(
          name, Tensor::view(tensor.dtype(), sizes, tensor.buffer(),
                             tensor.byte_offset() + bytes * static_cast<std::size_t>(shard)));
    }
    return result;
  };
  for (int i = 0; i < 3; ++i) {
    const Results results = session.run_shards(program, feeds);
    BOOST_TEST(expect_same_bits(results["loss"], expected[static_cast<std::size_t>(i)].second));
  }
}

BOOST_AUTO_TEST_CASE(shards_are_added_along_the_tree) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch"});
  const Program program = Program("p").output("sum", shard_sum(sum(x))).shards({.count = 4});
  Session session(g);
  // 2^24 + 1 rounds to 2^24 in f32, so the result depends on the order of the additions: the tree
  // (a + b) + (c + d) yields 0, and summing from left to right yields 1.
  const float big = 16777216.0f;
  const Tensor values = Tensor::of<float>({4}, {big, 1, -big, 1});
  const float expected = (big + 1.0f) + (-big + 1.0f);
  BOOST_TEST(session.run(program, {{"x", values}})["sum"].item<float>() == expected);
}

BOOST_AUTO_TEST_CASE(shards_may_read_sums_over_all_shards) {
  // The mean over the batch is subtracted inside the loss, so two stages are required.
  const auto build = [](Graph& g, bool cut) {
    const Value x = g.input("x", DType::f64, {"batch", 3});
    const Variable w = g.variable("w", DType::f64, {3});
    const Value y = tanh(x * w);
    const Value center = cut ? shard_mean(mean(y, {0})) : mean(y, {0});
    const Value part = mean(square(square(y - center)));
    const Value loss = (cut ? shard_mean(part) : part) + sum(square(w)) * 0.01;
    Program program("train");
    program.output("loss", loss).update(sgd(loss, {w}, {.lr = 0.5}));
    if (cut) program.shards({.count = 4});
    return program;
  };
  const NamedTensors feeds = {{"x", normal_tensor({8, 3}, 4, DType::f64)}};
  Graph whole, cut;
  const NamedTensors expected = after_steps(whole, build(whole, false), feeds);
  check_close(after_steps(cut, build(cut, true), feeds), expected, 1e-12);
}

BOOST_AUTO_TEST_CASE(a_loss_with_two_counts_needs_one_forward_pass_per_shard) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 4});
  const Value labels = g.input("labels", DType::i32, {"batch"});
  const Value more = g.input("more", DType::i32, {"batch"});
  const Value h = tanh(linear(Scope(g, "in"), x, 8));
  const auto part = [&](const char* name, Value of) {
    return cross_entropy(linear(Scope(g, name), h, 3), of, {.reduction = Reduction::shard_mean});
  };
  const Value loss = part("a", labels) + part("b", more);
  const Program train = Program("train")
                            .output("loss", loss)
                            .shards({.count = 2})
                            .update(sgd(loss, g.parameters(), {.lr = 0.1}));
  const ShardedProgram parts = split_shards(train);
  BOOST_REQUIRE(parts.stages.size() == 2u);
  BOOST_TEST(parts.stages[0].sums.size() == 2u);  // the counts
  for (const Node* n : parts.stages[0].module.program.nodes()) {
    BOOST_TEST(n->op().name != "matmul");
  }
}

// A matrix larger than a block of 65,536 elements. Its gradient is included in the global norm.
struct LargeLayer {
  Graph g;
  Value x = g.input("x", DType::f64, {"batch", 512});
  Value labels = g.input("labels", DType::i32, {"batch"});
  Value logits = linear(Scope(g, "net"), x, 300);

  Program train(int shards) {
    const Reduction over = shards > 1 ? Reduction::shard_mean : Reduction::mean;
    const Value loss = cross_entropy(logits, labels, {.reduction = over});
    return Program("train")
        .output("loss", loss)
        .shards({.count = shards})
        .update(sgd(loss, g.parameters(), {.lr = 0.1, .step = {.clip_norm = 0.1}}));
  }
};

BOOST_AUTO_TEST_CASE(clipped_sharded_steps_of_large_matrices_equal_steps_on_the_whole_batch) {
  const NamedTensors feeds = {{"x", normal_tensor({8, 512}, 1, DType::f64)},
                              {"labels", integer_tensor({8}, 2, 0, 300, DType::i32)}};
  LargeLayer whole, cut;
  check_close(after_steps(cut.g, cut.train(4), feeds), after_steps(whole.g, whole.train(1), feeds),
              1e-11);
}

// The gradient sums are not copied: the norm and the updates multiply by the divisor when they read
// the sums.
BOOST_AUTO_TEST_CASE(a_step_needs_no_memory_for_mean_gradients) {
  LargeLayer net;
  const ShardedProgram parts = split_shards(net.train(2));
  const Program& step = parts.step.program;
  NamedSizes sizes;
  for (const Value& input : step.inputs()) {
    Sizes& of_input = sizes.emplace_back(input.node().attributes().text("name"), Sizes{}).second;
    for (int axis = 0; axis < input.rank(); ++axis)
      of_input.push_back(input.shape()[axis].constant());
  }
  Session session(*parts.step.graph, {.threads = 1});
  BOOST_TEST(session.plan(step, sizes)->memory().live_peak < 300u * 512 * 8);
}

BOOST_AUTO_TEST_CASE(random_numbers_differ_by_shard_and_are_the_same_in_every_session) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 64});
  const Value dropped = dropout(x, 0.5, g.key("drop"));
  const Value of_shard = sum(dropped, {0});  // [64]
  const Program program = Program("p")
                              .output("sum", shard_sum(of_shard))
                              .output("squares", shard_sum(square(of_shard)))
                              .shards({.count = 2});
  const NamedTensors feeds = {{"x", Tensor::full(DType::f32, {2, 64}, 1)}};
  Session session(g, {.seed = 3}), other(g, {.seed = 3, .threads = 1});
  const Tensor first = session.run(program, feeds)["sum"].clone();
  // The sum of an element is 2 if one shard drops the element and the other keeps it. With equal
  // random numbers it would be 0 or 4.
  std::int64_t ones = 0;
  for (std::int64_t i = 0; i < 64; ++i) ones += first.at(i) == 2 ? 1 : 0;
  BOOST_TEST(ones > 16);
  BOOST_TEST(ones < 48);
  BOOST_TEST(expect_same_bits(other.run(program, feeds)["sum"], first));
  // The random key advances once per step.
  BOOST_TEST(!expect_same_bits(session.run(program, feeds)["sum"], first));
  BOOST_TEST(session.value("drop").at(1) == 2);
}

BOOST_AUTO_TEST_CASE(running_statistics_are_updated_once_per_shard_in_order) {
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f32, {"batch", 3});
  const Value y = batch_norm(net.training() / "norm", x, {.momentum = 0.25});
  const Value loss = shard_mean(mean(square(tanh(y))));
  const Program cut = Program("cut")
                          .output("loss", loss)
                          .shards({.count = 4})
                          .update(sgd(loss, g.parameters(), {.lr = 0.1}));
  const Program each = Program("each").output("y", sum(y));
  const Tensor batch = normal_tensor({16, 3}, 9);
  Session together(g, {.seed = 1}), apart(g, {.seed = 1});
  together.run(cut, {{"x", batch}});
  for (std::size_t shard = 0; shard < 4; ++shard) {
    const Tensor rows = Tensor::view(DType::f32, {4, 3}, batch.buffer(), shard * 48);
    apart.run(each, {{"x", rows}});
  }
  for (const char* name : {"net.norm.running_mean", "net.norm.running_var"}) {
    BOOST_TEST(expect_same_bits(together.value(name), apart.value(name)));
  }
}

BOOST_AUTO_TEST_CASE(gradients_with_respect_to_per_shard_values_are_computed_per_shard) {
  Graph g;
  const Value x = g.input("x", DType::f64, {"batch", 2});
  const Variable w = g.variable("w", DType::f64, {2});
  const Value loss = shard_mean(mean(square(x * w)));
  const std::vector<Value> found = gradients(loss, {x, w.value()});
  // The gradient with respect to x is 2 x w^2, divided by (rows per shard * 2) and by the number of
  // shards. The gradient with respect to w is the sum over all rows.
  const Program program = Program("p")
                              .output("squares", shard_sum(sum(square(found[0]))))
                              .output("dw", found[1])
                              .shards({.count = 4});
  const Tensor batch = normal_tensor({8, 2}, 2, DType::f64);
  Session session(g, {.seed = 5});
  const Results results = session.run(program, {{"x", batch}});
  const Tensor at = session.value("w");
  double squares = 0, by_first = 0;
  for (std::int64_t i = 0; i < 16; ++i) {
    const double slope = 2 * batch.at(i) * at.at(i % 2) * at.at(i % 2) / 16;
    squares += slope * slope;
    if (i % 2 == 0) by_first += 2 * batch.at(i) * batch.at(i) * at.at(0) / 16;
  }
  BOOST_TEST(results["squares"].item<double>() == squares, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(results["dw"].at(0) == by_first, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(without_shards_shard_sums_equal_their_operands) {
  Classifier plain, declared;
  const NamedTensors expected = after_steps(plain.g, plain.train(plain.loss), plain.feeds());
  const Program program = declared.train(shard_mean(declared.loss));
  check_close(after_steps(declared.g, program, declared.feeds()), expected, 1e-13);
  Session session(declared.g);
  const auto feeds = [&](int shard) {
    BOOST_TEST(shard == 0);
    return declared.feeds();
  };
  session.run_shards(program, feeds);
}

BOOST_AUTO_TEST_CASE(fed_scalars_are_available_in_shards_and_in_the_step) {
  Graph g;
  const Value x = g.input("x", DType::f64, {"batch"});
  const Value rate = g.input("rate", DType::f64, {}), scale = g.input("scale", DType::f64, {});
  g.input("labels", DType::i32, {"batch"});  // not needed by this program
  const Variable w = g.variable("w", DType::f64, {}, {.initializer = Initializer::ones()});
  const Value y = shard_sum(sum(x * scale));
  const Program program =
      Program("p").output("y", y).update(w, w.value() - rate * y * scale).shards({.count = 2});
  const auto feeds = [](double rate_now) {
    return NamedTensors{{"x", Tensor::of<double>({4}, {1, 2, 3, 4})},
                        {"rate", Tensor::scalar(DType::f64, rate_now)},
                        {"scale", Tensor::scalar(DType::f64, 2)},
                        {"labels", Tensor::zeros(DType::i32, {4})}};
  };
  Session session(g);
  BOOST_TEST(session.run(program, feeds(0.5))["y"].item<double>() == 20);
  BOOST_TEST(session.value("w").at(0) == -19);
  check_error<ArgumentError>(
      [&] { session.run_shards(program, [&](int shard) { return feeds(shard); }); },
      {"shard 1 of 2: input 'rate' is f64[] {1}, but was f64[] {0} in earlier shards; the step "
       "reads it once"});
  BOOST_TEST(session.value("w").at(0) == -19);
  // This input is not used by any shard.
  const Program once = Program("once").output("y", rate * 2.0).shards({.count = 2});
  BOOST_TEST(session.run(once, {{"rate", Tensor::scalar(DType::f64, 3)}})["y"].at(0) == 6);
  BOOST_TEST(session.plan(once, {{"rate", {}}})->steps.size() > 0u);
  check_error<ArgumentError>([&] { session.run(once); }, {"program 'once' needs input 'rate'"});
  check_error<ArgumentError>(
      [&] {
        session.run(once, {{"rate", Tensor::scalar(DType::f64, 3)},
                           {"reate", Tensor::scalar(DType::f64, 3)}});
      },
      {"program 'once' has no input 'reate'"});
}

BOOST_AUTO_TEST_CASE(every_shard_draws_random_numbers_for_buffer_updates) {
  Graph g;
  const Value x = g.input("x", DType::f64, {"batch"});
  const Variable state =
      g.variable("state", DType::f64, {}, {.kind = VariableKind::buffer, .trainable = false});
  const Value noise = cast(uniform(g.key("noise"), Shape{}), DType::f64);
  const Value y = with_update(sum(x), state, state.value() * 4.0 + mean(x) * 0.0 + noise);
  const Program program = Program("p").output("y", shard_sum(y)).shards({.count = 2});
  Session session(g, {.seed = 3});
  const NamedTensors feeds = {{"x", Tensor::zeros(DType::f64, {2})}};
  session.run(program, feeds);
  BOOST_TEST(session.value("noise").at(1) == 1);  // the key advances once per step
  const double first = session.value("state").at(0);
  session.run(program, feeds);
  BOOST_TEST(session.value("noise").at(1) == 2);
  const double both = session.value("state").at(0) - 16 * first;
  BOOST_TEST(both != first);
  Session fresh(g, {.seed = 3});
  fresh.run(program, feeds);
  BOOST_TEST(fresh.value("state").at(0) == first);
}

BOOST_AUTO_TEST_CASE(plan_returns_the_plan_of_a_shard) {
  Classifier c;
  const Program program = c.train(shard_mean(c.total, c.counted), 4);
  Session session(c.g);
  const auto bytes = [&](std::int64_t rows) {
    return session.plan(program, {{"x", {rows, kWidth}}, {"labels", {rows}}})->memory().arena;
  };
  BOOST_TEST(bytes(400) > 50 * bytes(4));
  // The program has two stages, and the second stage reads the sums of the first.
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 3});
  const Value center = shard_mean(mean(x, {0}));
  const Program two =
      Program("two").output("spread", shard_mean(mean(square(x - center)))).shards({.count = 2});
  Session other(g);
  BOOST_TEST(other.plan(two, {{"x", {5, 3}}})->memory().arena > 0u);
  check_error<ArgumentError>([&] { other.plan(two, {{"y", {5, 3}}}); }, {"'y'"});
  check_error<ArgumentError>(
      [&] {
        other.plan(two, {{"x", {5, 3}}}, {.fetch = {"x"}});
      },
      {"has 2 shards, so a fetched value would exist once per shard"});
}

BOOST_AUTO_TEST_CASE(text_and_files_include_the_shard_settings) {
  Classifier c;
  const Program program = c.train(shard_mean(c.total, c.counted), 4);
  const std::string text = to_text(program);
  BOOST_TEST(text.find("\n  shards 4 along batch\n") != std::string::npos, text);
  const Module parsed = parse_text(text);
  BOOST_TEST(parsed.program.shards().count == 4);
  BOOST_TEST(to_text(parsed.program) == text);

  const TemporaryFolder folder;
  Session session(c.g, {.seed = 7});
  session.run(program, c.feeds());
  save_checkpoint(folder / "c.weft", session, {program});
  const Checkpoint loaded = load_checkpoint(folder / "c.weft");
  BOOST_TEST(loaded.program("train").shards().axis == "batch");
  Session resumed(loaded.graph(), loaded.store());
  for (int i = 0; i < 2; ++i) {
    const Tensor expected = session.run(program, c.feeds())["loss"].clone();
    BOOST_TEST(expect_same_bits(resumed.run(loaded.program("train"), c.feeds())["loss"], expected));
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(wrong_shards)

BOOST_AUTO_TEST_CASE(errors_name_values_that_differ_between_shards) {
  Classifier c;
  Session session(c.g);
  const auto run = [&](const Program& program) { session.run(program, c.feeds()); };
  check_error<GraphError>(
      [&] { run(Program("p").output("loss", c.loss).shards({.count = 4})); },
      {"program 'p' has 4 shards: output 'loss' differs by shard; combine the values of all "
       "shards with shard_mean(sum, count), with shard_mean(x) if all shards have equal weights",
       "shards_test.cc"});
  const Value declared = shard_mean(c.loss);
  check_error<GraphError>(
      [&] {
        run(Program("p")
                .output("loss", declared)
                .update(adamw(c.loss, c.g.parameters()))
                .shards({.count = 4}));
      },
      {"the new value of 'optimizer.hidden.weight.m' differs by shard"});
  check_error<GraphError>(
      [&] { run(Program("p").output("y", shard_sum(c.logits)).shards({.count = 4})); },
      {"shard_sum of f64[batch, 3], whose sizes may differ by shard: sum over the batch first",
       "shards_test.cc"});
  check_error<ArgumentError>(
      [&] { session.run(c.train(declared, 4), c.feeds(), {.fetch = {"loss"}}); },
      {"program 'train' has 4 shards, so a fetched value would exist once per shard"});
}

BOOST_AUTO_TEST_CASE(shard_sums_inside_functions_are_rejected) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch"});
  define_function(g, "inner", {{"a", DType::f32, {}}}, [](Graph&, const std::vector<Value>& in) {
    return std::vector<Value>{shard_sum(in[0])};
  });
  const Program program =
      Program("p").output("y", shard_sum(call(g, "inner", {sum(x)})[0])).shards({.count = 2});
  Session session(g);
  check_error<GraphError>(
      [&] {
        session.run(program, {{"x", Tensor::zeros(DType::f32, {2})}});
      },
      {"a shard_sum is inside function 'inner'; move it outside of functions and loops",
       "shards_test.cc"});
}

BOOST_AUTO_TEST_CASE(shard_sums_inside_nested_loops_are_rejected) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch"});
  const auto once = [](Graph& at, const Value& carry, const ScanBody& body, std::string name) {
    return scan(at, {carry}, {}, {}, body, {.length = AxisSize(1), .name = name}).carries[0];
  };
  const ScanBody inner = [](Graph&, const ScanElements& in) {
    return ScanStep{{shard_sum(in.carries[0])}};
  };
  const ScanBody outer = [&](Graph& body, const ScanElements& in) {
    return ScanStep{{once(body, in.carries[0], inner, "inner")}};
  };
  const Program program =
      Program("p").output("y", shard_sum(once(g, sum(x), outer, "outer"))).shards({.count = 2});
  Session session(g);
  check_error<GraphError>(
      [&] {
        session.run(program, {{"x", Tensor::zeros(DType::f32, {2})}});
      },
      {"a shard_sum is inside function 'inner'; move it outside of functions and loops",
       "shards_test.cc"});
}

BOOST_AUTO_TEST_CASE(callbacks_for_feeds_cannot_use_the_session) {
  Graph g;
  const Variable w = g.variable("w", DType::f64, {}, {.initializer = Initializer::ones()});
  Session session(g);
  for (const int count : {1, 2}) {
    const Program program = Program("p").output("y", w.value() * 2.0).shards({.count = count});
    check_error<StateError>(
        [&] {
          session.run_shards(program, [&](int) { return NamedTensors{{"w", session.value("w")}}; });
        },
        {"this Session is in use by another thread, or by the run that invoked this callback"});
  }
}

BOOST_AUTO_TEST_CASE(errors_name_empty_programs_and_unknown_axes) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch"});
  Session session(g);
  const Program nothing = Program("nothing").shards({.count = 4});
  const auto of_shard = [](int) { return NamedTensors(); };
  const std::vector<std::string> line = {"program 'nothing' has neither outputs nor updates"};
  check_error<GraphError>([&] { session.run(nothing); }, line);
  check_error<GraphError>([&] { session.run_shards(nothing, of_shard); }, line);
  check_error<GraphError>([&] { session.plan(nothing); }, line);
  const Program program = Program("p").output("y", shard_sum(sum(x)));
  const NamedTensors feeds = {{"x", Tensor::full(DType::f32, {4}, 1)}};
  check_error<ArgumentError>(
      [&] { session.run(Program(program).shards({.count = 2, .axis = "bach"}), feeds); },
      {"program 'p' splits its batch along 'bach', but no fed input has this symbol as its first "
       "axis "
       "(did you mean 'batch'?): 'x' f32[batch]; set Shards::axis to the right symbol"});
  // If shards are fed separately, Shards::axis is not used.
  const Results results = session.run_shards(Program(program).shards({.count = 2, .axis = "bach"}),
                                             [&](int) { return feeds; });
  BOOST_TEST(results["y"].at(0) == 8);
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_counts_and_rows) {
  check_error<ArgumentError>([] { Program("p").shards({.count = 3}); },
                             {"shards must be a power of two in [1, 1048576], not 3"});
  Classifier c;
  const Program program = c.train(shard_mean(c.loss), 4);
  Session session(c.g);
  check_error<ShapeError>(
      [&] {
        session.run(program, {{"x", Tensor::zeros(DType::f64, {6, kWidth})},
                              {"labels", Tensor::zeros(DType::i32, {6})}});
      },
      {"shard 0 of 4: 'x' has 6 rows along 'batch', which cannot be divided into 4 equal shards; "
       "feed a multiple of 4 rows, or feed each shard separately (Session::run_shards)"});
  check_error<ArgumentError>(
      [&] {
        session.run(program, {{"x", c.feeds()[0].second}});
      },
      {"shard 0 of 4: ", "labels"});
  NamedTensors more = c.feeds();
  more.emplace_back("z", Tensor::zeros(DType::f32, {4}));
  check_error<ArgumentError>([&] { session.run(program, more); }, {"shard 0 of 4: ", "'z'"});
}

BOOST_AUTO_TEST_CASE(an_error_in_a_shard_leaves_the_state_unchanged) {
  Classifier c;
  const Program program = c.train(shard_mean(c.loss), 4);
  Session session(c.g, {.seed = 7});
  session.initialise();
  const Tensor before = session.value("out.weight");
  NamedTensors feeds = c.feeds();
  feeds[1].second = feeds[1].second.clone();
  feeds[1].second.mutable_data<std::int32_t>()[9] = 77;
  check_error<DataError>([&] { session.run(program, feeds); }, {"shard 2 of 4: ", "77"});
  BOOST_TEST(expect_same_bits(session.value("out.weight"), before));
  session.run(program, c.feeds());
  BOOST_TEST(session.value("optimizer.step").at(0) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
