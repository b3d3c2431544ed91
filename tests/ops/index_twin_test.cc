// Compares index ops and sorting with their scalar models, forward and backward, for random shapes,
// axes and indices, including duplicate, empty and out-of-range indices.
#include <boost/test/unit_test.hpp>
#include <limits>

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/tests/ops/twin.h"
#include "weft/tests/reference/evaluate_graph.h"

namespace weft::testing {
namespace {

const std::vector<DType> kNumbers = {DType::f32, DType::f64, DType::i64,
                                     DType::i32, DType::i8,  DType::u8};
const std::vector<DType> kIndexedTypes = {DType::f32, DType::f64, DType::bf16,
                                          DType::f16, DType::i64, DType::i32,
                                          DType::i8,  DType::u8,  DType::boolean};

/// Returns small integers, which every dtype represents exactly, so that sums of them are also
/// exact.
Tensor numbers(Choices& c, Sizes sizes, DType dtype) {
  return c.indices(std::move(sizes), 7).to(dtype);
}

struct Places {
  Sizes x;
  std::int64_t axis = 0;
  std::int64_t length() const { return x[static_cast<std::size_t>(axis)]; }
};

/// Returns a random shape and one of its axes. The sizes include 0, 1 and values near the size of a
/// block of columns.
Places random_places(Choices& c) {
  for (;;) {
    Places p;
    const std::int64_t rank = c.within(1, 4);
    for (std::int64_t i = 0; i < rank; ++i) p.x.push_back(c.one_of({0, 1, 2, 3, 5, 17, 64, 65}));
    p.axis = c.within(0, rank - 1);
    if (num_elements(p.x) <= 5000) return p;
  }
}

/// Returns the sizes of the result when indices of sizes `index` are taken from `p`.
Sizes taken(const Places& p, const Sizes& index) {
  Sizes sizes(p.x.begin(), p.x.begin() + p.axis);
  sizes.insert(sizes.end(), index.begin(), index.end());
  sizes.insert(sizes.end(), p.x.begin() + p.axis + 1, p.x.end());
  return sizes;
}

Sizes random_index_sizes(Choices& c, std::int64_t bound) {
  Sizes sizes;
  for (std::int64_t rank = c.within(0, 2); rank > 0; --rank) sizes.push_back(c.within(0, 6));
  if (bound == 0 && num_elements(sizes) > 0) sizes = {0};
  return sizes;
}

Attributes along(std::int64_t axis) { return {{"axis", axis}}; }

}  // namespace

BOOST_AUTO_TEST_SUITE(index_twin)

BOOST_AUTO_TEST_CASE(random_takes_and_adds_match_their_scalar_models) {
  for_random_cases(80, 7000, [](Choices& c) {
    const Places p = random_places(c);
    const Tensor index = c.indices(random_index_sizes(c, p.length()), p.length());
    check_twin("take", {numbers(c, p.x, c.one_of(kIndexedTypes)), index}, along(p.axis));
    const DType dtype = c.one_of(kNumbers);
    const Tensor src = numbers(c, taken(p, index.sizes()), dtype);
    for (const char* op : {"index_add", "index_max", "index_min"}) {
      check_twin(op, {numbers(c, p.x, dtype), index, src}, along(p.axis));
    }
  });
}

BOOST_AUTO_TEST_CASE(random_takes_and_adds_along_an_axis_match_their_scalar_models) {
  for_random_cases(80, 7500, [](Choices& c) {
    const Places p = random_places(c);
    Sizes sizes = p.x;
    sizes[static_cast<std::size_t>(p.axis)] = p.length() == 0 ? 0 : c.within(0, 9);
    const Tensor index = c.indices(sizes, p.length());
    check_twin("take_along_axis", {numbers(c, p.x, c.one_of(kIndexedTypes)), index}, along(p.axis));
    const DType dtype = c.one_of(kNumbers);
    for (const char* op : {"scatter_add", "scatter_max", "scatter_min"}) {
      check_twin(op, {numbers(c, p.x, dtype), index, numbers(c, sizes, dtype)}, along(p.axis));
    }
  });
}

// There are enough indices to split the work into ranges of rows and blocks of columns.
BOOST_AUTO_TEST_CASE(many_indices_match_the_scalar_models) {
  Choices c(7900);
  for (const auto& [x, count] : std::vector<std::pair<Sizes, std::int64_t>>{{{100}, 40000},
                                                                            {{2, 33, 3}, 9000},
                                                                            {{1, 90, 40}, 1500},
                                                                            {{1, 20, 130}, 400},
                                                                            {{0, 20, 3}, 70000}}) {
    Places p{x, x.size() == 1 ? 0 : 1};
    const Tensor index = c.indices({count}, p.length());
    for (const DType dtype : {DType::f32, DType::u8}) {
      check_twin("take", {numbers(c, x, dtype), index}, along(p.axis));
      for (const char* op : {"index_add", "index_max", "index_min"}) {
        check_twin(op, {numbers(c, x, dtype), index, numbers(c, taken(p, {count}), dtype)},
                   along(p.axis));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(random_one_hots_and_blocks_match_their_scalar_models) {
  for_random_cases(60, 8000, [](Choices& c) {
    const std::int64_t classes = c.within(0, 9);
    check_twin("one_hot", {c.indices(random_index_sizes(c, classes), classes)},
               {{"classes", Dim(classes)}, {"dtype", c.one_of(kIndexedTypes)}});
    const Sizes x = random_places(c).x;
    Sizes block;
    std::vector<std::int64_t> start;
    for (const std::int64_t size : x) {
      block.push_back(c.within(0, size));
      start.push_back(c.within(0, size - block.back()));
    }
    Tensor at = Tensor::of<std::int64_t>({static_cast<std::int64_t>(x.size())}, start);
    if (c.chance(0.5)) at = at.to(DType::i32);
    const DType dtype = c.one_of(kIndexedTypes);
    const Tensor whole = numbers(c, x, dtype);
    check_twin("dynamic_slice", {whole, at}, {{"sizes", Shape(block)}});
    check_twin("dynamic_update_slice", {whole, numbers(c, block, dtype), at}, {});
  });
}

BOOST_AUTO_TEST_CASE(random_writes_to_rows_match_the_scalar_model) {
  for_random_cases(80, 8700, [](Choices& c) {
    Sizes x = random_places(c).x, update;
    x.insert(x.begin(), c.within(0, 4));
    const std::int64_t axis = c.within(1, std::ssize(x) - 1), blocks = c.within(0, x[0]);
    const std::int64_t length = x[static_cast<std::size_t>(axis)], added = c.within(0, length);
    update = x;
    update[0] = blocks;
    update[static_cast<std::size_t>(axis)] = added;
    const Tensor start = c.indices({blocks}, length - added + 1);
    // Distinct rows in random order.
    std::vector<std::int64_t> rows;
    for (std::int64_t r = 0; r < x[0]; ++r) rows.insert(rows.begin() + c.within(0, r), r);
    rows.resize(static_cast<std::size_t>(blocks));
    const DType dtype = c.one_of(kIndexedTypes);
    std::vector<Tensor> in = {numbers(c, x, dtype), numbers(c, update, dtype), start};
    if (blocks < x[0] || c.chance(0.5)) in.push_back(Tensor::of<std::int64_t>({blocks}, rows));
    check_twin("tensor_scatter", in, along(axis));
    in[2] = c.chance(0.2) ? Tensor::full(DType::i64, {blocks}, 0x7ffffffffffffc00)
                          : c.indices({blocks}, 3 * length + 1);
    check_twin("tensor_scatter", in, {{"axis", axis}, {"circular", true}});
    // Blocks of several rows: every row of x belongs to one block at most; -1 is not written.
    const std::int64_t columns = c.within(1, 3);
    std::vector<std::int64_t> table;
    for (std::int64_t i = 0; i < blocks * columns; ++i)
      table.push_back(i < std::ssize(rows) && c.chance(0.8) ? rows[static_cast<std::size_t>(i)]
                                                            : -1);
    update[static_cast<std::size_t>(axis)] = c.within(0, columns * length);
    in[1] = numbers(c, update, dtype);
    in[2] = c.indices({blocks}, columns * length - update[static_cast<std::size_t>(axis)] + 1);
    in.resize(3);
    in.push_back(Tensor::of<std::int64_t>({blocks, columns}, table));
    check_twin("tensor_scatter", in, along(axis));
  });
}

BOOST_AUTO_TEST_CASE(random_sorts_match_their_scalar_models) {
  for_random_cases(60, 8500, [](Choices& c) {
    const Places p = random_places(c);
    const DType dtype = c.one_of(kNumbers);
    Tensor x = c.chance(0.5) ? numbers(c, p.x, dtype) : c.uniform(p.x).to(dtype);
    if (dtype == DType::f32 && x.numel() > 0 && c.chance(0.5)) {
      const float odd[] = {NAN, INFINITY, -INFINITY, -0.0f, 0.0f, 1e-44f};
      for (const float value : odd) x.mutable_data<float>()[c.within(0, x.numel() - 1)] = value;
    }
    check_twin("sort", {x}, {{"axis", p.axis}, {"descending", c.chance(0.5)}});
    check_twin("topk", {x},
               {{"k", c.within(0, p.length())}, {"axis", p.axis}, {"largest", c.chance(0.5)}});
  });
}

// The functions also accept negative axes. Their gradients must equal those of the scalar models.
BOOST_AUTO_TEST_CASE(random_gradients_match_scalar_models_of_index_add) {
  for_random_seeds(60, 9000, [](Choices& c) {
    const Places p = random_places(c);
    const int axis = static_cast<int>(p.axis - (c.chance(0.5) ? 0 : std::ssize(p.x)));
    const bool whole_rows = c.chance(0.5);
    Sizes index_sizes;
    if (whole_rows) {
      index_sizes = random_index_sizes(c, p.length());
    } else {
      index_sizes = p.x;
      index_sizes[static_cast<std::size_t>(p.axis)] = p.length() == 0 ? 0 : c.within(0, 5);
    }
    const Tensor index = c.indices(index_sizes, p.length());
    const Tensor x = c.uniform(p.x, DType::f64);
    BOOST_TEST_CONTEXT("axis " << axis << " of " << to_string(p.x) << " at " << index.type_str()) {
      Graph g;
      const Value vx = g.input("x", ValueType{DType::f64, Shape(p.x)});
      const Value vi = g.input("index", ValueType{index.dtype(), Shape(index.sizes())});
      const Value out = whole_rows ? take(vx, vi, axis) : take_along_axis(vx, vi, axis);
      const Tensor weights = c.uniform(out.shape().constant(), DType::f64);
      const Value w = g.input("w", ValueType{DType::f64, out.shape()});
      const Value dx = gradient(sum(out * w), vx);
      const auto got = evaluate_graph({out, dx}, {{vx, x}, {vi, index}, {w, weights}});
      const auto want = scalar_outputs(builtin_ops()->at(whole_rows ? "take" : "take_along_axis"),
                                       {x, index}, along(p.axis));
      BOOST_TEST(difference(got[0], want[0]).value_or("") == "");
      const auto want_dx =
          scalar_outputs(builtin_ops()->at(whole_rows ? "index_add" : "scatter_add"),
                         {Tensor::zeros(DType::f64, p.x), index, weights}, along(p.axis));
      BOOST_TEST(difference(got[1], want_dx[0]).value_or("") == "");
    }
  });
}

// index_add() passes the gradient to both x and the added values; topk() passes it to the selected
// elements only.
BOOST_AUTO_TEST_CASE(random_gradients_of_adds_blocks_and_sorts_match_the_scalar_models) {
  for_random_seeds(60, 9100, [](Choices& c) {
    const Places p = random_places(c);
    const int axis = static_cast<int>(p.axis - (c.chance(0.5) ? 0 : std::ssize(p.x)));
    Sizes index_sizes = p.x;
    index_sizes[static_cast<std::size_t>(p.axis)] = p.length() == 0 ? 0 : c.within(0, 5);
    const Tensor along_index = c.indices(index_sizes, p.length());
    const Tensor index = c.indices(random_index_sizes(c, p.length()), p.length());
    const Tensor x = sample_distinct(p.x, 3).to(DType::f64);
    const Tensor rows = c.uniform(taken(p, index.sizes()), DType::f64);
    const Tensor src = c.uniform(index_sizes, DType::f64), g = c.uniform(p.x, DType::f64);
    const std::int64_t k = c.within(0, p.length());
    const bool largest = c.chance(0.5);

    Graph graph;
    Feed feed;
    const auto input = [&](const char* name, const Tensor& t) {
      const Value v = graph.input(name, ValueType{t.dtype(), Shape(t.sizes())});
      feed[v] = t;
      return v;
    };
    const Value vx = input("x", x), vg = input("g", g);
    const Value vrows = input("rows", rows), vsrc = input("src", src);
    const Value added = index_add(vx, input("index", index), vrows, axis);
    const Value scattered = scatter_add(vx, input("along", along_index), vsrc, axis);
    const Sorted best = topk(vx, k, axis, largest);
    const auto& ops = *builtin_ops();
    const auto same = [&](const Value& v, const NumberTensor& want) {
      BOOST_TEST(difference(evaluate_graph({v}, feed)[0], want).value_or("") == "");
    };
    BOOST_TEST_CONTEXT("axis " << axis << " of " << to_string(p.x) << " at " << index.type_str()
                               << " and " << along_index.type_str() << " k " << k) {
      same(added, scalar_outputs(ops.at("index_add"), {x, index, rows}, along(p.axis))[0]);
      same(gradient(sum(added * vg), vrows),
           scalar_outputs(ops.at("take"), {g, index}, along(p.axis))[0]);
      same(scattered,
           scalar_outputs(ops.at("scatter_add"), {x, along_index, src}, along(p.axis))[0]);
      same(gradient(sum(scattered * vg), vsrc),
           scalar_outputs(ops.at("take_along_axis"), {g, along_index}, along(p.axis))[0]);
      for (const Value& sum_of : {added, scattered}) {
        const Tensor dx = evaluate_graph({gradient(sum(sum_of * vg), vx)}, feed)[0];
        BOOST_TEST(bitwise_equal(dx, g));
      }
      const auto want =
          scalar_outputs(ops.at("topk"), {x}, {{"k", k}, {"axis", p.axis}, {"largest", largest}});
      same(best.values, want[0]);
      same(best.indices, want[1]);
      const Tensor ones = Tensor::full(DType::f64, want[0].sizes, 1);
      same(gradient(sum(best.values), vx),
           scalar_outputs(ops.at("scatter_add"),
                          {Tensor::zeros(DType::f64, p.x), to_tensor(want[1]), ones},
                          along(p.axis))[0]);
    }
  });
}

BOOST_AUTO_TEST_CASE(random_block_gradients_match_the_scalar_models) {
  for_random_seeds(60, 9200, [](Choices& c) {
    const Sizes sizes = random_places(c).x;
    Sizes block;
    std::vector<std::int64_t> place;
    for (const std::int64_t size : sizes) {
      block.push_back(c.within(0, size));
      place.push_back(c.within(0, size - block.back()));
    }
    const Tensor x = c.uniform(sizes, DType::f64), g = c.uniform(sizes, DType::f64);
    const Tensor update = c.uniform(block, DType::f64);
    const Tensor at = Tensor::of<std::int64_t>({static_cast<std::int64_t>(sizes.size())}, place);
    Graph graph;
    const auto input = [&](const char* name, const Tensor& t) {
      return graph.input(name, ValueType{t.dtype(), Shape(t.sizes())});
    };
    const Value vx = input("x", x), vu = input("u", update), vg = input("g", g),
                va = input("at", at);
    const Feed feed{{vx, x}, {vu, update}, {vg, g}, {va, at}};
    const Value written = dynamic_update_slice(vx, vu, va);
    const Value read = dynamic_slice(vx, va, Shape(block));
    const auto d = gradients(sum(written * vg), {vx, vu});
    const auto got = evaluate_graph({d[0], d[1], gradient(sum(read * vu), vx)}, feed);
    const auto& ops = *builtin_ops();
    const Tensor none = Tensor::zeros(DType::f64, sizes), hole = Tensor::zeros(DType::f64, block);
    const Attributes part{{"sizes", Shape(block)}};
    BOOST_TEST_CONTEXT(to_string(block) << " of " << to_string(sizes)) {
      const auto overwritten = scalar_outputs(ops.at("dynamic_update_slice"), {g, hole, at}, {});
      BOOST_TEST(difference(got[0], overwritten[0]).value_or("") == "");
      BOOST_TEST(difference(got[1], scalar_outputs(ops.at("dynamic_slice"), {g, at}, part)[0])
                     .value_or("") == "");
      BOOST_TEST(difference(got[2], scalar_outputs(ops.at("dynamic_update_slice"),
                                                   {none, update, at}, {})[0])
                     .value_or("") == "");
    }
  });
}

BOOST_AUTO_TEST_CASE(all_out_of_range_integers_are_data_errors) {
  const Tensor x = Tensor::zeros(DType::f32, {3, 4});
  const auto refused = [](std::string_view op, const std::vector<Tensor>& in, const Attributes& a) {
    BOOST_CHECK_THROW(evaluate_op(builtin_ops()->at(op), in, a), DataError);
    BOOST_CHECK_THROW(scalar_outputs(builtin_ops()->at(op), in, a), DataError);
  };
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t bad : {std::int64_t{3}, std::int64_t{-1}, std::int64_t{1} << 32,
                                 std::int64_t{1} << 61, kMax, -kMax - 1}) {
    const Tensor one = Tensor::of<std::int64_t>({1}, {bad});
    const Tensor row = Tensor::of<std::int64_t>({1, 4}, {0, 1, bad, 2});
    const Tensor src = Tensor::zeros(DType::f32, {1, 4});
    refused("take", {x, one}, along(0));
    for (const char* op : {"index_add", "index_max", "index_min"}) {
      refused(op, {x, one, src}, along(0));
    }
    refused("take_along_axis", {x, row}, along(0));
    for (const char* op : {"scatter_add", "scatter_max", "scatter_min"}) {
      refused(op, {x, row, src}, along(0));
    }
    refused("one_hot", {one}, {{"classes", Dim(3)}});
    const Tensor start = Tensor::of<std::int64_t>({2}, {bad, 0});
    refused("dynamic_slice", {x, start}, {{"sizes", Shape{1, 2}}});
    refused("dynamic_update_slice", {x, Tensor::zeros(DType::f32, {1, 2}), start}, {});
    const Tensor zero = Tensor::of<std::int64_t>({1}, {0});
    refused("tensor_scatter", {x, Tensor::zeros(DType::f32, {1, 2}), one, zero}, along(1));
    refused("tensor_scatter", {x, Tensor::zeros(DType::f32, {1, 2}), zero, one}, along(1));
    refused("require_offsets", {Tensor::of<std::int64_t>({2}, {0, bad})}, {{"count", Dim(2)}});
    refused("require_offsets", {Tensor::of<std::int64_t>({2}, {bad, 2})}, {{"count", Dim(2)}});
    refused("require_range", {row}, {{"name", std::string("ids")}, {"last", Dim(2)}});
    refused("require_range", {row, Tensor::of<std::int64_t>({1}, {3})},
            {{"name", std::string("ids")}, {"last", Dim(2)}});
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
