// Twelve mistakes that users make in models and operations. For each mistake, one check of the
// library fails with a message that contains the source line, and passes for the same code without
// the mistake.
#include <boost/test/unit_test.hpp>
#include <mutex>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/control/call.h"
#include "weft/graph/functions.h"
#include "weft/testing/model_checks.h"
#include "weft/testing/random_tensors.h"
#include "weft/testing/reference.h"
#include "weft/testing/run_checks.h"
#include "weft/tests/support/more_threads.h"

namespace weft::testing {
namespace {

constexpr const char* kHere = "planted_faults_test.cc:";

/// Checks that `planted` failed with a message that contains all `parts` and a line of this file,
/// and that `sound` passed.
void check_found(const Outcome& planted, const Outcome& sound,
                 const std::vector<std::string>& parts) {
  BOOST_TEST(sound);
  BOOST_TEST(!planted);
  std::vector<std::string> all = parts;
  all.emplace_back(kHere);
  for (const std::string& part : all) {
    BOOST_TEST(planted.message().find(part) != std::string::npos,
               part << " is missing in " << planted);
  }
}

// -- Custom operations --

OpRecord like_first_operand(const char* name, Kernel (*kernel)(const KernelRequest&)) {
  OpRecord r;
  r.name = name;
  r.doc = "A user's operation.";
  r.inputs = {{"x"}};
  r.infer = [](const InferContext& c) { return std::vector<ValueType>{c.input(0)}; };
  r.kernel = kernel;
  r.gradient = Gradient::none;
  r.no_gradient_reason = "tests only run it";
  return r;
}

/// The sum of an element and its two neighbours.
Kernel neighbours(const KernelRequest& q) {
  const std::int64_t n = q.outputs[0].numel();
  Kernel k;
  k.phases.push_back({.chunks = 1, .body = [n](const KernelRun& run, std::int64_t) {
                        const float* x = run.in<float>(0);
                        for (std::int64_t i = 0; i < n; ++i) {
                          run.out<float>(0)[i] =
                              x[i] + (i > 0 ? x[i - 1] : 0) + (i + 1 < n ? x[i + 1] : 0);
                        }
                      }});
  return k;
}

/// x plus the sum of all x. The chunk sums are added in order if `sound` is true, otherwise in the
/// order in which they finish.
template <bool sound>
Kernel plus_sum(const KernelRequest& q) {
  constexpr std::int64_t kChunks = 16;
  const std::int64_t n = q.outputs[0].numel();
  Kernel k;
  k.shared_scratch = kChunks * sizeof(float);
  const auto total = std::make_shared<std::pair<std::mutex, float>>();
  k.phases.push_back(
      {.chunks = 1, .body = [total](const KernelRun&, std::int64_t) { total->second = 0; }});
  k.phases.push_back({.chunks = kChunks,
                      .body =
                          [n, total](const KernelRun& run, std::int64_t chunk) {
                            const ChunkRange r = chunk_range(n, kChunks, chunk);
                            float sum = 0;
                            for (std::int64_t i = r.begin; i < r.end; ++i)
                              sum += run.in<float>(0)[i];
                            reinterpret_cast<float*>(run.shared_scratch)[chunk] = sum;
                            const std::lock_guard lock(total->first);
                            total->second += sum;
                          },
                      .cost_ns = 1e6});
  k.phases.push_back({.chunks = 1, .body = [n, total](const KernelRun& run, std::int64_t) {
                        float sum = 0;
                        for (std::int64_t c = 0; c < kChunks; ++c) {
                          sum += reinterpret_cast<const float*>(run.shared_scratch)[c];
                        }
                        if (!sound) sum = total->second;
                        for (std::int64_t i = 0; i < n; ++i) {
                          run.out<float>(0)[i] = run.in<float>(0)[i] + sum;
                        }
                      }});
  return k;
}

/// Doubles x, eight elements at a time. The remainder is included only if `sound` is true.
template <bool sound>
Kernel by_eights(const KernelRequest& q) {
  const std::int64_t n = q.outputs[0].numel();
  Kernel k;
  k.phases.push_back({.chunks = 1, .body = [n](const KernelRun& run, std::int64_t) {
                        const std::int64_t end = sound ? n : n / 8 * 8;
                        for (std::int64_t i = 0; i < end; ++i) {
                          run.out<float>(0)[i] = 2 * run.in<float>(0)[i];
                        }
                      }});
  return k;
}

/// Checks a program that runs `record` between two other operations on 1,001 elements.
Outcome run_operation(OpRecord record, bool reference = false) {
  const auto ops = std::make_shared<OpSet>(*builtin_ops());
  const std::string name = record.name;
  ops->add(std::move(record));
  Graph g(ops);
  const Value x = g.input("x", DType::f32, {"n"});
  const Value own = g.apply(name, {sin(x)}, {}, SourceLocation::current()).output(0);
  const Program program = Program("own").output("y", cos(own) + 1);
  const RunSetup setup{.feeds = {{"x", normal_tensor({1001}, 1)}}};
  const MoreThreads more;
  return reference ? check_reference(g, program, setup) : check_determinism(g, program, setup);
}

BOOST_AUTO_TEST_SUITE(planted_faults)

BOOST_AUTO_TEST_CASE(a_wrong_gradient_is_detected) {
  const auto report = [](double factor) {
    Graph g;
    const Value x = g.input("x", DType::f64, {3});
    const Value y = custom_gradient(
        g, "cube", {x},
        [](Graph&, const std::vector<Value>& in) {
          return std::vector<Value>{in[0] * in[0] * in[0]};
        },
        [factor](Graph&, const std::vector<Value>& in) {
          return std::vector<Value>{factor * in[0] * in[0] * in[2]};
        })[0];
    const GradientReport found =
        check_gradients(2 * y, {x}, {.feeds = {{"x", normal_tensor({3}, 1, DType::f64)}}});
    return found ? Outcome::pass() : Outcome::fail(found.message);
  };
  check_found(
      report(2), report(3),
      {"first-order gradient of x[0] (3 of 3 elements are wrong): ",
       ", but finite differences give ", "first op with a wrong gradient: call of 'cube', "});
}

// The record allows the kernel to overwrite its operand, but the kernel reads neighbours that it
// has already overwritten.
BOOST_AUTO_TEST_CASE(a_kernel_that_overwrites_its_input_too_early_is_detected) {
  OpRecord planted = like_first_operand("neighbours", neighbours);
  planted.inplace = {{0, 0}};
  check_found(run_operation(std::move(planted), true),
              run_operation(like_first_operand("neighbours", neighbours), true),
              {"output 'y'", "nodes that write in place:", "neighbours, "});
}

BOOST_AUTO_TEST_CASE(dependence_on_thread_order_is_detected) {
  check_found(
      run_operation(like_first_operand("plus_sum", plus_sum<false>)),
      run_operation(like_first_operand("plus_sum", plus_sum<true>)),
      {"output 'y'", "the first node that differs, when all values are kept, is plus_sum, "});
}

BOOST_AUTO_TEST_CASE(an_omitted_remainder_is_detected) {
  check_found(run_operation(like_first_operand("by_eights", by_eights<false>)),
              run_operation(like_first_operand("by_eights", by_eights<true>)),
              {"output 'y'", "[1000]",
               "the first node that differs, when all values are kept, is by_eights, "});
}

// -- Training programs --

struct Normalised {
  explicit Normalised(bool forget, bool dead) {
    const Value mean_of_batch = mean(x, {0});
    const Value h = matmul(x - mean_of_batch, w);
    const Value loss = mean(square(h + (dead ? stop_gradient(b.value()) : b.value())));
    train.output("loss", loss)
        .update(sgd(gradients(loss, {w, b}, {.unreachable = Unreachable::zeros}), {w, b}));
    if (!forget) train.update(running, running * 0.9 + mean_of_batch * 0.1);
  }
  Outcome check() {
    return check_state_changes(g, train, {.feeds = {{"x", normal_tensor({5, 3}, 1)}}});
  }

  Graph g;
  Value x = g.input("x", DType::f32, {"batch", 3});
  Variable w = g.variable("w", DType::f32, {3, 2}, {.initializer = Initializer::normal(1)});
  Variable b = g.variable("b", DType::f32, {2}, {.initializer = Initializer::ones()});
  Variable running = g.variable(
      "running", DType::f32, {3},
      {.kind = VariableKind::buffer, .trainable = false, .initializer = Initializer::zeros()});
  Program train{"train"};
};

BOOST_AUTO_TEST_CASE(a_missing_update_is_detected) {
  check_found(Normalised(true, false).check(), Normalised(false, false).check(),
              {"buffer 'running' (the program does not update it)"});
}

BOOST_AUTO_TEST_CASE(an_unused_parameter_is_detected) {
  check_found(Normalised(false, true).check(), Normalised(false, false).check(),
              {"parameter 'b' (its update does not change its value: no gradient reaches it)"});
}

Outcome rows_of(const std::function<Value(Graph& g, Value x)>& loss) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 3});
  const Program program = Program("loss").output("loss", loss(g, x));
  return check_rows(g, program, {.feeds = {{"x", normal_tensor({4, 3}, 1)}}});
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_a_sum_is_detected) {
  check_found(rows_of([](Graph&, Value x) { return sum(square(x)); }),
              rows_of([](Graph&, Value x) { return mean(square(x)); }),
              {"output 'loss'", "4 rows together", "is it a sum", "it is computed by sum, "});
}

// The node whose result depends on other rows is named, even if its result has no rows.
BOOST_AUTO_TEST_CASE(the_node_that_mixes_rows_is_named) {
  const auto centred = [](int axis, bool transposed) {
    Graph g;
    const Value x = g.input("x", DType::f32, {"batch", 3});
    Value y = transposed ? transpose(x) : x;
    y = exp(y - mean(y, {axis}, true)) * 2;
    const Program program = Program("centre").output("y", transposed ? transpose(y) : y);
    return check_rows(g, program, {.feeds = {{"x", normal_tensor({4, 3}, 1)}}});
  };
  check_found(centred(0, false), centred(1, false), {"the first node that mixes rows is mean, "});
  check_found(centred(1, true), centred(0, true), {"the first node that mixes rows is mean, "});
  const auto causal = [](bool whole) {
    Graph g;
    const Value x = g.input("x", DType::f32, {"batch", "seq", 3});
    const Value centre = whole ? mean(x, {1}, true) : mean(x, {2}, true);
    const Program program = Program("layer").output("y", exp(x - centre) * 2);
    return check_causal(g, program, {.feeds = {{"x", normal_tensor({2, 5, 3}, 1)}}}, "x", "y");
  };
  check_found(causal(true), causal(false),
              {"the first node that depends on later positions is mean, "});
}

// The mean over the rows is wrongly multiplied by the number of rows.
BOOST_AUTO_TEST_CASE(double_counting_of_rows_is_detected) {
  check_found(rows_of([](Graph& g, Value x) {
                return mean(square(x)) * cast(dim_value(g, g.dim("batch")), DType::f32) * 0.25;
              }),
              rows_of([](Graph&, Value x) { return mean(square(x)); }),
              {"output 'loss'", "for batches of 1: ", "it is computed by mul, "});
}

// -- Models --

BOOST_AUTO_TEST_CASE(leakage_of_future_tokens_is_detected) {
  const auto attention_of = [](bool causal) {
    Graph g;
    const Value x = g.input("x", DType::f32, {"batch", "seq", 4});
    const Value heads = unsqueeze(x, 1);
    const Value y = squeeze(attention(heads, heads, heads, {.causal = causal}), {1});
    const Program program = Program("layer").output("y", y);
    return check_causal(g, program, {.feeds = {{"x", normal_tensor({2, 6, 4}, 1)}}}, "x", "y");
  };
  check_found(attention_of(false), attention_of(true),
              {"'y' at positions 0 to 0 depends on 'x' at positions 1 to 5",
               "the first node that depends on later positions is attention, "});
}

BOOST_AUTO_TEST_CASE(a_nan_for_zero_input_is_detected) {
  const auto norm_of = [](bool sound) {
    Graph g;
    const Value x = g.input("x", DType::f32, {"batch", 3});
    const Value length = sqrt(sum(square(x), {1}, true) + (sound ? 1e-6 : 0.0));
    const Program program = Program("normalise").output("y", x / length);
    return check_finite(g, program, {.feeds = {{"x", normal_tensor({4, 3}, 1)}}});
  };
  check_found(norm_of(false), norm_of(true), {"with floating-point feeds of 0: "});
}

// Mismatched sizes are rejected when the graph is built, but indices are only available when the
// program runs.
BOOST_AUTO_TEST_CASE(a_program_for_a_single_batch_size_is_detected) {
  const auto reversed = [](bool sound) {
    Graph g;
    const Value x = g.input("x", DType::f32, {"batch", 3});
    const Value last = g.constant(Tensor::of<std::int64_t>({4}, {3, 2, 1, 0}));
    const Value y = sound ? x * 2 : take(take(x, last), last) * 2;
    const Program program = Program("reversed").output("mean", mean(y));
    return check_rows(g, program, {.feeds = {{"x", normal_tensor({4, 3}, 1)}}});
  };
  check_found(reversed(false), reversed(true), {"row 0 of 4 alone: "});
}

BOOST_AUTO_TEST_CASE(unsaved_state_is_detected) {
  const auto counter = [](VariableKind kind) {
    Graph g;
    const Value x = g.input("x", DType::f32, {4});
    const Variable sum =
        g.variable("sum", DType::f32, {4}, {.kind = kind, .initializer = Initializer::zeros()});
    const Value next = sum + x;
    const Program program = Program("count").output("sum", next).update(sum, next);
    return check_resume(g, program, {.feeds = {{"x", normal_tensor({4}, 1)}}});
  };
  check_found(counter(VariableKind::cache), counter(VariableKind::buffer),
              {"resumed from a file", "output 'sum' of run 1", "'sum' is a cache"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
