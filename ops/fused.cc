// The record of `fused`: several elementwise ops in one pass over memory. Made by the pass `fuse`,
// after differentiation; users need not build it.
#include <fmt/format.h>

#include "weft/ops/builtin.h"
#include "weft/ops/elementwise.h"
#include "weft/ops/fused_kernel.h"
#include "weft/ops/tile_program.h"

namespace weft {
namespace {

using elementwise::sample_values;

/// Equality of dims as the graph sees it, for the shape rules of steps.
class ContextFacts : public DimFacts {
 public:
  explicit ContextFacts(const InferContext& context) : context_(context) {}
  bool equal(const Dim& a, const Dim& b) const override { return context_.equal(a, b); }

 private:
  const InferContext& context_;
};

std::vector<ValueType> infer_fused(const InferContext& context) {
  const TileProgram program = TileProgram::parse(context.attributes().text("program"));
  std::vector<const ValueType*> inputs;
  for (int i = 0; i < context.input_count(); ++i) {
    if (context.has(i)) inputs.push_back(&context.input(i));
  }
  const std::vector<ValueType> types = infer_values(program, inputs, ContextFacts(context));
  std::vector<ValueType> results;
  for (const int v : program.results) results.push_back(types[static_cast<std::size_t>(v)]);
  return results;
}

Attributes program(const char* text) { return {{"program", std::string(text)}}; }

std::vector<OpSample> samples() {
  const Tensor key = Tensor::of<std::int64_t>({2}, {42, 3});
  const auto x = [](Sizes sizes, std::uint32_t seed) {
    return sample_values(std::move(sizes), -2, 2, seed);
  };
  std::vector<OpSample> result;
  // A chain over rows of several lengths, scalars and rows and columns that repeat.
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
  // Several results, of which some are operands of later steps; an input read after a result.
  result.push_back({{x({5, 9}, 3), x({5, 9}, 4), x({9}, 5)},
                    program("%3 = add(%0, %2); %4 = mul(%3, %1); %5 = add(%4, %0); "
                            "%6 = maximum(%5, %3); return %3, %6, %4")});
  // Rows of bytes between rows of floats.
  result.push_back({{x({4, 33}, 6), x({33}, 7)},
                    program("%2 = less(%0, %1); %3 = where(%2, %0, %1); %4 = neg(%3); "
                            "%5 = logical_not(%2); return %4, %5")});
  // A draw, with rows that begin anywhere.
  result.push_back({{x({5, 7}, 8), key, x({7}, 9)},
                    program("%3 = add(%0, %2); %4 = dropout(%3, %1, rate=0x1p-2, stream=9); "
                            "%5 = relu(%4); return %5, %3")});
  return result;
}

std::vector<OpErrorSample> error_samples() {
  const ValueType x{DType::f32, {3}}, i{DType::i32, {3}}, wide{DType::f32, {2, 3}};
  return {{{x}, program("%1 = mul(%0, %2); return %1"), "an operand comes after its user"},
          {{x}, program("%1 = relu(%0); return %0"), "a result must be of a step before ''"},
          {{x}, program("%1 = relu(%0); return %1, %1"), "%1 is returned twice"},
          {{x}, program("%1 = relu(%0); %3 = relu(%1); return %3"), "the next value must be %2"},
          {{x}, program("%1 = matmul(%0, %0); return %1"), "'matmul' is no elementwise op"},
          {{x}, program("%1 = add(%0); return %1"), "add takes 2 operands, not 1"},
          {{x}, program("%1 = clamp(%0, low=0x1p+0); return %1"), "clamp has no attribute 'low'"},
          {{x}, program("%1 = clamp(%0, lo=one); return %1"), "'one' is no float"},
          {{x}, program("%1 = cast(%0); return %1"), "op cast needs attribute 'dtype'"},
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

}  // namespace

void add_fused_ops(OpSet& ops) {
  OpRecord r;
  r.name = "fused";
  r.doc =
      "Elementwise ops in one pass over memory: a tile program (ops/tile_program.h) on inputs that "
      "broadcast to its results. The same bits as its steps one by one.";
  for (int i = 0; i < TileProgram::kMaxInputs; ++i) {
    r.inputs.push_back({fmt::format("in{}", i), i == 0 ? Arity::required : Arity::optional});
  }
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
  r.no_gradient_reason = "made after differentiation; differentiate the ops that it stands for";
  r.samples = samples;
  r.error_samples = error_samples;
  ops.add(std::move(r));
}

}  // namespace weft
