// Uses of those public functions that no example and no other test uses (cmake/docs/index.py).
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/core/tensor.h"
#include "weft/core/world/thread_world.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/graph.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/lora.h"
#include "weft/models/language/ngram.h"
#include "weft/models/layers.h"
#include "weft/models/tasks/span_answering/span_answerer.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/tasks/text_classification/text_classifier.h"
#include "weft/models/text/tokenizers/tokenizer.h"
#include "weft/models/training/trainer.h"
#include "weft/ops/custom_op.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/load_parameters.h"
#include "weft/testing/close.h"
#include "weft/testing/printing.h"

namespace {

using namespace weft;

/// Returns f(x) for x = {-1.5, 0.5, 2}.
std::vector<float> at_three_points(const std::function<Value(Value)>& f) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n"});
  const Program program = Program("p").output("y", f(x));
  const Tensor feed = Tensor::of<float>({3}, {-1.5f, 0.5f, 2.0f});
  return Session(g).run(program, {{"x", feed}})["y"].to(DType::f32).to_vector<float>();
}

BOOST_AUTO_TEST_SUITE(index)

BOOST_AUTO_TEST_CASE(elementwise_functions_compute_the_expected_values) {
  using Floats = std::vector<float>;
  BOOST_TEST((at_three_points([](Value x) { return sub(x, 1); }) == Floats{-2.5f, -0.5f, 1}));
  BOOST_TEST((at_three_points([](Value x) { return div(x, 2); }) == Floats{-0.75f, 0.25f, 1}));
  BOOST_TEST((at_three_points([](Value x) { return neg(x); }) == Floats{1.5f, -0.5f, -2}));
  BOOST_TEST((at_three_points([](Value x) { return ceil(x); }) == Floats{-1, 1, 2}));
  BOOST_TEST((at_three_points([](Value x) { return full_like(x, 3); }) == Floats{3, 3, 3}));
  BOOST_TEST((at_three_points([](Value x) { return reciprocal(x * 2); })[2] == 0.25f));
  BOOST_TEST((at_three_points([](Value x) { return rsqrt(x * 2); })[2] == 0.5f));
  BOOST_TEST((at_three_points([](Value x) { return logical_or(x<-1, x> 1); }) == Floats{1, 0, 1}));
  BOOST_TEST((at_three_points([](Value x) { return l1(x, 0, Reduction::none); }) ==
              Floats{1.5f, 0.5f, 2}));
  BOOST_TEST((at_three_points([](Value x) { return sort(-x).values; }) == Floats{-2, -0.5f, 1.5f}));
  BOOST_TEST(std::abs(at_three_points([](Value x) { return log1p(x); })[1] - std::log(1.5f)) <
             1e-6f);
  BOOST_TEST(std::abs(at_three_points([](Value x) { return expm1(x); })[2] - 6.389056f) < 1e-5f);
  BOOST_TEST(std::abs(at_three_points([](Value x) { return erf(x); })[1] - 0.5204999f) < 1e-6f);
  const Floats form = at_three_points([](Value x) { return gelu_erf(x); });
  const Floats tanh = at_three_points([](Value x) { return gelu_tanh(x); });
  BOOST_TEST(std::abs(form[2] - 1.9545f) < 1e-4f);
  BOOST_TEST(std::abs(tanh[2] - 1.9546f) < 1e-4f);
}

BOOST_AUTO_TEST_CASE(reductions_and_recurrences_compute_the_expected_values) {
  BOOST_TEST(at_three_points([](Value x) { return argmin(x); })[0] == 0);
  BOOST_TEST(at_three_points([](Value x) { return sum_to(x, Shape{1}); })[0] == 1);
  const std::vector<float> running =
      at_three_points([](Value x) { return linear_recurrence(full_like(x, 2), x, 0); });
  BOOST_TEST(running[2] == 2 * (2 * -1.5f + 0.5f) + 2);
}

BOOST_AUTO_TEST_CASE(attention_returns_the_logsumexp_of_its_scores) {
  Graph g;
  const Value q = g.input("q", DType::f32, {1, 1, "length", 4});
  const AttentionResult result = attention_with_lse(q, q, q);
  const Program program = Program("p").output("lse", result.lse);
  const Tensor zeros = Tensor::zeros(DType::f32, {1, 1, 2, 4});
  const Tensor lse = Session(g).run(program, {{"q", zeros}})["lse"];
  BOOST_TEST(std::abs(lse.at(0) - std::log(2.0)) < 1e-6);
}

// Custom functions can accept numbers in the same way as library functions, and errors name the
// line of the caller.
Value halfway(const Arg& from, const Arg& to) {
  const ArgPair pair = resolve_pair(from, to, "halfway");
  return apply_binary("mul", apply_binary("add", pair.a, pair.b), 0.5);
}
Value shifted(const Arg& x, OptionalArg by = std::nullopt) {
  return by.present() ? x.value("shifted") + by.value() : x.value("shifted");
}

BOOST_AUTO_TEST_CASE(custom_functions_accept_numbers) {
  using Floats = std::vector<float>;
  BOOST_TEST(
      (at_three_points([](Value x) { return halfway(x, 1); }) == Floats{-0.25f, 0.75f, 1.5f}));
  BOOST_TEST((at_three_points([](Value x) { return shifted(x); }) == Floats{-1.5f, 0.5f, 2}));
  BOOST_TEST((at_three_points([](Value x) { return shifted(x, x); }) == Floats{-3, 1, 4}));
  BOOST_TEST(
      (at_three_points([](Value x) { return apply_unary("neg", x); }) == Floats{1.5f, -0.5f, -2}));
  Graph g;
  const Arg number = 3;
  BOOST_TEST(number.is_literal());
  BOOST_TEST(number.literal() == 3.0);
  BOOST_TEST(number.location().known());
  BOOST_TEST(number.value_as(g, DType::i64, "halfway").type().str() == "i64[]");
}

BOOST_AUTO_TEST_CASE(automatic_gradient_sums_are_owned_with_a_memory_budget) {
  BOOST_TEST(sums_are_owned(GradientSums::automatic, true, 4));
  BOOST_TEST(!sums_are_owned(GradientSums::automatic, false, 4));
}

BOOST_AUTO_TEST_CASE(ranks_are_described_by_number_and_host) {
  ThreadWorld(2).run([](const std::shared_ptr<Transport>& end) {
    const std::string host = end->host(1);
    if (describe_rank(*end, 1) != "rank 1 (host " + host + ")") throw DataError(host);
  });
}

// Compilers warn about omitted members without an initialiser, and warnings are errors here.
BOOST_AUTO_TEST_CASE(omitted_members_have_defaults) {
  const AttributeSpec attribute{.name = "scale"};
  const KernelRequest request{.inputs = {{.dtype = DType::f32}}};
  const Phase phase{.chunks = 2};
  const Kernel kernel{.phases = {phase}};
  const PackedInput packed{.layout = "panels"};
  const Attachment attachment{.name = "notes"};
  const VariableInfo variable{.name = "w"};
  BOOST_TEST(attribute.default_value.index() == 0u);
  BOOST_TEST((request.inputs[0].sizes.empty() && request.outputs.empty()));
  BOOST_TEST((!kernel.phases[0].body && !packed.pack));
  BOOST_TEST((attachment.bytes.empty() && variable.aliases.empty()));
}

BOOST_AUTO_TEST_CASE(layer_functions_give_the_expected_results) {
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f32, {"batch", "time", 6});
  const Norm norm = make_norm(net / "norm", DType::f32, 6, {.rms = true});
  const std::vector<RecurrentWeights> weights =
      make_recurrent(net / "gru", Recurrence::gru, DType::f32, 6, 5);
  const Value out = apply_recurrent(Recurrence::gru, norm(x), weights).output;
  BOOST_TEST(out.type().str() == "f32[batch, time, 5]");
  BOOST_TEST((weights[0].weight_ih.shape()[0] == Dim(5 * gate_count(Recurrence::gru))));
  const std::vector<double> turns = rotary_frequencies(4, 10000, {});
  BOOST_TEST(turns[0] == 1.0);
  BOOST_TEST(std::abs(turns[1] - 0.01) < 1e-12);
  const Initializer he = Initializer::he_normal(8);
  BOOST_TEST(he.b == 0.5);
}

BOOST_AUTO_TEST_CASE(optimizer_functions_give_the_expected_results) {
  Graph g;
  const Variable w = g.variable("w", DType::f32, {3}, {.initializer = Initializer::ones()});
  const Loss loss = std::vector{w.value()};  // gradients instead of a loss
  BOOST_TEST(loss.gradients()->size() == 1u);
  const TrainingStep step = sgd(loss, g.parameters());
  const Ema ema(g.parameters());
  Program train("train");
  train.update(step).update(ema.updates(step));
  Session session(g);
  session.run(train);
  BOOST_TEST(session.arena_bytes() > 0u);
  BOOST_TEST(session.value(ema.steps().name()).item<std::int64_t>() == 1);
  BOOST_TEST(ema.averages()[0].name() == "ema.w.average");
  const LoraOptions adapters{.rank = 4, .alpha = 8};
  BOOST_TEST(adapters.scale() == 2.0);
}

BOOST_AUTO_TEST_CASE(profiles_record_steps) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", "n"});
  Session session(g, {.profile = true});
  session.run(Program("p").output("y", matmul(x, x)), {{"x", Tensor::zeros(DType::f32, {64, 64})}});
  Profile profile = session.profile();
  const Profile::Entry entry = profile.op_entries().at(0);
  BOOST_TEST(entry.flops_per_second() > 0);
  BOOST_TEST(entry.bytes_per_second() > 0);
  const auto plan = session.plan(Program("q").output("y", x + 1), {{"x", {2, 2}}});
  const double now = Profile::now();
  profile.record(plan, StepId(0), now, now);  // what a Session does for each step
  BOOST_TEST(profile.entries().size() == 2u);
}

BOOST_AUTO_TEST_CASE(memory_functions_give_the_expected_results) {
  const std::vector<std::size_t> bytes = {64, 128};
  const std::vector<std::shared_ptr<Buffer>> buffers = Buffer::allocate_together(bytes);
  BOOST_TEST(buffers[1]->allocated());
  const Tensor view = Tensor::view(DType::f32, {4}, buffers[0]);
  BOOST_TEST(!sole_owner(buffers[0]));
  Tensor start = Tensor::empty(DType::f32, {2});
  Workers workers({.threads = 1});
  VariableInfo w;
  w.name = "w";
  w.type = {DType::f32, Shape{2}};
  w.initializer = Initializer::ones();
  fill_initial_value(w, 1, workers, start);
  BOOST_TEST(start.at(1) == 1.0);
  Graph g;
  BOOST_TEST((g.dim("n") * 2).polynomial() != nullptr);
  BOOST_TEST(hash_value(Attribute(std::int64_t{1})) != hash_value(Attribute(std::int64_t{2})));
}

BOOST_AUTO_TEST_CASE(model_functions_give_the_expected_results) {
  const std::vector<std::int32_t> ids = {0, 1, 0, 1, 2};
  NGramOptions options;
  options.order = 2;
  options.vocab = 3;
  BOOST_TEST(NGramModel(ids, options).order() == 2);
  SpanReading reading;
  reading.check();
  BOOST_TEST((SpanReading::fields().from_json(SpanReading::fields().to_json(reading)) == reading));
  BOOST_TEST(!untrained_tasks().empty());
  BOOST_TEST(first_of({"a", "b"}) == "a, b");
  BOOST_TEST(!Tokenizer().default_options().truncation.has_value());
  ClassifierHead head;
  head.summary = Summary::mean;
  BOOST_TEST((ClassifierHead::fields().from_json(ClassifierHead::fields().to_json(head)) == head));
  BOOST_TEST(TextError(2, "it is empty").reason() == "it is empty");
  StepClock clock;
  clock.begin();
  clock.end();
  BOOST_TEST(clock.seconds_per_step() >= 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
