// Attention over caches: single queries, parts of the keys, narrow and packed keys, rows that
// several queries share, ring buffers.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/ops/check_attention.h"
#include "weft/tests/ops/evaluate_at.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/numbers.h"

namespace weft {
namespace {

using testing::attention_data_error;
using testing::attention_operands;
using testing::check_attention;
using testing::ints;

}  // namespace

BOOST_AUTO_TEST_SUITE(attention_op)

BOOST_AUTO_TEST_CASE(a_single_decoding_query_matches_the_reference) {
  testing::for_each_simd_target([](const char*) {
    for (const std::int64_t size : {1, 5, 16, 20, 64, 150}) {
      for (const std::int64_t keys : {1, 3, 4, 7, 33}) {
        std::vector<Tensor> in = attention_operands(1, 2, 1, 1, keys, size, size + 3);
        check_attention(in, {{"scale", 0.3}}, 1e-5);
        in[10] = ints({(keys + 1) / 2});
        check_attention(in, {{"scale", 0.3}}, 1e-5);
      }
    }
  });
}

// With one key head, parts have 1024 keys.
BOOST_AUTO_TEST_CASE(parts_of_the_keys_of_a_single_query_match_the_reference) {
  testing::for_each_simd_target([](const char*) {
    for (const std::int64_t heads : {1, 3, 70}) {
      std::vector<Tensor> in = attention_operands(3, heads, 1, 1, 2300, 9, 19);
      check_attention(in, {{"scale", 0.3}}, 1e-5);
      in[10] = ints({2300, 1024, 0});
      in[11] = ints({2299, 1023, 5});
      check_attention(in, {{"scale", 0.3}, {"causal", true}}, 1e-5);
      check_attention(in, {{"scale", 0.3}, {"causal", true}, {"window", std::int64_t{1100}}}, 1e-5);
      in[14] = sample_uniform({heads}, 8);
      // No key of the second part is visible.
      in[4] = Tensor::empty(DType::boolean, {3, 1, 1, 2300});
      for (std::int64_t i = 0; i < 3 * 2300; ++i)
        in[4].mutable_data<bool>()[i] = i % 2300 < 1024 || i % 2300 >= 2048;
      check_attention(in, {{"scale", 3.0}, {"soft_cap", 2.0}}, 1e-5);
      std::vector<Tensor> wide = in;
      for (const std::size_t i : {0, 1, 2, 14}) wide[i] = in[i].to(DType::f64);
      check_attention(wide, {{"scale", 3.0}}, 1e-12);
    }
  });
}

BOOST_AUTO_TEST_CASE(a_query_with_a_nan_key_in_one_part_is_nan) {
  std::vector<Tensor> in = attention_operands(1, 2, 1, 1, 2300, 4, 4);
  in[1].mutable_data<float>()[1500 * 4] = NAN;
  const auto out = evaluate_op(builtin_ops()->at("attention"), in, {{"scale", 0.3}});
  for (std::int64_t i = 0; i < 8; ++i) BOOST_TEST(std::isnan(out[0].at(i)));
}

BOOST_AUTO_TEST_CASE(narrow_keys_and_values_match_widened_ones_bit_for_bit_on_every_simd_target) {
  const auto& ops = *builtin_ops();
  testing::for_each_simd_target([&](const char*) {
    std::vector<OpSample> samples = ops.at("attention_narrow").samples();
    for (const std::int64_t size : {1, 5, 16, 33, 64, 150}) {
      for (const std::int64_t queries : {1, 2, 70}) {
        OpSample sample;
        sample.inputs = attention_operands(2, 4, 2, queries, 133, size, size + 3);
        for (const int i : {1, 2}) sample.inputs[i] = sample.inputs[i].to(DType::bf16);
        sample.inputs[10] = ints({133, 71});
        sample.inputs[11] = ints({133 - queries, 0});
        sample.attributes = {{"scale", 0.3}, {"causal", true}};
        samples.push_back(sample);
        sample.inputs[0] = sample.inputs[0].to(DType::bf16);
        samples.push_back(std::move(sample));
      }
    }
    OpSample parts;
    parts.inputs = attention_operands(2, 4, 1, 1, 2300, 9, 19);
    for (const int i : {0, 1, 2}) parts.inputs[i] = parts.inputs[i].to(DType::bf16);
    parts.attributes = {{"scale", 0.3}};
    samples.push_back(std::move(parts));
    for (const OpSample& sample : samples) {
      std::vector<Tensor> wide = sample.inputs;
      if (wide[1].dtype() == DType::i8) continue;
      for (const int i : {0, 1, 2}) wide[i] = wide[i].to(DType::f32);
      const auto actual = evaluate_op(ops.at("attention_narrow"), sample.inputs, sample.attributes);
      const auto expected = evaluate_op(ops.at("attention"), wide, sample.attributes);
      BOOST_TEST(bitwise_equal(actual[0], expected[0]));
      BOOST_TEST(bitwise_equal(actual[1], expected[1]));
    }
  });
}

BOOST_AUTO_TEST_CASE(rows_of_int8_match_their_numbers_on_every_simd_target) {
  const auto& ops = *builtin_ops();
  testing::for_each_simd_target([&](const char*) {
    for (const std::int64_t size : {1, 5, 16, 33, 64, 150}) {
      for (const std::int64_t heads : {2, 4, 12}) {
        for (const std::int64_t queries : {1, 2, 70}) {
          const std::int64_t keys = size == 33 ? 2100 : 133;  // two parts, or one
          std::vector<Tensor> in = attention_operands(2, heads, 2, queries, keys, size, size + 3);
          in[10] = ints({keys, 71});
          in[11] = ints({keys - queries, 0});
          std::vector<Tensor> wide = in;
          for (const int i : {1, 2}) {
            in[i] = evaluate_op(ops.at("pack_int8_rows"), {in[i]}, {})[0];
            wide[i] = evaluate_op(ops.at("unpack_int8_rows"), {in[i]}, {})[0];
          }
          const Attributes attributes{{"scale", 0.3}, {"causal", true}};
          const auto actual = evaluate_op(ops.at("attention_narrow"), in, attributes);
          const auto expected = evaluate_op(ops.at("attention"), wide, attributes);
          for (const std::size_t o : {0, 1})
            BOOST_REQUIRE_SMALL(testing::max_difference(actual[o], expected[o]), 2e-6);
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(rows_of_keys_are_read_without_a_copy_and_must_exist) {
  testing::for_each_simd_target([](const char*) {
    for (const std::int64_t queries : {1, 3, 70}) {
      std::vector<Tensor> in = attention_operands(5, 4, 2, queries, 133, 16, 19);
      in[0] = sample_uniform({3, 4, queries, 16}, 31);
      in.resize(14);
      in[10] = ints({133, 71, 100});
      in[11] = ints({133 - queries, 0, 4});
      in[13] = ints({3, 0, 3});
      check_attention(in, {{"scale", 0.3}, {"causal", true}}, 1e-5);
    }
  });
  std::vector<Tensor> in = attention_operands(2, 1, 1, 1, 3, 4, 4);
  in.resize(14);
  in[13] = ints({0, 2});
  BOOST_TEST(attention_data_error(in) ==
             "kv_rows[1] is 2, but k and v have 2 rows: it must be in [0, 2)");
  in[13] = ints({-1, 0});
  BOOST_TEST(attention_data_error(in) ==
             "kv_rows[0] is -1, but k and v have 2 rows: it must be in [0, 2)");
}

/// Returns blocks of `size` keys with the rows of `keys`, in the order in which `table` [B, C]
/// needs them. All other keys are NaN.
Tensor blocks_of(const Tensor& keys, std::int64_t size, const Tensor& table) {
  const std::int64_t heads = keys.size(1), width = keys.size(3), columns = table.size(1);
  Tensor blocks = Tensor::full(keys.dtype(), {table.numel(), heads, size, width},
                               keys.dtype() == DType::i8 ? 127 : NAN);
  const auto bytes = static_cast<std::size_t>(width) * dtype_size(keys.dtype());
  for (std::int64_t r = 0; r < keys.size(0) * heads; ++r) {
    for (std::int64_t j = 0; j < keys.size(2); ++j) {
      const std::int64_t row = table.data<std::int64_t>()[r / heads * columns + j / size];
      if (row < 0 || row >= table.numel()) continue;
      const std::int64_t to = (row * heads + r % heads) * size + j % size;
      std::memcpy(
          static_cast<std::byte*>(blocks.mutable_raw()) + static_cast<std::size_t>(to) * bytes,
          static_cast<const std::byte*>(keys.raw()) +
              static_cast<std::size_t>(r * keys.size(2) + j) * bytes,
          bytes);
    }
  }
  return blocks;
}

BOOST_AUTO_TEST_CASE(texts_in_blocks_have_the_bits_of_contiguous_texts) {
  testing::for_each_simd_target([](const char*) {
    for (const std::int64_t queries : {1, 3, 70}) {
      for (const std::int64_t size : {3, 16, 64}) {
        for (const char* stored : {"f32", "bf16", "int8"}) {
          std::vector<Tensor> in = attention_operands(3, 4, 2, queries, 192, 24, 19);
          in.resize(15);
          in[10] = ints({192, 71, 100});
          in[11] = ints({192 - queries, 0, 4});
          in[14] = sample_uniform({4}, 8);
          const bool packed = std::string_view(stored) == "int8";
          for (const int i : {1, 2}) {
            if (packed) in[i] = evaluate_op(builtin_ops()->at("pack_int8_rows"), {in[i]}, {})[0];
            if (std::string_view(stored) == "bf16") in[i] = in[i].to(DType::bf16);
          }
          const std::int64_t columns = 192 / size;
          std::vector<std::int64_t> table;
          for (std::int64_t n = 0; n < 3 * columns; ++n) {
            const bool read = n % columns * size < in[10].data<std::int64_t>()[n / columns];
            table.push_back(read ? (n * 7 + 5) % (3 * columns) : n % 2 * 9999 - 1);
          }
          std::vector<Tensor> blocks = in;
          blocks[13] = Tensor::of<std::int64_t>({3, columns}, table);
          for (const int i : {1, 2}) blocks[i] = blocks_of(in[i], size, blocks[13]);
          const char* op = std::string_view(stored) == "f32" ? "attention" : "attention_narrow";
          const Attributes attributes{
              {"scale", 0.3}, {"causal", true}, {"window", std::int64_t{120}}};
          for (const bool invariant : {false, true}) {
            BOOST_TEST_CONTEXT(stored << " queries " << queries << " blocks of " << size) {
              const auto run = [&](const std::vector<Tensor>& operands) {
                return testing::evaluate_at(Precision::highest, op, operands, attributes, -1,
                                            invariant);
              };
              const auto expected = run(in), actual = run(blocks);
              for (const std::size_t o : {0, 1}) BOOST_TEST(bitwise_equal(actual[o], expected[o]));
            }
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(blocks_with_visible_keys_must_exist) {
  std::vector<Tensor> in = attention_operands(2, 1, 1, 1, 4, 4, 4);
  in.resize(14);
  in[10] = ints({8, 5});
  in[11] = ints({7, 4});
  const auto error = [&](const std::vector<std::int64_t>& table) {
    in[13] = Tensor::of<std::int64_t>({2, 3}, table);
    return attention_data_error(in);
  };
  BOOST_TEST(error({0, 1, -1, 1, 0, 99}) == "no error");  // no key of the last column is visible
  BOOST_TEST(error({0, 1, -1, 1, -1, 99}) ==
             "kv_rows[1, 1] is -1, but k and v have 2 rows: it must be in [0, 2)");
  BOOST_TEST(error({2, 1, -1, 1, 0, 99}) ==
             "kv_rows[0, 0] is 2, but k and v have 2 rows: it must be in [0, 2)");
  in[11] = ints({12, 4});
  BOOST_TEST(error({0, 1, -1, 1, 0, 0}) ==
             "cache overflow: q_start[0] is 12 and there are 1 queries, but the cache has room for "
             "only 12 keys");
}

/// Returns a ring buffer of `size` entries with the newest of the first `length` keys of each row.
Tensor ring_of(const Tensor& keys, std::int64_t size, const Tensor& lengths) {
  const std::int64_t heads = keys.size(1), width = keys.size(3);
  Tensor ring = Tensor::full(keys.dtype(), {keys.size(0), heads, size, width}, NAN);
  const auto bytes = static_cast<std::size_t>(width) * dtype_size(keys.dtype());
  for (std::int64_t r = 0; r < keys.size(0) * heads; ++r) {
    for (std::int64_t j = 0; j < lengths.data<std::int64_t>()[r / heads]; ++j) {
      std::memcpy(static_cast<std::byte*>(ring.mutable_raw()) +
                      static_cast<std::size_t>(r * size + j % size) * bytes,
                  static_cast<const std::byte*>(keys.raw()) +
                      static_cast<std::size_t>(r * keys.size(2) + j) * bytes,
                  bytes);
    }
  }
  return ring;
}

BOOST_AUTO_TEST_CASE(ring_buffers_of_the_newest_keys_give_the_results_of_all_keys) {
  const auto& ops = *builtin_ops();
  testing::for_each_simd_target([&](const char*) {
    for (const std::int64_t queries : {1, 2, 5, 70}) {
      for (const std::int64_t window : {1, 7, 64}) {
        for (const bool chunks : {false, true}) {
          std::vector<Tensor> in = attention_operands(3, 4, 2, queries, 300, 24, 19);
          in.resize(15);
          in[4] = sample_indices({3, 1, 1, 300}, 5, 4).to(DType::boolean);
          in[10] = ints({300, queries, 111 + queries});
          in[11] = ints({300 - queries, 0, 111});
          in[14] = sample_uniform({4}, 8);
          const Attributes full{
              {"scale", 0.3}, {"causal", true}, {chunks ? "chunk" : "window", window}};
          Attributes attributes = full;
          attributes.set("ring", Dim(300));
          for (const DType dtype : {DType::f32, DType::bf16}) {
            const char* op = dtype == DType::bf16 ? "attention_narrow" : "attention";
            for (const std::size_t i : {1, 2}) in[i] = in[i].to(dtype);
            const auto expected = evaluate_op(ops.at(op), in, full);
            std::vector<Tensor> ring = in;
            for (const std::size_t i : {1, 2})
              ring[i] = ring_of(in[i], window + queries - 1, in[10]);
            const auto actual = evaluate_op(ops.at(op), ring, attributes);
            BOOST_TEST_CONTEXT(op << " queries " << queries << " window " << window) {
              for (const std::size_t o : {0, 1}) {
                std::vector<double> values;
                for (std::int64_t n = 0; n < expected[o].numel(); ++n)
                  values.push_back(expected[o].at(n));
                testing::check_close(actual[o], values, 2e-6, "ring");
              }
            }
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(queries_whose_keys_a_ring_buffer_no_longer_contains_are_data_errors) {
  std::vector<Tensor> in = attention_operands(1, 2, 2, 2, 4, 3, 3);
  in[10] = ints({9});
  in[11] = ints({7});
  const auto message = [&](std::int64_t window) -> std::string {
    try {
      evaluate_op(builtin_ops()->at("attention"), in,
                  {{"scale", 1.0}, {"causal", true}, {"window", window}, {"ring", Dim(10)}});
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  };
  BOOST_TEST(message(3) == "no error");
  BOOST_TEST(
      message(4) ==
      "row 0 attends to keys 4 to 8 of 9, but k and v are ring buffers of 4 keys: pass fewer "
      "queries at a time, or larger buffers");
  in[10] = ints({2});
  in[11] = ints({0});
  BOOST_TEST(message(0) == "no error");  // the buffer still contains all keys
}

BOOST_AUTO_TEST_CASE(heads_that_share_keys_give_the_bits_of_separate_heads) {
  testing::for_each_simd_target([](const char*) {
    for (const std::int64_t keys : {1, 3, 65, 200}) {
      // 8 rows with groups of 3 heads: the kernel processes the heads of a group together.
      std::vector<Tensor> in = attention_operands(8, 6, 2, 1, keys, 20, 33);
      in[3] = sample_uniform({1, 6, 1, keys}, 4);
      check_attention(in, {{"scale", 0.3}}, 1e-5);
      const auto together = evaluate_op(builtin_ops()->at("attention"), in, {{"scale", 0.3}});
      std::vector<Tensor> apart = in;
      for (const std::size_t i : {1, 2}) {
        const Sizes sizes = in[i].sizes();
        std::vector<float> copies;
        for (std::int64_t head = 0; head < 8 * 6; ++head) {
          const float* from = in[i].data<float>() + head / 3 * sizes[2] * sizes[3];
          copies.insert(copies.end(), from, from + sizes[2] * sizes[3]);
        }
        apart[i] = Tensor::of({8, 6, sizes[2], sizes[3]}, copies);
      }
      const auto separate = evaluate_op(builtin_ops()->at("attention"), apart, {{"scale", 0.3}});
      for (const std::size_t o : {0, 1}) BOOST_TEST(bitwise_equal(together[o], separate[o]));
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
