// Samples of the operations in ops/fusion/fused.cc.
#include "weft/ops/elementwise.h"
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

Attributes fused_program(const char* text) { return {{"program", std::string(text)}}; }

Attributes reduction_of(const char* text, std::string kind, std::vector<std::int64_t> axes,
                        bool keepdims = false) {
  return {{"program", std::string(text)},
          {"reduction", std::move(kind)},
          {"axes", std::move(axes)},
          {"keepdims", keepdims}};
}

using elementwise::sample_values;

std::vector<OpSample> fused_samples() {
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
                      fused_program("%2 = mul(%0, %1); %3 = tanh(%2); %4 = sub(%3, %1); "
                                    "%5 = clamp(%4, hi=0x1p+0); return %5")});
  }
  // Several results, some of which are operands of later steps. One input is read after a result
  // has been written.
  result.push_back({{x({5, 9}, 3), x({5, 9}, 4), x({9}, 5)},
                    fused_program("%3 = add(%0, %2); %4 = mul(%3, %1); %5 = add(%4, %0); "
                                  "%6 = maximum(%5, %3); return %3, %6, %4")});
  // Rows of bools between rows of floats.
  result.push_back({{x({4, 33}, 6), x({33}, 7)},
                    fused_program("%2 = less(%0, %1); %3 = where(%2, %0, %1); %4 = neg(%3); "
                                  "%5 = logical_not(%2); return %4, %5")});
  // A random op with rows that begin at arbitrary positions.
  result.push_back({{x({5, 7}, 8), key, x({7}, 9)},
                    fused_program("%3 = add(%0, %2); %4 = dropout(%3, %1, rate=0x1p-2, stream=9); "
                                  "%5 = relu(%4); return %5, %3")});
  return result;
}

std::vector<OpErrorSample> fused_errors() {
  const ValueType x{DType::f32, {3}}, i{DType::i32, {3}}, wide{DType::f32, {2, 3}};
  return {
      {{x}, fused_program("%1 = mul(%0, %2); return %1"), "an operand is defined after its use"},
      {{x},
       fused_program("%1 = relu(%0); return %0"),
       "a result must be the value of a step before ''"},
      {{x}, fused_program("%1 = relu(%0); return %1, %1"), "%1 is returned twice"},
      {{x}, fused_program("%1 = relu(%0); %3 = relu(%1); return %3"), "the next value must be %2"},
      {{x}, fused_program("%1 = matmul(%0, %0); return %1"), "'matmul' is not an elementwise op"},
      {{x}, fused_program("%1 = add(%0); return %1"), "add requires 2 operands, not 1"},
      {{x}, fused_program("%1 = clamp(%0, low=0x1p+0); return %1"), "clamp has no attribute 'low'"},
      {{x}, fused_program("%1 = clamp(%0, lo=one); return %1"), "'one' is not a float"},
      {{x}, fused_program("%1 = cast(%0); return %1"), "op cast requires attribute 'dtype'"},
      {{x}, fused_program("%1 = relu(%0); return %1 "), "text after the results"},
      {{x}, fused_program("%1 = relu(%0)"), "'; ' is missing"},
      {{x},
       fused_program("%2 = add(%0, %1); return %2"),
       "the program has 2 inputs, but 1 operands are given"},
      {{i, i},
       fused_program("%2 = div(%0, %1); return %2"),
       "%2 = div: cannot be fused for i32[3]"},
      {{i}, fused_program("%1 = exp(%0); return %1"), "%1 = exp: x must be f32 or f64, but is i32"},
      {{x, wide},
       fused_program("%2 = relu(%0); %3 = add(%2, %1); return %3"),
       "%3 = add: has shape [2, 3], but the steps before it have [3]"}};
}

std::vector<OpSample> fused_reduce_samples() {
  const char* chain = "%2 = mul(%0, %1); %3 = tanh(%2); return %3";
  const auto x = [](Sizes sizes, std::uint32_t seed) {
    return sample_values(std::move(sizes), -2, 2, seed);
  };
  return {{{x({7}, 1), x({}, 2)}, reduction_of(chain, "sum", {0})},
          {{x({3, 5}, 3), x({5}, 4)}, reduction_of(chain, "mean", {1})},
          {{x({3, 5}, 5), x({3, 1}, 6)}, reduction_of(chain, "max", {1}, true)},
          {{x({2, 3, 5}, 7), x({3, 1}, 8)}, reduction_of(chain, "min", {1, 2})},
          {{x({2, 2500}, 9), x({2500}, 10)}, reduction_of(chain, "sum", {1})},
          {{x({3, 1100}, 11), x({3, 1}, 12)}, reduction_of(chain, "max", {1})},
          {{x({500, 400}, 13), x({400}, 14)}, reduction_of(chain, "mean", {0, 1})},
          {{x({0, 3}, 15), x({3}, 16)}, reduction_of(chain, "sum", {0, 1})},
          {{x({4, 3}, 17), x({3}, 18)}, reduction_of(chain, "sum", {})}};
}

std::vector<OpErrorSample> fused_reduce_errors() {
  const ValueType x{DType::f32, {2, 3}};
  const char* square = "%1 = square(%0); return %1";
  return {{{x},
           reduction_of(square, "median", {1}),
           "reduction must be sum, mean, max or min, but is 'median'"},
          {{x}, reduction_of(square, "sum", {0}), "axes [0] must be the last ones"},
          {{x}, reduction_of(square, "sum", {2}), "axis 2 is out of range"},
          {{x},
           reduction_of("%1 = square(%0); %2 = neg(%1); return %1, %2", "sum", {1}),
           "the program must have 1 result, but has 2"},
          {{x},
           reduction_of("%1 = isfinite(%0); return %1", "sum", {1}),
           "reductions are fused for f32 and f64, but the result is bool[2, 3]"}};
}

}  // namespace

void add_samples(FusedOps, OpSamples& all) {
  all.add("fused_reduce", fused_reduce_samples, fused_reduce_errors);
  all.add("fused", fused_samples, fused_errors);
}

}  // namespace weft
