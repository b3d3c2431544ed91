#include "weft/graph/functions/shape.h"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <numeric>

#include "weft/ops/op.h"
#include "weft/tests/reference/evaluate_graph.h"
#include "weft/tests/reference/shape.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/numbers.h"

namespace weft::testing {
namespace {

using Doubles = std::vector<double>;
using Move = std::function<std::optional<Sizes>(const Sizes&)>;

/// Applies a function to a graph input that has the type of x.
Tensor applied(const std::function<Value(Value)>& function, const Tensor& x) {
  Graph g;
  const Value in = g.input("x", {x.dtype(), Shape(x.sizes())});
  return evaluate_graph({function(in)}, {{in, x}})[0];
}

/// Compares function(x) with the scalar model, for every element size.
void check_move(const std::function<Value(Value)>& function, const Sizes& from, const Sizes& to,
                const Move& move, double otherwise = 0) {
  const Tensor x = sample_indices(from, 3, 100);
  for (const DType dtype : {DType::i64, DType::f32, DType::bf16, DType::u8}) {
    const Tensor out = applied(function, x.to(dtype));
    BOOST_TEST(out.sizes() == to);
    BOOST_TEST(elements_of(out) == moved(x, to, move, otherwise));
  }
}

Tensor counting(std::int64_t n) {
  std::vector<double> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 0.0);
  return Tensor::of<double>({n}, v);
}

/// Checks that the message contains `part` and the name of this file.
auto says_here(std::string part) { return message_contains({std::move(part), "shape_test.cc"}); }

}  // namespace

BOOST_AUTO_TEST_SUITE(shape_ops)

BOOST_AUTO_TEST_CASE(permute_matches_the_scalar_model) {
  for (const std::int64_t a : {0, 1, 3, 31, 32, 33, 67}) {
    for (const std::int64_t b : {1, 4, 37}) {
      check_move([](Value x) { return transpose(x); }, {a, b}, {b, a},
                 [](const Sizes& i) {
                   return Sizes{i[1], i[0]};
                 });
      check_move(
          [](Value x) {
            return permute(x, {2, 0, 1});
          },
          {2, a, b}, {b, 2, a},
          [](const Sizes& i) {
            return Sizes{i[1], i[2], i[0]};
          });
      check_move(
          [](Value x) {
            return permute(x, {0, 2, 1, 3});
          },
          {2, a, b, 3}, {2, b, a, 3},
          [](const Sizes& i) {
            return Sizes{i[0], i[2], i[1], i[3]};
          });
    }
  }
  check_move([](Value x) { return transpose(x); }, {300, 700}, {700, 300},
             [](const Sizes& i) {
               return Sizes{i[1], i[0]};
             });
}

BOOST_AUTO_TEST_CASE(copies_of_long_runs_by_several_workers_match_the_scalar_model) {
  // Results above 128 KiB are divided among workers. Runs of whole cache lines, and runs that begin
  // or end within a line.
  for (const std::int64_t run : {64, 65, 80, 128}) {
    check_move(
        [](Value x) {
          return permute(x, {1, 0, 2});
        },
        {90, 40, run}, {40, 90, run},
        [](const Sizes& i) {
          return Sizes{i[1], i[0], i[2]};
        });
    check_move(
        [](Value x) {
          return slice(x, 1, {3, 39});
        },
        {90, 40, run}, {90, 36, run},
        [](const Sizes& i) {
          return Sizes{i[0], i[1] + 3, i[2]};
        });
  }
}

BOOST_AUTO_TEST_CASE(broadcast_flip_and_slice_match_the_scalar_model) {
  check_move(
      [](Value x) {
        return broadcast_to(x, {4, 3, 5});
      },
      {3, 1}, {4, 3, 5},
      [](const Sizes& i) {
        return Sizes{i[1], 0};
      });
  check_move(
      [](Value x) {
        return flip(x, {0, 2});
      },
      {3, 4, 5}, {3, 4, 5},
      [](const Sizes& i) {
        return Sizes{2 - i[0], i[1], 4 - i[2]};
      });
  check_move(
      [](Value x) {
        return slice(x, {{1, {}, 2}, {{}, {}, -1}, {-2, {}}});
      },
      {6, 3, 4}, {3, 3, 2},
      [](const Sizes& i) {
        return Sizes{1 + 2 * i[0], 2 - i[1], 2 + i[2]};
      });
  check_move([](Value x) { return select(x, 1, -1); }, {4, 3}, {4},
             [](const Sizes& i) {
               return Sizes{i[0], 2};
             });
  check_move(
      [](Value x) {
        return pad(x, {{1, 0}, {2, 3}}, {.value = 7});
      },
      {3, 4}, {4, 9},
      [](const Sizes& i) -> std::optional<Sizes> {
        if (i[0] < 1 || i[1] < 2 || i[1] >= 6) return std::nullopt;
        return Sizes{i[0] - 1, i[1] - 2};
      },
      7);
}

BOOST_AUTO_TEST_CASE(composed_shape_functions_match_the_scalar_model) {
  check_move(
      [](Value x) {
        return repeat(x, {2, 3});
      },
      {2, 3}, {4, 9},
      [](const Sizes& i) {
        return Sizes{i[0] % 2, i[1] % 3};
      });
  check_move(
      [](Value x) {
        return repeat(x, {2, 1, 2});
      },
      {3}, {2, 1, 6}, [](const Sizes& i) { return Sizes{i[2] % 3}; });
  check_move([](Value x) { return repeat_interleave(x, 3, 1); }, {2, 2}, {2, 6},
             [](const Sizes& i) {
               return Sizes{i[0], i[1] / 3};
             });
  for (const std::int64_t shift : {-7, -1, 0, 2, 5}) {
    check_move([&](Value x) { return roll(x, shift, 0); }, {5, 2}, {5, 2},
               [&](const Sizes& i) {
                 return Sizes{((i[0] - shift) % 5 + 5) % 5, i[1]};
               });
  }
  check_move([](Value x) { return pixel_shuffle(x, 2); }, {1, 8, 2, 3}, {1, 2, 4, 6},
             [](const Sizes& i) {
               return Sizes{i[0], i[1] * 4 + i[2] % 2 * 2 + i[3] % 2, i[2] / 2, i[3] / 2};
             });
  check_move(
      [](Value x) {
        return stack({x, x}, -1);
      },
      {2, 3}, {2, 3, 2},
      [](const Sizes& i) {
        return Sizes{i[0], i[1]};
      });
  check_move(
      [](Value x) {
        return concat({slice(x, 0, {2}), slice(x, 0, {{}, 2})}, 0);
      },
      {5, 2}, {5, 2},
      [](const Sizes& i) {
        return Sizes{(i[0] + 2) % 5, i[1]};
      });
  for (const std::int64_t k : {-2, 0, 1}) {
    check_move([&](Value x) { return tril(x, k); }, {3, 4}, {3, 4},
               [&](const Sizes& i) -> std::optional<Sizes> {
                 return i[1] <= i[0] + k ? std::optional(i) : std::nullopt;
               });
    check_move([&](Value x) { return triu(x, k); }, {3, 4}, {3, 4},
               [&](const Sizes& i) -> std::optional<Sizes> {
                 return i[1] >= i[0] + k ? std::optional(i) : std::nullopt;
               });
  }
  for (const std::int64_t k :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    const auto kept = [](bool all) {
      return [all](const Sizes& i) { return all ? std::optional(i) : std::nullopt; };
    };
    check_move([&](Value x) { return tril(x, k); }, {3, 4}, {3, 4}, kept(k > 0));
    check_move([&](Value x) { return triu(x, k); }, {3, 4}, {3, 4}, kept(k < 0));
  }
}

BOOST_AUTO_TEST_CASE(all_padding_modes_give_the_expected_values) {
  const auto padded = [](PadMode mode) {
    return elements_of(applied(
        [&](Value x) {
          return pad(x, {{2, 3}}, {.mode = mode});
        },
        counting(4)));
  };
  BOOST_TEST(padded(PadMode::reflect) == (Doubles{2, 1, 0, 1, 2, 3, 2, 1, 0}));
  BOOST_TEST(padded(PadMode::replicate) == (Doubles{0, 0, 0, 1, 2, 3, 3, 3, 3}));
}

BOOST_AUTO_TEST_CASE(slices_follow_python_semantics) {
  const auto cut = [](const Slice& s) {
    return elements_of(applied([&](Value x) { return slice(x, {s}); }, counting(7)));
  };
  BOOST_TEST(cut({}) == (Doubles{0, 1, 2, 3, 4, 5, 6}));
  BOOST_TEST(cut({-3, 100}) == (Doubles{4, 5, 6}));
  BOOST_TEST(cut({1, -1, 2}) == (Doubles{1, 3, 5}));
  BOOST_TEST(cut({{}, {}, -3}) == (Doubles{6, 3, 0}));
  BOOST_TEST(cut({4, 1, -1}) == (Doubles{4, 3, 2}));
  BOOST_TEST(cut({2, {}, -1}) == (Doubles{2, 1, 0}));
  BOOST_TEST(cut({5, 3}).empty());
  BOOST_TEST(cut({-100, 2}) == (Doubles{0, 1}));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                         kLeast = std::numeric_limits<std::int64_t>::min();
  BOOST_TEST(cut({2, {}, kMost}) == (Doubles{2}));
  BOOST_TEST(cut({{}, {}, kLeast}) == (Doubles{6}));
  BOOST_TEST(cut({kLeast, kMost}) == (Doubles{0, 1, 2, 3, 4, 5, 6}));
  BOOST_TEST(cut({kMost, kLeast, -1}) == (Doubles{6, 5, 4, 3, 2, 1, 0}));
  BOOST_TEST(cut({kMost, {}, kMost}).empty());
}

// If a step or start is not used to read any element, it may be an arbitrary integer.
BOOST_AUTO_TEST_CASE(slices_of_at_most_one_element_accept_any_step) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto apply = [](std::string_view op, const std::vector<Tensor>& inputs,
                        const Attributes& attributes) {
    return elements_of(evaluate_op(builtin_ops()->at(op), inputs, attributes)[0]);
  };
  const std::vector<std::int64_t> steps = {kMost, -kMost};
  const Tensor x = sample_indices({3, 2}, 3, 9), one = Tensor::full(DType::i64, {1, 1}, 5);
  BOOST_TEST(
      apply("slice", {x}, {{"starts", Shape{2, 1}}, {"sizes", Shape{1, 1}}, {"steps", steps}}) ==
      (Doubles{x.at(5)}));
  BOOST_TEST(
      apply("slice", {x}, {{"starts", Shape{kMost, 1}}, {"sizes", Shape{0, 1}}, {"steps", steps}})
          .empty());
  BOOST_TEST(apply("unslice", {one},
                   {{"shape", Shape{2, 2}}, {"starts", Shape{1, 0}}, {"steps", steps}}) ==
             (Doubles{0, 0, 5, 0}));
  Doubles added = elements_of(x);
  added[4] += 5;
  BOOST_TEST(apply("slice_add", {x, one}, {{"starts", Shape{2, 0}}, {"steps", steps}}) == added);
}

BOOST_AUTO_TEST_CASE(symbolic_sizes_are_supported) {
  Graph g;
  const Dim seq = g.dim("seq"), batch = g.dim("batch");
  const Value x = g.input("x", DType::f32, {"batch", "seq", 6});
  BOOST_TEST(reshape(x, {"batch", "seq", 2, -1}).shape().str() == "[batch, seq, 2, 3]");
  BOOST_TEST((reshape(x, {-1, 6}).shape() == Shape{batch * seq, 6}));
  BOOST_TEST((flatten(x, 0, 1).shape() == Shape{batch * seq, 6}));
  BOOST_TEST((slice(x, 1, {{}, -1}).shape()[1] == seq - 1));
  BOOST_TEST((slice(x, 1, {{}, 10}).shape()[1] == Dim(10)));
  const Value table = g.input("table", DType::f32, {32, 6});
  BOOST_TEST((slice(table, 0, {0, seq}).shape() == Shape{seq, 6}));
  BOOST_TEST((pad(x, {{0, 0}, {1, seq}, {0, 0}}).shape()[1] == 2 * seq + 1));
  BOOST_TEST((select(x, 1, -1).shape() == Shape{batch, 6}));
  BOOST_TEST(split_equal(x, 3, -1).size() == 3u);
  BOOST_TEST((zeros(g, DType::f32, {batch, 2}).shape() == Shape{batch, 2}));
  BOOST_TEST((roll(x, 1, 1).shape() == x.shape()));
  // The position table is too short; this is an error as soon as the sizes are known.
  const Value rows = slice(table, 0, {0, seq});
  const Value probe = g.input("probe", DType::f32, {"seq"});
  BOOST_CHECK_EXCEPTION(evaluate_graph({rows}, {{table, Tensor::zeros(DType::f32, {32, 6})},
                                                {probe, Tensor::zeros(DType::f32, {40})}}),
                        ShapeError, [](const ShapeError& e) {
                          return std::string_view(e.what()).find("outside [0, 32)") !=
                                 std::string_view::npos;
                        });
}

BOOST_AUTO_TEST_CASE(errors_name_the_line_of_the_call) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 4});
  const Value c = g.input("c", DType::f32, {2, 3});
  BOOST_CHECK_EXCEPTION(reshape(x, {5, -1}), ShapeError,
                        says_here("are not provably divisible by 5"));
  BOOST_CHECK_EXCEPTION(reshape(c, {-1, -1}), ShapeError, says_here("only one size may be -1"));
  BOOST_CHECK_EXCEPTION(reshape(c, {4}), ShapeError, says_here("cannot reshape [2, 3] to [4]"));
  BOOST_CHECK_EXCEPTION(reshape(x, {8}), ShapeError, says_here("cannot be proven equal"));
  BOOST_CHECK_EXCEPTION(squeeze(c, 0), ShapeError, says_here("axis 0 has size 2"));
  BOOST_CHECK_EXCEPTION(unsqueeze(c, 4), ShapeError, says_here("unsqueeze"));
  BOOST_CHECK_EXCEPTION(split(c, {1, 1}, 1), ShapeError,
                        says_here("add up to 2, but axis 1 has 3"));
  BOOST_CHECK_EXCEPTION(split_equal(c, 2, 1), ShapeError, says_here("into 2 equal pieces"));
  BOOST_CHECK_EXCEPTION(select(c, 0, 2), ShapeError, says_here("outside [0, 2)"));
  BOOST_CHECK_EXCEPTION(concat({c, x}, 0), ShapeError, says_here("the other axes must be equal"));
  BOOST_CHECK_EXCEPTION(stack({c, select(c, 0, 0)}), ShapeError, says_here("same shape"));
  BOOST_CHECK_EXCEPTION(permute(c, {0, 0}), ShapeError, says_here("each of the 2 axes"));
  BOOST_CHECK_EXCEPTION(broadcast_to(c, {2, 4}), ShapeError, says_here("neither 1 nor 4"));
  BOOST_CHECK_EXCEPTION(pad(c, {{1, 1}}), ArgumentError,
                        says_here("1 pairs of paddings for 2 axes"));
  BOOST_CHECK_EXCEPTION(pad(c, {{2, 0}, {0, 0}}, {.mode = PadMode::reflect}), ShapeError,
                        says_here("outside [0, 2)"));
  BOOST_CHECK_EXCEPTION(pixel_shuffle(c, 2), ShapeError, says_here("[N, C * 2 * 2, H, W]"));
  BOOST_CHECK_EXCEPTION(tril(select(c, 0, 0)), ShapeError, says_here("at least 2 axes"));
  BOOST_CHECK_EXCEPTION(slice(c, 0, {0, 1, 0}), ArgumentError, says_here("must not be 0"));
  BOOST_CHECK_EXCEPTION(repeat(c, {-1}), ArgumentError, says_here("cannot repeat -1 times"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
