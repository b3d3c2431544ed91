// Compares fused programs, which keep intermediate results in registers, with the same ops
// evaluated one at a time. The bits must be equal.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "weft/core/random.h"
#include "weft/ops/fusion/tile_program.h"
#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"

namespace weft::testing {
namespace {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : stream_{seed, 0, 0} {}
  int below(int bound) {
    return static_cast<int>(stream_.word(next_++) % static_cast<std::uint32_t>(bound));
  }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

/// Values in [-2, 2) that include NaN, infinities and both zeros.
Tensor values(DType dtype, Sizes sizes, std::uint64_t seed) {
  const RandomStream stream{seed, 1, 0};
  std::vector<float> v(static_cast<std::size_t>(num_elements(sizes)));
  for (std::size_t i = 0; i < v.size(); ++i) {
    v[i] = 4 * uniform_float(stream.word(i)) - 2;
    if (i % 61 == 7) v[i] = std::numeric_limits<float>::quiet_NaN();
    if (i % 67 == 11) v[i] = i % 2 == 0 ? HUGE_VALF : -HUGE_VALF;
    if (i % 53 == 13) v[i] = i % 2 == 0 ? 0.0f : -0.0f;
  }
  return Tensor::of<float>(std::move(sizes), v).to(dtype);
}

/// Returns a program with `steps` ops on 5 inputs (dense, row, scalar, column, dense). Chains
/// support most of the ops, or all of them if `pure` is true. Some values stay live for many steps.
std::string random_program(Draws& draws, int steps, bool pure) {
  static const std::vector<std::string> kUnary = {"neg",   "abs",        "sign", "square", "sqrt",
                                                  "rsqrt", "reciprocal", "relu", "clamp"};
  static const std::vector<std::string> kBinary = {"add", "sub",     "mul",
                                                   "div", "maximum", "minimum"};
  constexpr int kInputs = 5;
  std::string text;
  const auto operand = [&](int value) {
    if (draws.below(2) == 0 && value > kInputs) return value - 1;
    return draws.below(value);
  };
  const auto whole = [&](int value) {  // an operand with the common shape of all steps
    const int v = operand(value);
    return v >= 1 && v <= 3 ? 4 : v;
  };
  for (int s = 0; s < steps; ++s) {
    const int value = kInputs + s;
    std::string call;
    if (s == 0) {
      call = "add(%0, %1)";
    } else if (!pure && draws.below(6) == 0) {
      call = fmt::format("floor(%{})", whole(value));
    } else if (draws.below(3) == 0) {
      const auto& op = kUnary[static_cast<std::size_t>(draws.below(9))];
      call = fmt::format("{}(%{}{})", op, whole(value), op == "clamp" ? ", lo=-0x1p+0" : "");
    } else {
      const auto& op = kBinary[static_cast<std::size_t>(draws.below(6))];
      const int a = operand(value), b = whole(value);
      const bool turned = draws.below(2) == 0;
      call = fmt::format("{}(%{}, %{})", op, turned ? b : a, turned ? a : b);
    }
    text += fmt::format("%{} = {}; ", value, call);
  }
  std::vector<std::string> results = {fmt::format("%{}", kInputs + steps - 1)};
  if (steps > 3) results.push_back(fmt::format("%{}", kInputs + draws.below(steps - 1)));
  return text + "return " + fmt::format("{}", fmt::join(results, ", "));
}

std::vector<Tensor> one_by_one(const TileProgram& program, std::vector<Tensor> all) {
  for (const TileStep& step : program.steps) {
    std::vector<Tensor> operands;
    for (const int v : step.operands) {
      operands.push_back(all[static_cast<std::size_t>(v)]);
    }
    all.push_back(evaluate_op(*step.op, operands, step.attributes)[0]);
  }
  std::vector<Tensor> results;
  for (const int r : program.results) results.push_back(all[static_cast<std::size_t>(r)]);
  return results;
}

/// Treats all NaNs as equal, regardless of sign and payload.
template <class T>
std::int64_t first_difference(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) return 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const T x = a.data<T>()[i], y = b.data<T>()[i];
    if (x != x && y != y) continue;
    if (std::memcmp(&x, &y, sizeof(T)) != 0) return i;
  }
  return -1;
}

void check(const std::string& text, const std::vector<Tensor>& inputs, const char* target) {
  const TileProgram program = TileProgram::parse(text);
  const auto got = evaluate_op(builtin_ops()->at("fused"), inputs, {{"program", text}});
  const auto want = one_by_one(program, inputs);
  for (std::size_t r = 0; r < want.size(); ++r) {
    const std::int64_t at = want[r].dtype() == DType::f32
                                ? first_difference<float>(got[r], want[r])
                                : first_difference<double>(got[r], want[r]);
    BOOST_TEST(at == -1, fmt::format("result {} differs at {} on {}: {}", r, at, target, text));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fused_chain)

BOOST_AUTO_TEST_CASE(random_programs_match_their_steps_bit_for_bit) {
  Draws draws(5);
  for (int trial = 0; trial < 60; ++trial) {
    // Rows of at least one tile with remainders, and rows shorter than a block.
    const std::int64_t columns = trial % 3 == 0 ? 37 : trial % 3 == 1 ? 1024 + 128 : 2 * 1024 + 77;
    const Sizes sizes{3, columns};
    const DType dtype = trial % 4 == 3 ? DType::f64 : DType::f32;
    const auto seed = static_cast<std::uint64_t>(trial);
    const std::vector<Tensor> inputs = {
        values(dtype, sizes, 10 * seed + 1), values(dtype, {columns}, 10 * seed + 2),
        values(dtype, {}, 10 * seed + 3), values(dtype, {3, 1}, 10 * seed + 4),
        values(dtype, sizes, 10 * seed + 5)};
    const std::string text = random_program(draws, 1 + trial % 40, trial % 2 == 0);
    for_each_simd_target([&](const char* target) { check(text, inputs, target); });
  }
}

BOOST_AUTO_TEST_CASE(fused_results_larger_than_the_caches_match_the_unfused_ops) {
  // The results are at least 32 MiB large; %3 is read again, %5 is not. Row addresses have all
  // possible alignments.
  const Sizes sizes{2113, 4001};
  const std::vector<Tensor> inputs = {values(DType::f32, sizes, 1), values(DType::f32, {4001}, 2)};
  check("%2 = mul(%0, %1); %3 = add(%2, %1); %4 = square(%3); %5 = sub(%4, %3); return %5", inputs,
        "the best target");
  check("%2 = mul(%0, %1); %3 = add(%2, %1); %4 = floor(%3); %5 = sub(%4, %3); return %5, %3",
        inputs, "the best target");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
