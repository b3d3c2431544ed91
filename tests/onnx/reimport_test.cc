// Programs that are written as ONNX files and read again compute the same results and gradients.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <set>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/quantize.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/onnx/export_programs.h"

namespace weft::testing {
namespace {

// Returns a description of the difference, or "". The tolerance is relative to the largest number.
std::string difference(const Tensor& actual, const Tensor& expected, double tolerance) {
  if (actual.dtype() != expected.dtype() || actual.sizes() != expected.sizes()) {
    return fmt::format("{}{} instead of {}{}", dtype_name(actual.dtype()),
                       to_string(actual.sizes()), dtype_name(expected.dtype()),
                       to_string(expected.sizes()));
  }
  double largest = 0, worst = 0;
  for (std::int64_t i = 0; i < expected.numel(); ++i) {
    const double a = actual.at(i), e = expected.at(i);
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    if (!std::isfinite(a) || !std::isfinite(e)) return fmt::format("{} instead of {}", a, e);
    worst = std::max(worst, std::abs(a - e));
  }
  for (std::int64_t i = 0; i < expected.numel(); ++i) {
    if (std::isfinite(expected.at(i))) largest = std::max(largest, std::abs(expected.at(i)));
  }
  return worst <= tolerance * largest ? "" : fmt::format("an error of {}", worst / largest);
}

// Returns a program that computes the gradients of a weighted sum of all floating outputs with
// respect to the floating inputs. Inputs without influence have the gradient 0.
Program gradient_program(const Program& program) {
  Value total;
  for (const auto& [name, value] : program.outputs()) {
    if (!is_floating(value.dtype())) continue;
    const Value part = cast(sum(sin(cast(value, DType::f64))), DType::f64);
    total = total.defined() ? total + part : part;
  }
  Program result("gradients");
  if (!total.defined()) return result;
  std::vector<Value> inputs;
  for (const Value& v : program.inputs()) {
    if (is_floating(v.dtype())) inputs.push_back(v);
  }
  const std::vector<Value> g = gradients(total, inputs, {.unreachable = Unreachable::zeros});
  for (std::size_t i = 0; i < g.size(); ++i) {
    result.output(inputs[i].node().attributes().text("name"), g[i]);
  }
  return result;
}

// Writes a program, reads it again, and returns the differences of the results, or "".
std::string reimport(const Program& program, Session& session, const NamedTensors& feeds,
                     std::int64_t opset, bool with_gradients) {
  const TemporaryFolder folder("onnx");
  const Results expected = session.run(program, feeds);
  write_onnx(folder / "model.onnx", program, *session.store(), {.opset = opset});
  const OnnxModel model = read_onnx(folder / "model.onnx");
  const Program& again = model.checkpoint.program("predict");
  NamedTensors used;
  for (const auto& [name, tensor] : feeds) {
    if (model.checkpoint.graph().find_input(name).defined()) used.emplace_back(name, tensor);
  }
  Session other(model.checkpoint.graph(), model.checkpoint.store());
  std::string wrong;
  const auto compare = [&](const Program& a, const Program& b) {
    const Results results = session.run(a, feeds), others = other.run(b, used);
    for (const auto& [name, value] : a.outputs()) {
      const std::string problem = difference(others[name], results[name], 2e-5);
      if (!problem.empty()) wrong += fmt::format("{} {}: {}\n", a.name(), name, problem);
    }
  };
  compare(program, again);
  if (with_gradients) compare(gradient_program(program), gradient_program(again));
  return wrong;
}

BOOST_AUTO_TEST_SUITE(onnx_reimport)

BOOST_AUTO_TEST_CASE(programs_have_the_same_results_and_gradients) {
  for (const ExportProgram& from : export_programs()) {
    for (const std::int64_t opset : {16, 23}) {
      BOOST_TEST_CONTEXT(from.name << " in opset " << opset) {
        Graph g;
        NamedTensors feeds;
        const Program program = build_program(from, g, feeds);
        Session session(g, {.threads = 1});
        BOOST_TEST(reimport(program, session, feeds, opset, from.differentiable) == "");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(quantised_networks_have_the_same_results) {
  for (const WeightFormat format :
       {WeightFormat::bf16, WeightFormat::int8, WeightFormat::int4, WeightFormat::q8_0}) {
    for (const std::int64_t opset : {17, 21}) {
      BOOST_TEST_CONTEXT(weight_format_name(format) << " in opset " << opset) {
        NamedTensors feeds;
        const ActivationFormat activations =
            format == WeightFormat::bf16 ? ActivationFormat::none : ActivationFormat::int8;
        const QuantizedModel model = quantised_network(format, activations, feeds);
        Session session(*model.graph, model.store, {.threads = 1});
        BOOST_TEST(reimport(model.programs[0], session, feeds, opset, false) == "");
      }
    }
  }
}

// Every op is either written, or rejected for a reason that is listed here.
BOOST_AUTO_TEST_CASE(calls_of_every_op_are_written_and_read_or_rejected_by_name) {
  constexpr int kSamples = 10;                            // per op
  std::map<std::string, std::set<std::string>> rejected;  // ops by reason
  for (const OpRecord* op : builtin_ops()->all()) {
    if (op->samples == nullptr) continue;
    int number = 0;
    for (const OpSample& sample : op->samples()) {
      const auto is_empty = [](const Tensor& t) { return t.defined() && t.numel() == 0; };
      if (std::any_of(sample.inputs.begin(), sample.inputs.end(), is_empty)) continue;
      if (++number > kSamples) break;
      BOOST_TEST_CONTEXT(op->name << " " << number) {
        Graph g;
        NamedTensors feeds;
        Session session(g, {.threads = 1});
        const Program program = sample_program(*op, sample, nullptr, g, feeds, *session.store());
        try {
          BOOST_TEST(reimport(program, session, feeds, 18, false) == "");
        } catch (const ArgumentError& e) {
          const std::string text = e.what(), file = "cannot be written to an ONNX file: ";
          const std::size_t at = text.find(file);
          BOOST_REQUIRE_MESSAGE(at != std::string::npos, text);
          const std::size_t begin = at + file.size();
          rejected[text.substr(begin, text.find('\n') - begin)].insert(op->name);
        } catch (const FormatError& e) {
          BOOST_ERROR(e.what());
        }
      }
    }
  }
  using Names = std::set<std::string>;
  // Attention is rejected only if it has dropout.
  BOOST_TEST(rejected["it draws random numbers"] ==
                 (Names{"attention", "attention_grad", "attention_grad_narrow", "attention_narrow",
                        "dropout", "random_bernoulli", "random_normal", "random_uniform"}),
             boost::test_tools::per_element());
  BOOST_TEST(rejected["it communicates with other processes"] ==
                 (Names{"all_gather", "all_reduce", "all_to_all", "broadcast_from", "rank_number",
                        "reduce_scatter", "send_recv"}),
             boost::test_tools::per_element());
  // Factorisations, caches, gradients, and ops that only passes create.
  BOOST_TEST(rejected["ONNX has no such operator"] == (Names{"attention_grad_narrow",
                                                             "attention_narrow",
                                                             "avg_pool2d_grad",
                                                             "block_sums",
                                                             "cholesky",
                                                             "conv2d_fused",
                                                             "conv2d_weight_grad",
                                                             "fused",
                                                             "fused_reduce",
                                                             "grouped_outer",
                                                             "integer_matmul",
                                                             "integer_matmul_fused",
                                                             "key_advance",
                                                             "key_fold",
                                                             "matmul_fused",
                                                             "pack_int8_rows",
                                                             "qr",
                                                             "quantize_rows",
                                                             "quantized_grouped_matmul",
                                                             "quantized_matmul",
                                                             "quantized_matmul_fused",
                                                             "quantized_take",
                                                             "require_pivots",
                                                             "slice_add",
                                                             "svd",
                                                             "tensor_scatter",
                                                             "triangular_solve",
                                                             "unpack_int8_rows",
                                                             "unslice",
                                                             "with_update"}),
             boost::test_tools::per_element());
  BOOST_TEST(rejected.size() == 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
