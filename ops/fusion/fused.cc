// The records of `fused`, which runs several elementwise ops in one pass over memory, and of
// `fused_reduce`. The pass `fuse` creates these ops after differentiation; users need not create
// them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "weft/ops/builtin.h"
#include "weft/ops/elementwise.h"
#include "weft/ops/fusion/fused_kernel.h"
#include "weft/ops/fusion/tile_program.h"
#include "weft/ops/samples.h"

namespace weft {
namespace {

using elementwise::sample_values;

std::vector<ValueType> infer_fused(const InferContext& context) {
  const TileProgram program =
      TileProgram::parse(context.attributes().text("program"), context.ops());
  const std::vector<ValueType> types =
      infer_values(program, operands_from(context, 0), ContextFacts(context));
  std::vector<ValueType> results;
  for (const int v : program.results) results.push_back(types[static_cast<std::size_t>(v)]);
  return results;
}

constexpr const char* kReductions[] = {"sum", "mean", "max", "min"};

std::vector<ValueType> infer_fused_reduce(const InferContext& context) {
  const Attributes& attributes = context.attributes();
  const std::string& reduction = attributes.text("reduction");
  if (std::find(std::begin(kReductions), std::end(kReductions), reduction) ==
      std::end(kReductions)) {
    throw ArgumentError(
        fmt::format("reduction must be sum, mean, max or min, but is '{}'", reduction));
  }
  const std::vector<ValueType> rows = infer_fused(context);
  if (rows.size() != 1) {
    throw ArgumentError(fmt::format("the program must have 1 result, but has {}", rows.size()));
  }
  const DType dtype = rows[0].dtype;
  if (dtype != DType::f32 && dtype != DType::f64) {
    throw DTypeError(
        fmt::format("reductions are fused for f32 and f64, but the result is {}", rows[0].str()));
  }
  const ContextFacts facts(context);
  const Attributes over{{"axes", attributes.integers("axes")},
                        {"keepdims", attributes.flag("keepdims")}};
  const std::shared_ptr<const OpSet> own =
      context.ops() == nullptr ? builtin_ops_if_linked() : nullptr;
  const OpSet none;
  const OpSet& ops = context.ops() != nullptr ? *context.ops() : own != nullptr ? *own : none;
  auto result = ops.at(reduction).infer(InferContext(reduction, {&rows[0]}, over, facts));
  const auto& axes = attributes.integers("axes");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[axes.size() - 1 - i] != rows[0].shape.rank() - 1 - static_cast<std::int64_t>(i)) {
      throw ArgumentError(fmt::format("axes [{}] must be the last ones", fmt::join(axes, ", ")));
    }
  }
  return result;
}

Attributes program(const char* text) { return {{"program", std::string(text)}}; }

std::vector<OpSample> samples() {
  const Tensor key = Tensor::of<std::int64_t>({2}, {42, 3});
  const auto x = [](Sizes sizes, std::uint32_t seed) {
    return sample_values(std::move(sizes), -2, 2, seed);
  };
  std::vector<OpSample> result;
  // A chain over rows of different lengths, with broadcast scalars, rows and columns.
  for (const auto& [a, b] : std::vector<std::pair<Sizes, Sizes>>{{{7}, {}},
                                                                 {{2, 3}, {3}},
                                                                 {{3, 5}, {3, 1}},
                                                                 {{2, 1, 3}, {4, 1}},
                                                                 {{0, 3}, {3}},
                                                                 {{}, {}},
                                                                 {{3, 700}, {700}},
                                                                 {{3, 700}, {3, 1}},
                                                                 {{2500}, {1}}}) {
    result.push_back({{x(a, 1), x(b, 2)},
                      program("%2 = mul(%0, %1); %3 = tanh(%2); %4 = sub(%3, %1); "
                              "%5 = clamp(%4, hi=0x1p+0); return %5")});
  }
  // Several results, some of which are operands of later steps. One input is read after a result
  // has been written.
  result.push_back({{x({5, 9}, 3), x({5, 9}, 4), x({9}, 5)},
                    program("%3 = add(%0, %2); %4 = mul(%3, %1); %5 = add(%4, %0); "
                            "%6 = maximum(%5, %3); return %3, %6, %4")});
  // Rows of bools between rows of floats.
  result.push_back({{x({4, 33}, 6), x({33}, 7)},
                    program("%2 = less(%0, %1); %3 = where(%2, %0, %1); %4 = neg(%3); "
                            "%5 = logical_not(%2); return %4, %5")});
  // A random op with rows that begin at arbitrary positions.
  result.push_back({{x({5, 7}, 8), key, x({7}, 9)},
                    program("%3 = add(%0, %2); %4 = dropout(%3, %1, rate=0x1p-2, stream=9); "
                            "%5 = relu(%4); return %5, %3")});
  return result;
}

std::vector<OpErrorSample> error_samples() {
  const ValueType x{DType::f32, {3}}, i{DType::i32, {3}}, wide{DType::f32, {2, 3}};
  return {
      {{x}, program("%1 = mul(%0, %2); return %1"), "an operand is defined after its use"},
      {{x}, program("%1 = relu(%0); return %0"), "a result must be the value of a step before ''"},
      {{x}, program("%1 = relu(%0); return %1, %1"), "%1 is returned twice"},
      {{x}, program("%1 = relu(%0); %3 = relu(%1); return %3"), "the next value must be %2"},
      {{x}, program("%1 = matmul(%0, %0); return %1"), "'matmul' is not an elementwise op"},
      {{x}, program("%1 = add(%0); return %1"), "add requires 2 operands, not 1"},
      {{x}, program("%1 = clamp(%0, low=0x1p+0); return %1"), "clamp has no attribute 'low'"},
      {{x}, program("%1 = clamp(%0, lo=one); return %1"), "'one' is not a float"},
      {{x}, program("%1 = cast(%0); return %1"), "op cast requires attribute 'dtype'"},
      {{x}, program("%1 = relu(%0); return %1 "), "text after the results"},
      {{x}, program("%1 = relu(%0)"), "'; ' is missing"},
      {{x},
       program("%2 = add(%0, %1); return %2"),
       "the program has 2 inputs, but 1 operands are given"},
      {{i, i}, program("%2 = div(%0, %1); return %2"), "%2 = div: cannot be fused for i32[3]"},
      {{i}, program("%1 = exp(%0); return %1"), "%1 = exp: x must be f32 or f64, but is i32"},
      {{x, wide},
       program("%2 = relu(%0); %3 = add(%2, %1); return %3"),
       "%3 = add: has shape [2, 3], but the steps before it have [3]"}};
}

Attributes reduction(const char* text, std::string kind, std::vector<std::int64_t> axes,
                     bool keepdims = false) {
  return {{"program", std::string(text)},
          {"reduction", std::move(kind)},
          {"axes", std::move(axes)},
          {"keepdims", keepdims}};
}

std::vector<OpSample> reduce_samples() {
  const char* chain = "%2 = mul(%0, %1); %3 = tanh(%2); return %3";
  const auto x = [](Sizes sizes, std::uint32_t seed) {
    return sample_values(std::move(sizes), -2, 2, seed);
  };
  return {{{x({7}, 1), x({}, 2)}, reduction(chain, "sum", {0})},
          {{x({3, 5}, 3), x({5}, 4)}, reduction(chain, "mean", {1})},
          {{x({3, 5}, 5), x({3, 1}, 6)}, reduction(chain, "max", {1}, true)},
          {{x({2, 3, 5}, 7), x({3, 1}, 8)}, reduction(chain, "min", {1, 2})},
          {{x({2, 2500}, 9), x({2500}, 10)}, reduction(chain, "sum", {1})},
          {{x({3, 1100}, 11), x({3, 1}, 12)}, reduction(chain, "max", {1})},
          {{x({500, 400}, 13), x({400}, 14)}, reduction(chain, "mean", {0, 1})},
          {{x({0, 3}, 15), x({3}, 16)}, reduction(chain, "sum", {0, 1})},
          {{x({4, 3}, 17), x({3}, 18)}, reduction(chain, "sum", {})}};
}

std::vector<OpErrorSample> reduce_errors() {
  const ValueType x{DType::f32, {2, 3}};
  const char* square = "%1 = square(%0); return %1";
  return {{{x},
           reduction(square, "median", {1}),
           "reduction must be sum, mean, max or min, but is 'median'"},
          {{x}, reduction(square, "sum", {0}), "axes [0] must be the last ones"},
          {{x}, reduction(square, "sum", {2}), "axis 2 is out of range"},
          {{x},
           reduction("%1 = square(%0); %2 = neg(%1); return %1, %2", "sum", {1}),
           "the program must have 1 result, but has 2"},
          {{x},
           reduction("%1 = isfinite(%0); return %1", "sum", {1}),
           "reductions are fused for f32 and f64, but the result is bool[2, 3]"}};
}

void add_program_inputs(OpRecord& r) {
  for (int i = 0; i < TileProgram::kMaxInputs; ++i) {
    r.inputs.push_back({fmt::format("in{}", i), i == 0 ? Arity::required : Arity::optional});
  }
}

}  // namespace

void add_fused_ops(OpSet& ops) {
  OpRecord reduce;
  reduce.name = "fused_reduce";
  reduce.doc =
      "Runs a tile program, as in fused, with a single result, which is reduced over its last axes "
      "and never stored. Returns the same bits as running the steps and the reduction separately.";
  add_program_inputs(reduce);
  reduce.attributes = {{"program", std::string(), true},
                       {"reduction", std::string(), true},
                       {"axes", std::vector<std::int64_t>(), true},
                       {"keepdims", false}};
  reduce.infer = infer_fused_reduce;
  reduce.kernel = make_fused_reduce_kernel;
  reduce.cost = fused_reduce_cost;
  reduce.gradient = Gradient::none;
  reduce.no_gradient_reason = "created after differentiation; differentiate the unfused ops";
  ops.add(std::move(reduce));

  OpRecord r;
  r.name = "fused";
  r.doc =
      "Runs elementwise ops in one pass over memory: a tile program (ops/fusion/tile_program.h) on "
      "inputs that broadcast to its results. Returns the same bits as running its steps "
      "separately.";
  add_program_inputs(r);
  r.outputs.clear();
  for (int o = 0; o < TileProgram::kMaxResults; ++o) {
    r.outputs.push_back(fmt::format("out{}", o));
    for (int i = 0; i < TileProgram::kMaxInputs; ++i) r.inplace.emplace_back(o, i);
  }
  r.attributes = {{"program", std::string(), true}};
  r.infer = infer_fused;
  r.kernel = make_fused_kernel;
  r.cost = fused_cost;
  r.gradient = Gradient::none;
  r.no_gradient_reason = "created after differentiation; differentiate the unfused ops";
  ops.add(std::move(r));
}

void add_fused_samples(OpSamples& all) {
  all.add("fused_reduce", reduce_samples, reduce_errors);
  all.add("fused", samples, error_samples);
}

}  // namespace weft
