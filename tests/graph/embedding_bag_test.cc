// Embedding bags specified by lengths or offsets: values, gradients, empty bags and error messages.
// test_golden compares the values with those of PyTorch.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

BOOST_AUTO_TEST_SUITE(embedding_bags)

BOOST_AUTO_TEST_CASE(lengths_and_offsets_give_the_same_bags) {
  Graph g;
  const Value w = g.input("w", DType::f32, {6, 3});
  const Value padded = g.input("padded", DType::i32, {"bags", "longest"});
  const Value lengths = g.input("lengths", DType::i32, {"bags"});
  const Value flat = g.input("flat", DType::i64, {"n"}),
              offsets = g.input("offsets", DType::i64, {"bags"});
  Program program("p");
  const std::pair<const char*, BagReduction> reductions[] = {
      {"sum", BagReduction::sum}, {"mean", BagReduction::mean}, {"max", BagReduction::max}};
  for (const auto& [kind, reduction] : reductions) {
    const std::string name = kind;
    program.output("padded." + name,
                   embedding_bag(padded, w, {.reduction = reduction, .lengths = lengths}));
    program.output("flat." + name,
                   embedding_bag(flat, w, {.reduction = reduction, .offsets = offsets}));
  }
  program.output("all", embedding_bag(padded, w));
  Session session(g);
  const Results r = session.run(
      program, {{"w", sample_uniform({6, 3}, 1)},
                {"padded", Tensor::of<std::int32_t>({4, 3}, {5, 1, 0, 0, 0, 0, 2, 2, 4, 3, 0, 0})},
                {"lengths", Tensor::of<std::int32_t>({4}, {2, 0, 3, 1})},
                {"flat", Tensor::of<std::int64_t>({6}, {5, 1, 2, 2, 4, 3})},
                {"offsets", Tensor::of<std::int64_t>({4}, {0, 2, 2, 5})}});
  for (const char* name : {"sum", "mean", "max"}) {
    const Tensor a = r[std::string("padded.") + name], b = r[std::string("flat.") + name];
    for (std::int64_t i = 0; i < a.numel(); ++i) BOOST_TEST(std::abs(a.at(i) - b.at(i)) < 1e-6);
    BOOST_TEST(a.at(3) == 0);  // a bag without ids
  }
  BOOST_TEST(r["all"].type_str() == "f32[4, 3]");
}

BOOST_AUTO_TEST_CASE(zero_bags_and_zero_ids_are_valid) {
  Graph g;
  const Value w = g.input("w", DType::f32, {6, 3});
  const Value padded = g.input("padded", DType::i32, {"bags", "longest"});
  const Value flat = g.input("flat", DType::i64, {"n"}),
              offsets = g.input("offsets", DType::i64, {"m"});
  Program program("p");
  program.output("padded", embedding_bag(padded, w))
      .output("flat", embedding_bag(flat, w, {.offsets = offsets}))
      .output("largest",
              embedding_bag(flat, w, {.reduction = BagReduction::max, .offsets = offsets}));
  Session session(g);
  const Tensor table = sample_uniform({6, 3}, 1);
  const Results r = session.run(program, {{"w", table},
                                          {"padded", Tensor::zeros(DType::i32, {0, 2})},
                                          {"flat", Tensor::zeros(DType::i64, {0})},
                                          {"offsets", Tensor::zeros(DType::i64, {2})}});
  BOOST_TEST(r["padded"].type_str() == "f32[0, 3]");
  BOOST_TEST(r["flat"].type_str() == "f32[2, 3]");
  BOOST_TEST(r["flat"].at(5) == 0);
  BOOST_TEST(r["largest"].type_str() == "f32[2, 3]");
  BOOST_TEST(r["largest"].at(5) == 0);
  const Results none = session.run(program, {{"w", table},
                                             {"padded", Tensor::zeros(DType::i32, {0, 2})},
                                             {"flat", Tensor::zeros(DType::i64, {0})},
                                             {"offsets", Tensor::zeros(DType::i64, {0})}});
  BOOST_TEST(none["largest"].type_str() == "f32[0, 3]");
}

// Values and gradients of PyTorch's max kernel, computed in a plain loop. Of equal maxima, the
// first one is selected.
struct LargestRows {
  LargestRows(const Tensor& table, const Tensor& ids, const Tensor& offsets)
      : values(Tensor::zeros(table.dtype(), {offsets.numel(), table.size(1)})),
        gradient(Tensor::zeros(DType::f64, table.sizes())) {
    const std::int64_t width = table.size(1), bags = offsets.numel();
    for (std::int64_t b = 0; b < bags; ++b) {
      const auto begin = static_cast<std::int64_t>(offsets.at(b));
      const auto end = b + 1 < bags ? static_cast<std::int64_t>(offsets.at(b + 1)) : ids.numel();
      for (std::int64_t j = 0; begin < end && j < width; ++j) {
        auto row = static_cast<std::int64_t>(ids.at(begin));
        for (std::int64_t i = begin; i < end; ++i) {
          const auto other = static_cast<std::int64_t>(ids.at(i));
          if (table.at(other * width + j) > table.at(row * width + j)) row = other;
        }
        values.mutable_data<float>()[b * width + j] = static_cast<float>(table.at(row * width + j));
        gradient.mutable_data<double>()[row * width + j] += static_cast<double>(1 + b * width + j);
      }
    }
  }
  Tensor values, gradient;
};

BOOST_AUTO_TEST_CASE(max_by_offsets_matches_a_plain_loop) {
  Graph g;
  const Value w = g.input("w", DType::f32, {"vocabulary", "width"});
  const Value flat = g.input("flat", DType::i32, {"n"}),
              offsets = g.input("offsets", DType::i64, {"bags"});
  const Value factor = g.input("factor", DType::f32, {"bags", "width"});
  const Value y = embedding_bag(flat, w, {.reduction = BagReduction::max, .offsets = offsets});
  const Program program =
      Program("p").output("y", y).output("dw", gradients(sum(y * factor), {w})[0]);
  Session session(g, {.verify = true, .poison = true});
  RandomStream stream{.seed = 5};
  std::uint64_t drawn = 0;
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(stream.word(drawn++) % static_cast<std::uint64_t>(n));
  };
  for (int round = 0; round < 20; ++round) {
    const std::int64_t vocabulary = 1 + below(7), width = 1 + below(4), bags = 1 + below(6);
    std::vector<std::int64_t> begins;
    std::int64_t n = 0;
    for (std::int64_t b = 0; b < bags; ++b) {
      begins.push_back(n);
      n += below(4) == 0 ? 0 : below(20);
    }
    Tensor table = Tensor::empty(DType::f32, {vocabulary, width});
    // There are only a few distinct values, so that some rows are equal.
    for (std::int64_t i = 0; i < table.numel(); ++i) {
      table.mutable_data<float>()[i] = static_cast<float>(below(3) - 1);
    }
    Tensor ids = Tensor::empty(DType::i32, {n});
    for (std::int64_t i = 0; i < n; ++i) {
      ids.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(below(vocabulary));
    }
    Tensor factors = Tensor::empty(DType::f32, {bags, width});
    for (std::int64_t i = 0; i < factors.numel(); ++i) {
      factors.mutable_data<float>()[i] = static_cast<float>(1 + i);
    }
    const Tensor at = Tensor::over(std::span<const std::int64_t>(begins), {bags});
    const LargestRows expected(table, ids, at);
    const Results r =
        session.run(program, {{"w", table}, {"flat", ids}, {"offsets", at}, {"factor", factors}});
    BOOST_TEST(bitwise_equal(r["y"], expected.values));
    BOOST_TEST(bitwise_equal(r["dw"].to(DType::f64), expected.gradient));
  }
}

// If rows tie, lengths and offsets must select the same row for the gradient.
BOOST_AUTO_TEST_CASE(the_first_of_equal_rows_receives_the_gradient) {
  Graph g;
  const Value w = g.input("w", DType::f32, {4, 1});
  const Value padded = g.constant(Tensor::of<std::int32_t>({2, 3}, {2, 1, 3, 3, 0, 1}));
  const Value flat = g.constant(Tensor::of<std::int32_t>({6}, {2, 1, 3, 3, 0, 1}));
  const Value offsets = g.constant(Tensor::of<std::int64_t>({2}, {0, 3}));
  Program program("p");
  const auto add = [&](const char* name, const Value& y) {
    program.output(name, gradients(sum(y), {w})[0]);
  };
  add("padded", embedding_bag(padded, w, {.reduction = BagReduction::max}));
  add("flat", embedding_bag(flat, w, {.reduction = BagReduction::max, .offsets = offsets}));
  const Results r = Session(g).run(program, {{"w", Tensor::of<float>({4, 1}, {-1, 5, 5, 5})}});
  const Tensor expected = Tensor::of<float>({4, 1}, {0, 0, 1, 1});
  BOOST_TEST(bitwise_equal(r["padded"], expected));
  BOOST_TEST(bitwise_equal(r["flat"], expected));
  const float nan = std::nanf("");
  const Program values = Program("values").output(
      "y", embedding_bag(flat, w, {.reduction = BagReduction::max, .offsets = offsets}));
  const Tensor y = Session(g).run(values, {{"w", Tensor::of<float>({4, 1}, {-1, nan, 5, 6})}})["y"];
  BOOST_TEST(std::isnan(y.at(0)));
  BOOST_TEST(std::isnan(y.at(1)));
}

// If a row of two ids has a length of ten, the result is the mean over its two ids.
BOOST_AUTO_TEST_CASE(lengths_beyond_the_row_are_clamped) {
  Graph g;
  const Value w = g.input("w", DType::f32, {3, 1}), ids = g.input("ids", DType::i64, {2, "n"});
  const Value lengths = g.input("lengths", DType::i32, {2});
  Program program("p");
  program.output("mean", embedding_bag(ids, w, {.lengths = lengths}))
      .output("sum", embedding_bag(ids, w, {.reduction = BagReduction::sum, .lengths = lengths}))
      .output("max", embedding_bag(ids, w, {.reduction = BagReduction::max, .lengths = lengths}));
  Session session(g);
  const Results r =
      session.run(program, {{"w", Tensor::of<float>({3, 1}, {1, 3, 8})},
                            {"ids", Tensor::of<std::int64_t>({2, 2}, {0, 1, 2, 1})},
                            {"lengths", Tensor::of<std::int32_t>({2}, {10, 2147483647})}});
  BOOST_CHECK((r["mean"].to_vector<float>() == std::vector<float>{2, 5.5}));
  BOOST_CHECK((r["sum"].to_vector<float>() == std::vector<float>{4, 11}));
  BOOST_CHECK((r["max"].to_vector<float>() == std::vector<float>{3, 8}));
}

BOOST_AUTO_TEST_CASE(empty_bags_are_zero_for_every_reduction) {
  for (const bool symbolic : {false, true}) {
    Graph g;
    const Value w = g.input("w", DType::f32, {6, 3});
    const Value ids = g.input("ids", DType::i32, {2, symbolic ? g.dim("n") : Dim(0)});
    for (const BagReduction reduction :
         {BagReduction::sum, BagReduction::mean, BagReduction::max}) {
      Session session(g);
      const Value bags = embedding_bag(ids, w, {.reduction = reduction});
      const Results r = session.run(
          Program("p").output("bags", bags).output("dw", gradient(sum(bags), w)),
          {{"w", sample_uniform({6, 3}, 1)}, {"ids", Tensor::zeros(DType::i32, {2, 0})}});
      BOOST_CHECK((r["bags"].to_vector<float>() == std::vector<float>(6, 0)));
      BOOST_CHECK((r["dw"].to_vector<float>() == std::vector<float>(18, 0)));
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_match_finite_differences) {
  Graph g;
  const Value w = g.input("w", DType::f32, {5, 2}), f = g.input("f", DType::f32, {2, 3});
  const Value ids = g.constant(Tensor::of<std::int32_t>({2, 3}, {4, 0, 4, 1, 2, 2}));
  const Value lengths = g.constant(Tensor::of<std::int32_t>({2}, {3, 2}));
  const std::vector<std::pair<std::string, Tensor>> feeds = {{"w", sample_distinct({5, 2}, 1)},
                                                             {"f", sample_uniform({2, 3}, 2)}};
  const auto check = [&](Value out, const std::vector<Value>& wrt) {
    const GradientReport report = check_gradients(out, wrt, {.feeds = feeds, .second_order = true});
    BOOST_TEST(report.max_relative_error < 1e-6, report.worst);
  };
  check(embedding_bag(ids, w, {.lengths = lengths}), {w});
  check(embedding_bag(ids, w, {.reduction = BagReduction::max, .lengths = lengths}), {w});
  check(embedding_bag(ids, w, {.reduction = BagReduction::sum, .lengths = lengths, .factors = f}),
        {w, f});
  const Value flat = reshape(ids, Shape{Dim(6)}), offsets = 3 - lengths;
  check(embedding_bag(flat, w, {.offsets = offsets}), {w});
  check(embedding_bag(flat, w, {.reduction = BagReduction::max, .offsets = offsets}), {w});
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_arguments) {
  Graph g;
  const Value w = g.input("w", DType::f32, {6, 3}), ids = g.input("ids", DType::i32, {4, 2});
  const Value flat = g.input("flat", DType::i32, {8}), at = g.input("at", DType::i32, {4});
  const auto refuses = [](auto&& build, const std::string& words) {
    BOOST_CHECK_EXCEPTION(build(), Error, message_contains({words, "embedding_bag_test.cc"}));
  };
  refuses([&] { embedding_bag(flat, w); },
          "ids must be [bags, n], or [n] with offsets, but are i32[8]");
  refuses([&] { embedding_bag(ids, w, {.offsets = at}); },
          "ids must be [n] with offsets, but are i32[4, 2]");
  refuses([&] { embedding_bag(flat, at, {.offsets = at}); },
          "weight must be [vocabulary, width], but is i32[4]");
  refuses([&] { embedding_bag(flat, w, {.lengths = at, .offsets = at}); },
          "lengths cannot be combined with offsets: they require ids [bags, n]");
  refuses(
      [&] {
        embedding_bag(ids, w, {.factors = g.input("f", DType::f32, {4, 2})});
      },
      "factors require BagReduction::sum");
  refuses([&] { embedding_bag(ids, w, {.lengths = ids}); },
          "lengths must be i32 or i64 [bags], but are i32[4, 2]");
  refuses([&] { embedding_bag(ids, w, {.lengths = g.input("one", DType::i64, {1})}); },
          "lengths must be i32 or i64 [bags], but are i64[1]");
  refuses(
      [&] { embedding_bag(ids, w, {.reduction = BagReduction::sum, .factors = w}); },
      "factors must have the shape of ids and the dtype of weight, f32[4, 2], but are f32[6, 3]");
  Session session(g);
  BOOST_CHECK_EXCEPTION(
      session.run(Program("p").output("y", embedding_bag(ids, w)),
                  {{"w", sample_uniform({6, 3}, 1)},
                   {"ids", Tensor::of<std::int32_t>({4, 2}, {0, 0, 0, 6, 0, 0, 0, 0})}}),
      DataError, message_contains({"6"}));
}

// The sum reduction finds the bag of an id by counting the offsets up to that id. Without
// validation, offsets {3, 0} would silently give the result of {0, 3}.
BOOST_AUTO_TEST_CASE(invalid_offsets_are_rejected_for_every_reduction) {
  for (const BagReduction reduction : {BagReduction::sum, BagReduction::mean, BagReduction::max}) {
    Graph g;
    const Value w = g.input("w", DType::f32, {6, 3}), flat = g.input("flat", DType::i32, {"n"});
    const Value at = g.input("at", DType::i32, {"bags"});
    const Variable steps = g.variable("steps", DType::i64, {});
    const Program program =
        Program("p")
            .output("y", embedding_bag(flat, w, {.reduction = reduction, .offsets = at}))
            .update(steps, steps + 1);
    Session session(g);
    const auto run = [&](const std::vector<std::int32_t>& offsets) {
      session.run(program, {{"w", sample_uniform({6, 3}, 1)},
                            {"flat", Tensor::zeros(DType::i32, {8})},
                            {"at", Tensor::of<std::int32_t>({std::ssize(offsets)}, offsets)}});
    };
    const auto refused = [&](const std::vector<std::int32_t>& offsets, const std::string& words) {
      BOOST_CHECK_EXCEPTION(run(offsets), DataError,
                            message_contains({words, "embedding_bag", "embedding_bag_test.cc"}));
    };
    constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
    refused({1, 2, 3, 4}, "offset 1 at position 0 must be 0: the first part begins there");
    refused({-1, 2}, "offset -1 at position 0 must be 0");
    refused({0, 5, 3, 6},
            "offset 3 at position 2 is less than 5 at position 1: offsets must be ascending");
    refused({0, -kMost - 1}, "offset -2147483648 at position 1 is less than 0 at position 0");
    refused({0, 9}, "offset 9 at position 1 is out of range: there are 8 elements");
    refused({0, kMost}, "offset 2147483647 at position 1 is out of range");
    refused({}, "there are no offsets, but 8 elements: the first part begins at offset 0");
    run({0, 0, 8, 8});
    // Rejected runs do not update variables.
    BOOST_TEST(session.value("steps").item<std::int64_t>() == 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
