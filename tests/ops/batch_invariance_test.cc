// Kernels of batch-invariant programs: the bits of a row do not depend on the other rows, on chunks
// of a text, on padding and on caches.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <limits>

#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/ops/sequence/attention_op.h"
#include "weft/testing/close.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/ops/evaluate_at.h"
#include "weft/tests/samples/sample_data.h"

namespace weft::testing {
namespace {

Tensor invariant(std::string_view op, const std::vector<Tensor>& inputs,
                 const Attributes& attributes, Precision precision = Precision::highest,
                 int constant = -1) {
  return evaluate_at(precision, op, inputs, attributes, constant, /*batch_invariant=*/true)[0];
}

/// Returns positions [begin, end) of an axis.
Tensor part(const Tensor& t, int axis, std::int64_t begin, std::int64_t end) {
  Sizes sizes = t.sizes();
  sizes[static_cast<std::size_t>(axis)] = end - begin;
  Tensor result = Tensor::empty(t.dtype(), sizes);
  std::int64_t outer = 1;
  std::size_t inner = dtype_size(t.dtype());
  for (int i = 0; i < axis; ++i) outer *= t.size(i);
  for (int i = axis + 1; i < t.rank(); ++i) inner *= static_cast<std::size_t>(t.size(i));
  const std::size_t bytes = inner * static_cast<std::size_t>(end - begin);
  for (std::int64_t o = 0; o < outer; ++o) {
    std::memcpy(result.mutable_raw() + static_cast<std::size_t>(o) * bytes,
                t.raw() + static_cast<std::size_t>(o * t.size(axis) + begin) * inner, bytes);
  }
  return result;
}

/// Returns `before` and then `t` along an axis.
Tensor joined(const Tensor& before, const Tensor& t, std::int64_t axis) {
  return evaluate_op(builtin_ops()->at("concat"), {before, t}, {{"axis", axis}})[0];
}

/// Checks that the first rows of an op's result have the same bits if only they are given.
template <class Run>
void check_rows_alone(const Tensor& x, const Run& run) {
  const Tensor whole = run(x);
  for (const std::int64_t rows : {1, 2, 3, 4, 7, 8, 9, 16, 17, 32}) {
    if (rows > x.size(0)) break;
    BOOST_TEST_CONTEXT(rows << " of " << x.size(0) << " rows")
    BOOST_TEST(expect_same_bits(run(part(x, 0, 0, rows)), part(whole, 0, 0, rows)));
  }
  const std::int64_t last = x.size(0) - 1;
  BOOST_TEST(expect_same_bits(run(part(x, 0, last, last + 1)), part(whole, 0, last, last + 1)));
}

struct ProductCase {
  std::int64_t m, n, k;
  DType weights = DType::f32;
  Precision precision = Precision::highest;
};

BOOST_AUTO_TEST_SUITE(batch_invariance)

BOOST_AUTO_TEST_CASE(rows_of_products_have_the_same_bits_in_every_batch) {
  const ProductCase cases[] = {
      {33, 1, 5},
      {33, 8, 700},
      {33, 9, 384},
      {33, 33, 385, DType::bf16},
      {33, 100, 801, DType::f16},
      {33, 70, 1200, DType::bf16},
      {70, 64, 1600},   // split-K with many rows
      {40, 16, 14000},  // parts of several blocks of K in ordinary programs
      {33, 400, 800},   // parts of blocks with few rows
      {33, 4500, 70},   // more than one block of columns
      {33, 17, 3, DType::f32},
      {130, 48, 100, DType::bf16, Precision::medium},
      {130, 48, 100, DType::f32, Precision::medium},
      {33, 0, 8},
      {33, 8, 0},
  };
  for_each_simd_target([&](const char* target) {
    for (const ProductCase& c : cases) {
      for (const bool transposed : {false, true}) {
        BOOST_TEST_CONTEXT(target << ": " << c.m << "x" << c.k << "x" << c.n
                                  << (transposed ? ", transposed " : " ")
                                  << dtype_name(c.weights)) {
          const Tensor x = sample_uniform({c.m, c.k}, 1);
          const Tensor w =
              sample_uniform(transposed ? Sizes{c.n, c.k} : Sizes{c.k, c.n}, 2).to(c.weights);
          for (const int constant : {-1, 1}) {
            check_rows_alone(x, [&](const Tensor& rows) {
              return invariant("matmul", {rows, w}, {{"transpose_b", transposed}}, c.precision,
                               constant);
            });
          }
        }
      }
    }
  });
}

// Ordinary programs have a kernel for few rows at `medium`, which sums in another order.
BOOST_AUTO_TEST_CASE(few_rows_of_bfloat16_weights_use_the_engine_of_many_rows_at_medium) {
  const kernels::ForcedBf16Unit forced(kernels::Bf16Unit::emulated_dot);
  const Tensor x = sample_uniform({20, 70}, 1), w = sample_uniform({9, 70}, 2).to(DType::bf16);
  check_rows_alone(x, [&](const Tensor& rows) {
    return invariant("matmul", {rows, w}, {{"transpose_b", true}}, Precision::medium, -1);
  });
}

BOOST_AUTO_TEST_CASE(products_of_doubles_and_of_batches_are_invariant) {
  const Tensor x = sample_uniform({33, 500}, 1).to(DType::f64);
  for (const bool transposed : {false, true}) {
    const Tensor w = sample_uniform(transposed ? Sizes{41, 500} : Sizes{500, 41}, 2);
    for (const DType dtype : {DType::f64, DType::bf16}) {
      check_rows_alone(x, [&, w = w.to(dtype)](const Tensor& rows) {
        return invariant("matmul", {rows, w}, {{"transpose_b", transposed}});
      });
    }
    // One matrix per item: the rows of every item are computed alone.
    const Tensor a = sample_uniform({3, 20, 500}, 3);
    const Tensor b = sample_uniform(transposed ? Sizes{3, 41, 500} : Sizes{3, 500, 41}, 4);
    const Tensor whole = invariant("matmul", {a, b}, {{"transpose_b", transposed}});
    for (const std::int64_t rows : {1, 5, 12}) {
      BOOST_TEST(expect_same_bits(
          invariant("matmul", {part(a, 1, 0, rows), b}, {{"transpose_b", transposed}}),
          part(whole, 1, 0, rows)));
    }
  }
}

BOOST_AUTO_TEST_CASE(invariant_products_are_as_accurate_as_ordinary_ones) {
  for_each_simd_target([](const char* target) {
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{20, 9, 1},
                                  {9, 10, 37},
                                  {13, 67, 769},
                                  {50, 35, 1600},
                                  {200, 300, 100}}) {
      for (const int transposes : {0, 1, 2, 3}) {
        const bool ta = (transposes & 1) != 0, tb = (transposes & 2) != 0;
        BOOST_TEST_CONTEXT(target << ": " << m << "x" << k << "x" << n
                                  << (ta ? ", A transposed" : "") << (tb ? ", B transposed" : "")) {
          const Tensor a = sample_uniform(ta ? Sizes{k, m} : Sizes{m, k}, 1),
                       b = sample_uniform(tb ? Sizes{n, k} : Sizes{k, n}, 2);
          const Attributes attributes = {{"transpose_a", ta}, {"transpose_b", tb}};
          const Tensor a64 = a.to(DType::f64), b64 = b.to(DType::f64);
          const Tensor exact = evaluate_op(builtin_ops()->at("matmul"), {a64, b64}, attributes)[0];
          BOOST_TEST(expect_close(invariant("matmul", {a, b}, attributes), exact,
                                  {.absolute = 5e-5, .relative = 1e-5}));
          const Tensor doubles = invariant("matmul", {a64, b64}, attributes);
          BOOST_TEST(expect_close(doubles, exact, {.absolute = 1e-13, .relative = 1e-13}));
          BOOST_TEST(expect_same_bits(
              invariant("matmul", {a64, b.to(DType::bf16)}, attributes),
              invariant("matmul", {a64, b.to(DType::bf16).to(DType::f64)}, attributes)));
          const Tensor first = part(a, ta ? 1 : 0, 0, 1);
          BOOST_TEST(expect_same_bits(invariant("matmul", {first, b}, attributes),
                                      part(invariant("matmul", {a, b}, attributes), 0, 0, 1)));
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(ordinary_products_of_one_row_differ_from_products_of_many_rows) {
  // Otherwise, the tests above would show nothing.
  const Tensor x = sample_uniform({33, 1200}, 1), w = sample_uniform({70, 1200}, 2);
  const auto product = [&](const Tensor& rows) {
    return evaluate_at(Precision::highest, "matmul", {rows, w}, {{"transpose_b", true}})[0];
  };
  BOOST_TEST(!expect_same_bits(product(part(x, 0, 0, 1)), part(product(x), 0, 0, 1)));
}

BOOST_AUTO_TEST_CASE(invariant_products_have_the_bits_of_ordinary_products_with_few_rows) {
  for_each_simd_target([](const char*) {
    const Tensor x = sample_uniform({33, 1200}, 1);
    for (const bool transposed : {false, true}) {
      const Tensor w = sample_uniform(transposed ? Sizes{300, 1200} : Sizes{1200, 300}, 2);
      const Tensor whole = invariant("matmul", {x, w}, {{"transpose_b", transposed}});
      for (const std::int64_t rows : {1, 8}) {
        const Tensor few = evaluate_at(Precision::highest, "matmul", {part(x, 0, 0, rows), w},
                                       {{"transpose_b", transposed}})[0];
        BOOST_TEST(expect_same_bits(few, part(whole, 0, 0, rows)));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(invariant_products_of_many_rows_have_the_bits_of_ordinary_ones) {
  const Tensor x = sample_uniform({70, 1000}, 1), w = sample_uniform({1000, 90}, 2);
  BOOST_TEST(expect_same_bits(invariant("matmul", {x, w}, {}),
                              evaluate_at(Precision::highest, "matmul", {x, w}, {})[0]));
}

BOOST_AUTO_TEST_CASE(rows_of_quantised_products_have_the_same_bits_in_every_batch) {
  for_each_simd_target([](const char* target) {
    for (const QuantizedFormat format :
         {QuantizedFormat::int8, QuantizedFormat::int4, QuantizedFormat::q8_0}) {
      for (const std::int64_t inputs : {37, 96, 700}) {
        for (const bool transpose : {false, true}) {
          BOOST_TEST_CONTEXT(target << ": " << quantized_format_name(format) << ", " << inputs
                                    << " inputs" << (transpose ? ", transposed" : "")) {
            const QuantizedMatrix m = sample_quantized(format, inputs, 150);
            const std::int64_t depth = transpose ? 150 : inputs, outputs = transpose ? inputs : 150;
            Tensor x = sample_uniform({70, depth}, 3);
            auto* values = x.mutable_data<float>();
            // Rows for which byte dot products, or unscaled weights, cannot be used.
            values[2 * depth + 5] = 1e33f;
            values[4 * depth + 1] = std::numeric_limits<float>::infinity();
            for (std::int64_t i = 0; i < depth; ++i) values[6 * depth + i] *= 1e-36f;
            check_rows_alone(x, [&](const Tensor& rows) {
              return invariant("quantized_matmul", {rows, m.q, m.scale},
                               {{"outputs", outputs}, {"transpose", transpose}});
            });
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(invariant_quantised_products_are_as_accurate_as_ordinary_ones) {
  for (const QuantizedFormat format :
       {QuantizedFormat::int8, QuantizedFormat::int4, QuantizedFormat::q8_0}) {
    const QuantizedMatrix m = sample_quantized(format, 300, 90);
    const Tensor x = sample_uniform({70, 300}, 3);
    const Tensor y = invariant("quantized_matmul", {x, m.q, m.scale}, {{"outputs", 90}});
    const Tensor exact = evaluate_op(
        builtin_ops()->at("quantized_matmul"),
        {x.to(DType::f64), m.q, format == QuantizedFormat::int8 ? m.scale.to(DType::f64) : m.scale},
        {{"outputs", 90}})[0];
    BOOST_TEST(expect_close(y, exact, {.absolute = 2e-5, .relative = 1e-5}));
  }
}

BOOST_AUTO_TEST_CASE(rows_of_grouped_products_do_not_depend_on_the_groups_of_other_rows) {
  for_each_simd_target([](const char*) {
    const std::int64_t depth = 500;
    const Tensor x = sample_uniform({40, depth}, 1);
    const auto sizes = [](std::int64_t first, std::int64_t second) {
      return Tensor::of<std::int64_t>({2}, {first, second});
    };
    for (const bool transposed : {false, true}) {
      const Tensor w = sample_uniform(transposed ? Sizes{2, 60, depth} : Sizes{2, depth, 60}, 2);
      const auto product = [&](const Tensor& rows, const Tensor& groups) {
        return invariant("grouped_matmul", {rows, w, groups}, {{"transpose_w", transposed}});
      };
      const Tensor whole = product(x, sizes(40, 0));
      for (const std::int64_t rows : {1, 5, 9, 20}) {
        BOOST_TEST(expect_same_bits(product(part(x, 0, 0, rows), sizes(rows, 0)),
                                    part(whole, 0, 0, rows)));
        BOOST_TEST(expect_same_bits(part(product(x, sizes(rows, 40 - rows)), 0, 0, rows),
                                    part(whole, 0, 0, rows)));
      }
    }
    const QuantizedMatrix m = sample_quantized(QuantizedFormat::int4, depth, 60);
    const auto stacked = [](const Tensor& t) {
      Sizes one = t.sizes();
      one.insert(one.begin(), 1);
      return joined(t.reshape(one), t.reshape(one), 0);
    };
    const Tensor q = stacked(m.q), scale = stacked(m.scale);
    const auto product = [&](const Tensor& rows, const Tensor& groups) {
      return invariant("quantized_grouped_matmul", {rows, q, scale, groups}, {{"outputs", 60}});
    };
    const Tensor whole = product(x, sizes(40, 0));
    for (const std::int64_t rows : {1, 3, 9, 20}) {
      BOOST_TEST(expect_same_bits(part(product(x, sizes(rows, 40 - rows)), 0, 0, rows),
                                  part(whole, 0, 0, rows)));
    }
  });
}

BOOST_AUTO_TEST_CASE(losses_of_rows_have_the_same_bits_in_every_batch) {
  const Tensor x = sample_uniform({33, 400}, 1), w = sample_uniform({90, 400}, 2);
  const Tensor targets = sample_indices({33}, 3, 90);
  check_rows_alone(x, [&](const Tensor& rows) {
    const std::int64_t first = rows.size(0) == 1 && rows.at(0) != x.at(0) ? 32 : 0;
    return invariant("linear_cross_entropy",
                     {rows, w, Tensor(), part(targets, 0, first, first + rows.size(0))},
                     {{"transpose_weight", true}});
  });
}

BOOST_AUTO_TEST_CASE(sums_of_rows_have_the_same_bits_in_every_batch) {
  const Tensor x = sample_uniform({9, 150000}, 1);
  for (const char* op : {"sum", "mean"}) {
    check_rows_alone(x, [&](const Tensor& rows) {
      return invariant(op, {rows}, {{"axes", std::vector<std::int64_t>{1}}});
    });
  }
}

BOOST_AUTO_TEST_CASE(images_and_rows_of_other_operations_have_the_same_bits_in_every_batch) {
  using Ints = std::vector<std::int64_t>;
  struct Case {
    const char* op;
    Tensor x;
    std::vector<Tensor> more;
    Attributes attributes;
  };
  const Tensor rows = sample_uniform({33, 150}, 1), images = sample_uniform({33, 6, 17, 17}, 2);
  const Tensor gain = sample_uniform({150}, 3);
  const Case cases[] = {
      {"conv2d",
       images,
       {sample_uniform({10, 3, 3, 3}, 4)},
       {{"groups", std::int64_t{2}}, {"padding", Ints{1, 1}}}},
      {"conv2d", images, {sample_uniform({70, 6, 8, 8}, 5)}, {{"stride", Ints{8, 8}}}},
      {"conv2d",
       sample_uniform({9, 32, 12, 15}, 6),
       {sample_uniform({40, 32, 3, 3}, 7)},
       {{"padding", Ints{1, 1}}}},
      {"max_pool2d", images, {}, {{"kernel", Ints{3, 3}}, {"stride", Ints{2, 2}}}},
      {"layer_norm", rows, {gain, gain}, {}},
      {"rms_norm", rows, {gain}, {}},
      {"softmax", rows, {}, {{"axis", std::int64_t{1}}}},
      {"cumsum", rows, {}, {{"axis", std::int64_t{1}}}},
      {"linear_recurrence", rows, {rows}, {{"axis", std::int64_t{1}}}}};
  for_each_simd_target([&](const char* target) {
    for (const Case& c : cases) {
      BOOST_TEST_CONTEXT(target << ": " << c.op)
      check_rows_alone(c.x, [&](const Tensor& x) {
        std::vector<Tensor> inputs = {x};
        for (const Tensor& t : c.more) inputs.push_back(t.sizes() == c.x.sizes() ? x : t);
        return invariant(c.op, inputs, c.attributes);
      });
    }
  });
}

BOOST_AUTO_TEST_CASE(elementwise_operations_compute_an_element_alike_at_every_place) {
  int tested = 0;
  for_each_simd_target([&](const char* target) {
    for (const OpRecord* op : builtin_ops()->all()) {
      if (!op->has(Trait::elementwise) || op->has(Trait::random) || op->samples == nullptr)
        continue;
      for (const OpSample& sample : op->samples()) {
        std::vector<Tensor> inputs;
        for (const Tensor& t : sample.inputs) {
          if (t.defined() && t.dtype() == DType::f32)
            inputs.push_back(sample_uniform({70}, inputs.size() + 1, 0.1, 0.9));
        }
        if (inputs.size() != sample.inputs.size()) continue;
        ++tested;
        const Tensor whole = invariant(op->name, inputs, sample.attributes);
        for (const std::int64_t begin : {0, 1, 6, 69}) {
          for (const std::int64_t end : {1, 4, 17, 39, 70}) {
            if (end <= begin) continue;
            std::vector<Tensor> some;
            for (const Tensor& t : inputs) some.push_back(part(t, 0, begin, end));
            BOOST_TEST(expect_same_bits(invariant(op->name, some, sample.attributes),
                                        part(whole, 0, begin, end)),
                       target << ": " << op->name << ", [" << begin << ", " << end << ")");
          }
        }
        break;
      }
    }
  });
  BOOST_TEST(tested > 50);
}

// -- Attention -----------------------------------------------------------------------------------

/// Causal attention of a text, with 4 query heads that share 2 key heads.
struct Text {
  std::int64_t length;
  DType dtype = DType::f32;
  Tensor q = sample_uniform({1, 4, length, 20}, 1).to(dtype),
         k = sample_uniform({1, 2, length, 20}, 2).to(dtype),
         v = sample_uniform({1, 2, length, 24}, 3).to(dtype);

  /// Attention of queries [begin, end), of which the keys and values of the positions before end
  /// are given.
  Tensor chunk(std::int64_t begin, std::int64_t end) const {
    std::vector<Tensor> in = {part(q, 2, begin, end), part(k, 2, 0, end), part(v, 2, 0, end)};
    in.resize(attention_op::kOperands);
    return run(in);
  }
  Tensor run(std::vector<Tensor> in, Dim ring = Dim(0)) const {
    const bool narrow = in[attention_op::kK].dtype() == DType::bf16;
    return invariant(narrow ? "attention_narrow" : "attention", in,
                     {{"scale", 0.7}, {"causal", true}, {"ring", ring}});
  }
};

BOOST_AUTO_TEST_CASE(attention_of_chunks_has_the_bits_of_attention_of_the_whole_text) {
  for_each_simd_target([](const char*) {
    for (const auto& [length, dtype] : {std::pair<std::int64_t, DType>{1, DType::f32},
                                        {30, DType::f32},
                                        {131, DType::f32},
                                        {131, DType::bf16}}) {
      Text text{length};
      for (Tensor* operand : {&text.q, &text.k, &text.v}) *operand = operand->to(dtype);
      const Tensor whole = text.chunk(0, length);
      for (const std::int64_t step : {1, 3, 7, 64, 100}) {
        for (std::int64_t begin = 0; begin < length; begin += step) {
          const std::int64_t end = std::min(length, begin + step);
          const Tensor chunk = text.chunk(begin, end);
          BOOST_TEST_REQUIRE(expect_same_bits(chunk, part(whole, 2, begin, end)));
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(masked_keys_before_and_after_a_text_change_no_bits_of_attention) {
  for_each_simd_target([](const char*) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const std::int64_t length = 75;
      const Text text{length, dtype};
      const Tensor whole = text.chunk(0, length);
      for (const std::int64_t before : {1, 3, 16, 70, 500}) {
        const std::int64_t after = 5, padded = before + length + after;
        const auto pad = [&](const Tensor& t) {
          Sizes left = t.sizes(), right = t.sizes();
          left[2] = before, right[2] = after;
          return joined(joined(sample_uniform(left, 7).to(dtype), t, 2),
                        sample_uniform(right, 8).to(dtype), 2);
        };
        std::vector<Tensor> in = {pad(text.q), pad(text.k), pad(text.v)};
        in.resize(attention_op::kOperands);
        Tensor mask = Tensor::zeros(DType::boolean, {1, 1, 1, padded});
        std::fill_n(mask.mutable_data<bool>() + before, length, true);
        in[attention_op::kMask] = mask;
        BOOST_TEST_CONTEXT(before << " masked keys")
        BOOST_TEST(expect_same_bits(part(text.run(in), 2, before, before + length), whole));
        // Padding after the text by its length.
        std::vector<Tensor> right = {part(in[0], 2, before, padded), part(in[1], 2, before, padded),
                                     part(in[2], 2, before, padded)};
        right.resize(attention_op::kOperands);
        right[attention_op::kLengths] = Tensor::of<std::int64_t>({1}, {length});
        BOOST_TEST(expect_same_bits(part(text.run(right), 2, 0, length), whole));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(texts_without_padding_have_the_bits_of_attention_of_each_text) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::int64_t> ends = {0, 5, 26, 27, 90, 90, 101};
  const std::int64_t tokens = ends.back(), heads = 3;
  for (const std::int64_t size : {19, 32}) {
    Tensor q = sample_uniform({1, heads, tokens, size}, 1), k = sample_uniform(q.sizes(), 2),
           v = sample_uniform(q.sizes(), 3);
    for (std::int64_t h = 0; h < heads; ++h)  // a key and a value of the second text
      for (Tensor* t : {&k, &v}) t->mutable_data<float>()[(h * tokens + 9) * size + 1] = nan;
    const auto attention = [&](std::int64_t begin, std::int64_t end, bool together) {
      std::vector<Tensor> in;
      for (const Tensor& t : {q, k, v}) in.push_back(part(t, 2, begin, end));
      in.resize(attention_op::kOperands);
      if (together) in[attention_op::kOffsets] = Tensor::of({std::ssize(ends)}, ends);
      return invariant("attention", in, {{"scale", 0.7}, {"window", 12}});
    };
    const Tensor all = attention(0, tokens, true);
    for (std::size_t t = 0; t + 1 < ends.size(); ++t) {
      if (t == 1 || ends[t] == ends[t + 1]) continue;
      BOOST_TEST_CONTEXT("text " << t << ", size " << size)
      BOOST_TEST(expect_same_bits(attention(ends[t], ends[t + 1], false),
                                  part(all, 2, ends[t], ends[t + 1])));
    }
  }
}

BOOST_AUTO_TEST_CASE(attention_over_caches_has_the_bits_of_recomputed_keys) {
  for_each_simd_target([](const char*) {
    const std::int64_t length = 90, capacity = 128;
    Text text{length};
    for (const bool narrow : {false, true}) {
      if (narrow) {
        // A bfloat16 cache of the same numbers.
        text.k = text.k.to(DType::bf16).to(DType::f32);
        text.v = text.v.to(DType::bf16).to(DType::f32);
      }
      const Tensor whole = text.chunk(0, length);
      const auto cache = [&](const Tensor& t) {
        Sizes rest = t.sizes();
        rest[2] = capacity - length;
        const Tensor all = joined(t, sample_uniform(rest, 9), 2);
        return narrow ? all.to(DType::bf16) : all;
      };
      for (const std::int64_t step : {1, 5, 40}) {
        for (std::int64_t begin = 0; begin < length; begin += step) {
          const std::int64_t end = std::min(length, begin + step);
          std::vector<Tensor> in = {part(text.q, 2, begin, end), cache(text.k), cache(text.v)};
          in.resize(attention_op::kOperands);
          in[attention_op::kQStart] = Tensor::of<std::int64_t>({1}, {begin});
          in[attention_op::kLengths] = Tensor::of<std::int64_t>({1}, {end});
          BOOST_TEST_REQUIRE(expect_same_bits(text.run(in), part(whole, 2, begin, end)));
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(a_single_query_with_many_keys_has_the_bits_of_the_whole_text) {
  for_each_simd_target([](const char*) {
    const Text text{5000};
    BOOST_TEST(expect_same_bits(text.chunk(4999, 5000), part(text.chunk(4997, 5000), 2, 2, 3)));
  });
}

BOOST_AUTO_TEST_CASE(invariant_attention_is_as_accurate_as_ordinary_attention) {
  const Text text{300};
  std::vector<Tensor> in = {text.q, text.k, text.v};
  in.resize(attention_op::kOperands);
  std::vector<Tensor> doubles = in;
  for (Tensor& t : doubles) {
    if (t.defined()) t = t.to(DType::f64);
  }
  const Tensor exact =
      evaluate_op(builtin_ops()->at("attention"), doubles, {{"scale", 0.7}, {"causal", true}})[0];
  BOOST_TEST(expect_close(text.run(in), exact, {.absolute = 2e-6, .relative = 2e-6}));
  BOOST_TEST(expect_close(text.run(doubles), exact, {.absolute = 1e-13, .relative = 1e-13}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
