// Random calls of an op that are compared with the op's scalar model. Shared by the *_twin_test.cc
// files.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/ops/evaluate_at.h"
#include "weft/tests/reference/scalar_ops.h"
#include "weft/tests/samples/sample_data.h"

namespace weft::testing {

/// A seeded source of random sizes, choices and tensors.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : engine_(seed) {}

  /// Returns a random integer in [low, high].
  std::int64_t within(std::int64_t low, std::int64_t high) {
    const auto count = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(engine_() % count);
  }
  bool chance(double p) { return static_cast<double>(engine_() >> 11) * 0x1p-53 < p; }
  template <class T>
  T one_of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(within(0, static_cast<std::int64_t>(list.size()) - 1))];
  }
  std::int64_t one_of(std::initializer_list<std::int64_t> list) {
    return one_of(std::vector<std::int64_t>(list));
  }
  Tensor uniform(Sizes sizes, DType dtype = DType::f32) {
    return sample_uniform(std::move(sizes), engine_()).to(dtype);
  }
  /// Returns random i32 or i64 values in [0, bound). A bound of 0 is only valid for tensors without
  /// elements.
  Tensor indices(Sizes sizes, std::int64_t bound) {
    const Tensor t = sample_indices(std::move(sizes), engine_(), std::max<std::int64_t>(bound, 1));
    return chance(0.5) ? t.to(DType::i32) : t;
  }
  Tensor booleans(Sizes sizes, double p = 0.5) {
    Tensor t = Tensor::empty(DType::boolean, std::move(sizes));
    for (std::int64_t i = 0; i < t.numel(); ++i) t.mutable_data<bool>()[i] = chance(p);
    return t;
  }

 private:
  std::mt19937_64 engine_;
};

inline std::string attribute_text(const Attribute& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, Dim> || std::is_same_v<T, Shape>) return v.str();
        if constexpr (std::is_same_v<T, DType>) return std::string(dtype_name(v));
        if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) return to_string(v);
        if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)
          return fmt::format("{}", v);
        return "...";
      },
      value);
}

/// Returns a description such as "attention(f32[2, 3], -, i64[4]) {axis=1}".
inline std::string use_text(std::string_view op, const std::vector<Tensor>& inputs,
                            const Attributes& attributes) {
  std::vector<std::string> operands, settings;
  for (const Tensor& t : inputs) operands.push_back(t.defined() ? t.type_str() : "-");
  for (const auto& [name, value] : attributes) {
    settings.push_back(fmt::format("{}={}", name, attribute_text(value)));
  }
  return fmt::format("{}({}) {{{}}}", op, fmt::join(operands, ", "), fmt::join(settings, ", "));
}

/// Compares one call of an op with its scalar model. The op is evaluated directly, and also with
/// its chunks in reverse order and scratch memory that is filled with a pattern.
inline void check_twin(std::string_view name, const std::vector<Tensor>& inputs,
                       const Attributes& attributes, Precision precision = Precision::highest) {
  BOOST_TEST_CONTEXT(use_text(name, inputs, attributes)) {
    const OpRecord& op = builtin_ops()->at(name);
    const auto want = scalar_outputs(op, inputs, attributes, precision);
    const auto got = evaluate_at(precision, name, inputs, attributes);
    BOOST_REQUIRE_EQUAL(got.size(), want.size());
    for (std::size_t o = 0; o < got.size(); ++o) {
      const auto wrong = difference(got[o], want[o]);
      BOOST_TEST(!wrong.has_value(), "output " << o << ": " << wrong.value_or(""));
    }
    if (precision != Precision::highest) return;
    const auto alone = evaluate_op(op, inputs, attributes);
    for (std::size_t o = 0; o < got.size(); ++o) {
      BOOST_TEST(bitwise_equal(alone[o], got[o]),
                 "output " << o << " depends on the order of chunks");
    }
  }
}

/// Calls `body(choices)` `cases` times with different seeds. The environment variable
/// WEFT_TWIN_ROUNDS (default 1) multiplies the number of calls. Failure messages contain the seed.
template <class Body>
void for_random_seeds(int cases, std::uint64_t first, Body body) {
  const char* const text = std::getenv("WEFT_TWIN_ROUNDS");
  const std::uint64_t rounds = text == nullptr ? 1 : std::stoull(text);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < cases; ++i) {
      const std::uint64_t seed = first + static_cast<std::uint64_t>(i) + (round << 32);
      BOOST_TEST_CONTEXT("seed " << seed) {
        Choices choices(seed);
        body(choices);
      }
    }
  }
}

/// As above, on every SIMD target, with different seeds on each target.
template <class Body>
void for_random_cases(int cases, std::uint64_t first, Body body) {
  for_each_simd_target([&](const char* target) {
    BOOST_TEST_CONTEXT(target) { for_random_seeds(cases, first, body); }
    first += static_cast<std::uint64_t>(cases);
  });
}

}  // namespace weft::testing
