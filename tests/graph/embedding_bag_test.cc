// Bags of ids: both ways to say where they end, gradients, empty bags and mistakes. Values are
// compared with PyTorch's in test_golden.
#include <boost/test/unit_test.hpp>

#include "weft/autodiff/check_gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/ops/sample_data.h"
#include "weft/tests/kit/messages.h"

namespace weft::testing {
namespace {

BOOST_AUTO_TEST_SUITE(embedding_bags)

BOOST_AUTO_TEST_CASE(lengths_and_offsets_say_the_same) {
  Graph g;
  const Value w = g.input("w", DType::f32, {6, 3});
  const Value padded = g.input("padded", DType::i32, {"bags", "longest"});
  const Value lengths = g.input("lengths", DType::i32, {"bags"});
  const Value flat = g.input("flat", DType::i64, {"n"}),
              offsets = g.input("offsets", DType::i64, {"bags"});
  Program program("p");
  for (const BagReduction reduction : {BagReduction::sum, BagReduction::mean}) {
    const std::string name = reduction == BagReduction::sum ? "sum" : "mean";
    program.output("padded." + name,
                   embedding_bag(padded, w, {.reduction = reduction, .lengths = lengths}));
    program.output("flat." + name,
                   embedding_bag(flat, w, {.reduction = reduction, .offsets = offsets}));
  }
  program.output("max",
                 embedding_bag(padded, w, {.reduction = BagReduction::max, .lengths = lengths}));
  program.output("all", embedding_bag(padded, w));
  Session session(g);
  const Results r = session.run(
      program, {{"w", sample_uniform({6, 3}, 1)},
                {"padded", Tensor::of<std::int32_t>({4, 3}, {5, 1, 0, 0, 0, 0, 2, 2, 4, 3, 0, 0})},
                {"lengths", Tensor::of<std::int32_t>({4}, {2, 0, 3, 1})},
                {"flat", Tensor::of<std::int64_t>({6}, {5, 1, 2, 2, 4, 3})},
                {"offsets", Tensor::of<std::int64_t>({4}, {0, 2, 2, 5})}});
  for (const char* name : {"sum", "mean"}) {
    const Tensor a = r[std::string("padded.") + name], b = r[std::string("flat.") + name];
    for (std::int64_t i = 0; i < a.numel(); ++i) BOOST_TEST(std::abs(a.at(i) - b.at(i)) < 1e-6);
    BOOST_TEST(a.at(3) == 0);  // a bag without ids
  }
  BOOST_TEST(r["max"].at(4) == 0);
  BOOST_TEST(r["all"].type_str() == "f32[4, 3]");
}

BOOST_AUTO_TEST_CASE(there_may_be_no_bags_and_no_ids) {
  Graph g;
  const Value w = g.input("w", DType::f32, {6, 3});
  const Value padded = g.input("padded", DType::i32, {"bags", "longest"});
  const Value flat = g.input("flat", DType::i64, {"n"}),
              offsets = g.input("offsets", DType::i64, {"m"});
  Program program("p");
  program.output("padded", embedding_bag(padded, w))
      .output("flat", embedding_bag(flat, w, {.offsets = offsets}));
  Session session(g);
  const Tensor table = sample_uniform({6, 3}, 1);
  const Results r = session.run(program, {{"w", table},
                                          {"padded", Tensor::zeros(DType::i32, {0, 2})},
                                          {"flat", Tensor::zeros(DType::i64, {0})},
                                          {"offsets", Tensor::zeros(DType::i64, {2})}});
  BOOST_TEST(r["padded"].type_str() == "f32[0, 3]");
  BOOST_TEST(r["flat"].type_str() == "f32[2, 3]");
  BOOST_TEST(r["flat"].at(5) == 0);
}

// The mean of a bag of two ids whose length says ten is that of two.
BOOST_AUTO_TEST_CASE(lengths_beyond_the_row_mean_all_of_it) {
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

BOOST_AUTO_TEST_CASE(bags_without_ids_are_zeros_for_every_reduction) {
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

BOOST_AUTO_TEST_CASE(gradients_match_differences) {
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
  check(embedding_bag(reshape(ids, Shape{Dim(6)}), w, {.offsets = lengths - 2}), {w});
}

BOOST_AUTO_TEST_CASE(mistakes_are_named) {
  Graph g;
  const Value w = g.input("w", DType::f32, {6, 3}), ids = g.input("ids", DType::i32, {4, 2});
  const Value flat = g.input("flat", DType::i32, {8}), at = g.input("at", DType::i32, {4});
  const auto refuses = [](auto&& build, const std::string& words) {
    BOOST_CHECK_EXCEPTION(build(), Error, message_contains({words, "embedding_bag_test.cc"}));
  };
  refuses([&] { embedding_bag(flat, w); },
          "ids must be [bags, n], or [n] with offsets, but are i32[8]");
  refuses([&] { embedding_bag(ids, w, {.offsets = at}); },
          "ids must be [n] where there are offsets, but are i32[4, 2]");
  refuses([&] { embedding_bag(flat, at, {.offsets = at}); },
          "weight must be [vocabulary, width], but is i32[4]");
  refuses([&] { embedding_bag(flat, w, {.lengths = at, .offsets = at}); },
          "offsets say where bags end: lengths are for ids [bags, n]");
  refuses([&] { embedding_bag(flat, w, {.reduction = BagReduction::max, .offsets = at}); },
          "there is no maximum by offsets: give ids [bags, n] with lengths");
  refuses(
      [&] {
        embedding_bag(ids, w, {.factors = g.input("f", DType::f32, {4, 2})});
      },
      "factors are for BagReduction::sum");
  refuses([&] { embedding_bag(ids, w, {.lengths = ids}); },
          "lengths must be i32 or i64 [bags], but are i32[4, 2]");
  refuses([&] { embedding_bag(ids, w, {.lengths = g.input("one", DType::i64, {1})}); },
          "lengths must be i32 or i64 [bags], but are i64[1]");
  refuses([&] { embedding_bag(ids, w, {.reduction = BagReduction::sum, .factors = w}); },
          "factors must be of the ids' shape and the weight's dtype, f32[4, 2], but are f32[6, 3]");
  Session session(g);
  BOOST_CHECK_EXCEPTION(
      session.run(Program("p").output("y", embedding_bag(ids, w)),
                  {{"w", sample_uniform({6, 3}, 1)},
                   {"ids", Tensor::of<std::int32_t>({4, 2}, {0, 0, 0, 6, 0, 0, 0, 0})}}),
      DataError, message_contains({"6"}));
  // A first bag that does not begin at 0 leaves ids without one.
  BOOST_CHECK_THROW(session.run(Program("q").output("y", embedding_bag(flat, w, {.offsets = at})),
                                {{"w", sample_uniform({6, 3}, 1)},
                                 {"flat", Tensor::zeros(DType::i32, {8})},
                                 {"at", Tensor::of<std::int32_t>({4}, {1, 2, 3, 4})}}),
                    DataError);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
