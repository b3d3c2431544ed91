// Custom operations: an elementwise operation with an attribute, a reduction with an attribute, and
// an operation with two phases and scratch memory between them. They are defined as in
// docs/custom-operations.md and behave like built-in operations in every respect.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/autodiff/rule.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/ops/custom_op.h"
#include "weft/serialization/checkpoint.h"
#include "weft/testing/graph_checks.h"
#include "weft/testing/random_tensors.h"
#include "weft/testing/record_checks.h"
#include "weft/testing/run_checks.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/sanitizers.h"

namespace weft::testing {
namespace {

// x * sigmoid(beta x), with a gradient that is composed of functions on Values.
OpRecord swish_record() {
  OpRecord r = elementwise_op("swish", {{"beta", 1.0}}, [](const Attributes& a) {
    return [beta = a.real("beta")](auto x) { return x / (1 + std::exp(-beta * x)); };
  });
  r.doc = "x * sigmoid(beta * x) (Ramachandran et al. 2017).";
  r.rule = [](const GradientContext& c) {
    const double beta = c.attributes().real("beta");
    const Value x = c.input(0), s = sigmoid(x * beta);
    return std::vector<Value>{c.cotangent() * (s + beta * x * s * (1 - s))};
  };
  return r;
}
Value swish(Value x, double beta, SourceLocation loc = SourceLocation::current()) {
  return apply_op("swish", {x}, {{"beta", beta}}, loc);
}

// (mean of x^p over the last axis)^(1/p).
OpRecord power_mean_record() {
  OpRecord r;
  r.name = "power_mean";
  r.doc = "(mean of x^p over the last axis)^(1/p) of positive x.";
  r.inputs = {{"x"}};
  r.attributes = {{"p", 2.0}};
  r.infer = [](const InferContext& c) {
    c.require_floating(0, "x");
    c.require_min_rank(0, 1, "x");
    if (c.attributes().real("p") == 0) throw ArgumentError("p must not be 0");
    return std::vector<ValueType>{{c.dtype(0), without_axis(c.shape(0), -1)}};
  };
  r.kernel = floating_kernel([](auto zero, const KernelRequest& q) {
    using T = decltype(zero);
    const std::int64_t n = q.inputs[0].sizes.back();
    return loop_kernel(q.outputs[0].numel(), 10.0 * double(n),
                       [n, p = q.attributes.real("p")](auto& run, auto begin, auto end) {
                         for (auto row = begin; row < end; ++row) {
                           double sum = 0;
                           const T* x = run.template in<T>(0) + row * n;
                           for (std::int64_t i = 0; i < n; ++i) sum += std::pow(double(x[i]), p);
                           run.template out<T>(0)[row] = T(std::pow(sum / double(n), 1 / p));
                         }
                       });
  });
  r.rule = [](const GradientContext& c) {  // (x / y)^(p-1) / n
    const Value x = c.input(0);
    const auto column = [](Value v) { return unsqueeze(v, -1); };
    const Value ratio = pow(x / column(c.output()), c.attributes().real("p") - 1);
    const Value n = cast(dim_value(c.graph(), x.size(-1)), x.dtype());
    return std::vector<Value>{column(c.cotangent()) * ratio / n};
  };
  r.samples = [] {
    return std::vector<OpSample>{{{uniform_tensor({3, 5}, 1, 0.5, 2)}, {}},
                                 {{uniform_tensor({2, 1, 7}, 2, 0.5, 2)}, {{"p", 3.0}}}};
  };
  r.error_samples = [] {
    return std::vector<OpErrorSample>{{{{DType::f32, {2}}}, {{"p", 0.0}}, "p must not be 0"}};
  };
  return r;
}

// x / max |x|. Each chunk finds its largest magnitude; then all chunks divide by the maximum over
// all chunks.
OpRecord scale_to_unit_record() {
  OpRecord r;
  r.name = "scale_to_unit";
  r.doc = "x divided by its largest magnitude.";
  r.inputs = {{"x"}};
  r.inplace = {{0, 0}};
  r.infer = [](const InferContext& c) {
    c.require_floating(0, "x");
    return std::vector<ValueType>{c.input(0)};
  };
  r.kernel = floating_kernel([](auto zero, const KernelRequest& q) {
    using T = decltype(zero);
    const std::int64_t n = q.outputs[0].numel(), chunks = chunk_count(n, 4096);
    Kernel k;
    k.shared_scratch = std::size_t(chunks) * sizeof(T);
    k.phases.push_back({.chunks = chunks,
                        .body =
                            [=](const KernelRun& run, std::int64_t chunk) {
                              const auto [begin, end] = chunk_range(n, chunks, chunk);
                              T largest = 0;
                              for (auto i = begin; i < end; ++i)
                                largest = std::max(largest, std::abs(run.in<T>(0)[i]));
                              reinterpret_cast<T*>(run.shared_scratch)[chunk] = largest;
                            },
                        .cost_ns = double(n)});
    k.phases.push_back(loop_phase(n, 1, [=](auto& run, auto begin, auto end) {
      const T* largest = reinterpret_cast<const T*>(run.shared_scratch);
      const T scale = *std::max_element(largest, largest + chunks);
      for (auto i = begin; i < end; ++i)
        run.template out<T>(0)[i] = run.template in<T>(0)[i] / scale;
    }));
    return k;
  });
  r.definition = [](const Node&, const std::vector<Value>& in, Graph&) {
    return std::vector<Value>{in[0] / max(abs(in[0]))};
  };
  r.samples = [] { return std::vector<OpSample>{{{normal_tensor({4, 9}, 1)}, {}}}; };
  return r;
}

std::shared_ptr<const OpSet> my_ops() {
  return with_ops({swish_record(), power_mean_record(), scale_to_unit_record()});
}

struct CustomOpNetwork {
  Graph g{my_ops()};
  Value x = g.input("x", DType::f32, {"batch", 6});
  Variable w = g.variable("w", DType::f32, {6, 8}, {.initializer = Initializer::normal(0.5)});
  Variable b = g.variable("b", DType::f32, {8});
  Value hidden = swish(matmul(x, w) + b, 1.5);
  Value y = apply_op("power_mean", {square(apply_op("scale_to_unit", {hidden})) + 0.5});
  Value loss = mean(y);
  Program train = Program("train").output("loss", loss).update(adamw(loss, g.parameters()).updates);
  Program predict = Program("predict").output("y", y);
  RunSetup setup{.feeds = {{"x", normal_tensor({5, 6}, 1)}}};
};

BOOST_AUTO_TEST_SUITE(own_operations)

BOOST_AUTO_TEST_CASE(custom_operations_pass_check_record) {
  for (const char* name : {"power_mean", "scale_to_unit"}) {
    BOOST_TEST(check_record(my_ops(), name));
  }
}

BOOST_AUTO_TEST_CASE(an_op_set_with_one_custom_operation_passes) {
  const auto ops = with_ops({swish_record()});
  Graph g(ops);
  BOOST_TEST(testing::check_record(ops, "swish"));
  BOOST_TEST((g.ops().find("swish") != nullptr));
}

BOOST_FIXTURE_TEST_CASE(a_training_program_with_custom_operations_passes_all_checks,
                        CustomOpNetwork) {
  BOOST_TEST(check_gradients(loss, {x, w, b}, {.feeds = setup.feeds, .second_order = true}));
  BOOST_TEST(check_determinism(g, train, setup));
  BOOST_TEST(check_round_trip(g, train, setup));
  BOOST_TEST(check_resume(g, train, setup));
  BOOST_TEST(check_serving(g, predict, setup));
}

// A loaded graph has the gradient rules of its op set, so a training program can be built from a
// loaded graph.
BOOST_FIXTURE_TEST_CASE(a_loaded_graph_can_be_differentiated, CustomOpNetwork) {
  const TemporaryFolder folder;
  Session session(g);
  save_checkpoint(folder / "net.weft", session, {predict});
  const Checkpoint file = load_checkpoint(folder / "net.weft", {.ops = my_ops()});
  const Value loaded = file.program("predict").outputs()[0].second;
  const auto parameters = file.graph().parameters();
  BOOST_TEST(parameters.size() == 2u);
  BOOST_TEST(check_gradients(loaded, {parameters[0], parameters[1]}, {.feeds = setup.feeds}));
}

BOOST_FIXTURE_TEST_CASE(custom_elementwise_operations_are_fused, CustomOpNetwork) {
  Session session(g, {.threads = 1});
  BOOST_TEST(expect_steps(*session.plan(Program("p").output("h", hidden), {{"x", {5, 6}}}),
                          "matmul+add+swish", 1));
  const Program chain = Program("chain").output("y", exp(swish(x * 2, 0.5)) + 1);
  BOOST_TEST(expect_steps(*session.plan(chain, {{"x", {5, 6}}}), "fused mul+swish+exp+add", 1));
  BOOST_TEST(check_determinism(g, chain, setup));

  // Without a row kernel, the operation is a separate step.
  OpRecord alone = swish_record();
  alone.row = nullptr;
  Graph other(with_ops({alone}));
  const Value in = other.input("x", DType::f32, {"batch", 6});
  const Program unfused = Program("apart").output("y", exp(swish(in * 2, 0.5)) + 1);
  Session second(other, {.threads = 1});
  BOOST_TEST(expect_steps(*second.plan(unfused, {{"x", {5, 6}}}), "swish", 1));
  BOOST_TEST(check_determinism(other, unfused, setup));
}

BOOST_FIXTURE_TEST_CASE(profiles_and_texts_contain_custom_operations, CustomOpNetwork) {
  Session session(g, {.threads = 1, .profile = true});
  session.run(predict, setup.feeds);
  BOOST_TEST(session.plan(predict, {{"x", {5, 6}}})->cost().text(20).find("power_mean") !=
             std::string::npos);
  BOOST_TEST(expect_graph(Program("p").output("y", swish(x, 1.5)),
                          "weft text 1\n"
                          "dim batch\n"
                          "input %x: f32[batch, 6]\n"
                          "%y = swish(%x) {beta = 1.5}\n"
                          "program p { output y = %y }"));
}

BOOST_AUTO_TEST_CASE(formulas_broadcast_up_to_three_operands) {
  const auto ops = with_ops(
      {elementwise_op("hypotenuse", [](auto a, auto b) { return std::sqrt(a * a + b * b); }),
       elementwise_op("mix", [](auto a, auto b, auto c) { return a + (b - a) * c; })});
  Graph g(ops);
  const Value a = g.input("a", DType::f32, {2, 3}), b = g.input("b", DType::f32, {3});
  const Value mixed =
      apply_op("mix", {apply_op("hypotenuse", {a, b}), b, g.scalar(DType::f32, 0.5)});
  const Program program = Program("p").output("y", mixed);
  const RunSetup setup{.feeds = {{"a", Tensor::full(DType::f32, {2, 3}, 3)},
                                 {"b", Tensor::of<float>({3}, {4, 0, -4})}}};
  Session session(g);
  const Tensor y = session.run(program, setup.feeds)["y"];
  const Tensor expected = Tensor::of<float>({2, 3}, {4.5f, 1.5f, 0.5f, 4.5f, 1.5f, 0.5f});
  BOOST_TEST(expect_same_bits(y, expected));
  BOOST_TEST(check_determinism(g, program, setup));
  BOOST_CHECK_EXCEPTION(gradients(mean(mixed), {a}), GradientError, [](const GradientError& e) {
    return std::string(e.what()).find("op mix has no gradient rule") != std::string::npos &&
           std::string(e.what()).find("OpRecord::rule") != std::string::npos;
  });
  BOOST_CHECK_THROW(apply_op("mix", {a, b, g.input("i", DType::i32, {3})}), DTypeError);
  BOOST_CHECK_THROW(apply_op("mix", {Value()}), GraphError);
}

// -- Faults that check_record finds --

std::string found_in(const std::function<void(OpRecord&)>& change) {
  OpRecord record = scale_to_unit_record();
  change(record);
  return check_record(with_ops({std::move(record)}), "scale_to_unit", {.variations = 8}).message();
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

BOOST_AUTO_TEST_CASE(check_record_finds_mistakes_in_records) {
  std::string found = found_in([](OpRecord& r) { r.samples = nullptr; });
  BOOST_TEST(has(found, "scale_to_unit: it has no samples"), found);
  found = found_in([](OpRecord& r) { r.definition = nullptr; });
  BOOST_TEST(has(found, "scale_to_unit: it has no gradient"), found);

  // A gradient that is wrong by a factor of 1.001 in one term.
  found = found_in([](OpRecord& r) {
    r.definition = nullptr;
    r.rule = [](const GradientContext& c) {
      const Value x = c.input(0), y = c.output(), largest = max(abs(x));
      const Value at_most = cast(equal(abs(x), largest), x.dtype()) * sign(x);
      return std::vector<Value>{(c.cotangent() - at_most * (1.001 * sum(c.cotangent() * y))) /
                                largest};
    };
  });
  BOOST_TEST(has(found, "scale_to_unit: the gradient: output 0: first-order gradient of in0["),
             found);
  BOOST_TEST(has(found, "but finite differences give"), found);
  BOOST_TEST(has(found, "\n  scale_to_unit(f32["), found);

  // A definition that computes a different result.
  found = found_in([](OpRecord& r) {
    r.definition = [](const Node&, const std::vector<Value>& in, Graph&) {
      return std::vector<Value>{in[0] / max(in[0])};
    };
  });
  BOOST_TEST(has(found, "the definition: output 0 of the kernel differs from the definition"),
             found);

  // The kernel reads or writes elements after the last one, or omits the last ones.
  const auto with_kernel = [](std::int64_t more, bool write) {
    return found_in([=](OpRecord& r) {
      r.gradient = Gradient::none;
      r.no_gradient_reason = "tests only run it";
      r.definition = nullptr;
      r.kernel = floating_kernel([=](auto zero, const KernelRequest& q) {
        using T = decltype(zero);
        const std::int64_t n = q.outputs[0].numel();
        return loop_kernel(1, 1e3, [=](auto& run, auto, auto) {
          T sum = 0;
          for (std::int64_t i = 0; i < n + more; ++i) sum += run.template in<T>(0)[i];
          for (std::int64_t i = 0; i < n + (write ? more : 0); ++i)
            run.template out<T>(0)[i] = run.template in<T>(0)[std::min(i, n - 1)] + T(n > 0);
          if (sum == T(0.125)) run.template out<T>(0)[0] = 0;
        });
      });
    });
  };
  if (!kSanitized) {  // a sanitizer would report the error and terminate the program
    found = with_kernel(1, false);
    BOOST_TEST(has(found, "the kernel alone: SIGSEGV"), found);
    BOOST_TEST(has(found, "accesses memory outside its operands and scratch"), found);
    found = with_kernel(1, true);
    BOOST_TEST(has(found, "the kernel alone: SIGSEGV"), found);
  }
  BOOST_TEST(with_kernel(0, true) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
