#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/ops/check_attention.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

using testing::check_attention;

std::vector<Tensor> operands(std::int64_t b, std::int64_t h, std::int64_t hkv, std::int64_t lq,
                             std::int64_t lk, std::int64_t d, std::int64_t dv) {
  std::vector<Tensor> in = {sample_uniform({b, h, lq, d}, 1), sample_uniform({b, hkv, lk, d}, 2),
                            sample_uniform({b, hkv, lk, dv}, 3)};
  in.resize(13);
  return in;
}

std::string data_error(const std::vector<Tensor>& in, bool causal = true) {
  try {
    evaluate_op(builtin_ops()->at("attention"), in, {{"scale", 1.0}, {"causal", causal}});
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

Tensor ints(std::vector<std::int64_t> values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(attention_op)

BOOST_AUTO_TEST_CASE(samples_match_the_reference_on_every_simd_target) {
  testing::for_each_simd_target([](const char*) {
    for (const OpSample& sample : builtin_ops()->at("attention").samples()) {
      check_attention(sample.inputs, sample.attributes, 1e-5);
      std::vector<Tensor> doubles = sample.inputs;
      for (Tensor& t : doubles) {
        if (t.defined() && t.dtype() == DType::f32) t = t.to(DType::f64);
      }
      check_attention(doubles, sample.attributes, 1e-12);
    }
  });
}

BOOST_AUTO_TEST_CASE(several_blocks_of_queries_and_keys_match_the_reference) {
  // More than one block of 64 queries and 128 keys, with partial last blocks, grouped heads and
  // combined options.
  std::vector<Tensor> in = operands(2, 4, 2, 131, 261, 9, 17);
  check_attention(in, {{"scale", 0.3}}, 1e-5);
  check_attention(in, {{"scale", 0.3}, {"causal", true}}, 1e-5);
  check_attention(in, {{"scale", 0.3}, {"causal", true}, {"window", std::int64_t{40}}}, 1e-5);
  in[3] = sample_uniform({1, 4, 131, 261}, 4);
  in[10] = ints({200, 33});
  in[12] = ints({7, 1});
  check_attention(in, {{"scale", 0.3}, {"dropout", 0.25}, {"stream", std::int64_t{2}}}, 1e-5);
  in[3] = sample_uniform({2, 1, 1, 261}, 4);
  in[5] = sample_uniform({4, 600}, 5);
  in[6] = sample_uniform({2, 4, 131, 5}, 6);
  in[7] = sample_indices({131, 261}, 7, 5);
  in[8] = sample_uniform({2, 4, 261, 3}, 8);
  in[9] = sample_indices({131, 261}, 9, 3);
  in[11] = ints({0, 100});
  check_attention(in, {{"scale", 0.3}, {"causal", true}}, 1e-5);
  in[3] = sample_uniform({1, 1, 131, 1}, 4);
  check_attention(in, {{"scale", 0.3}, {"window", std::int64_t{9}}}, 1e-5);
  in[3] = sample_uniform({1, 1, 1, 1}, 4);
  check_attention(in, {{"scale", 0.3}}, 1e-5);
}

BOOST_AUTO_TEST_CASE(a_single_decoding_query_matches_the_reference) {
  testing::for_each_simd_target([](const char*) {
    for (const std::int64_t size : {1, 5, 16, 20, 64, 150}) {
      for (const std::int64_t keys : {1, 3, 4, 7, 33}) {
        std::vector<Tensor> in = operands(1, 2, 1, 1, keys, size, size + 3);
        check_attention(in, {{"scale", 0.3}}, 1e-5);
        in[10] = ints({(keys + 1) / 2});
        check_attention(in, {{"scale", 0.3}}, 1e-5);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(narrow_keys_and_values_match_widened_ones_bit_for_bit_on_every_simd_target) {
  const auto& ops = *builtin_ops();
  testing::for_each_simd_target([&](const char*) {
    std::vector<OpSample> samples = ops.at("attention_narrow").samples();
    for (const std::int64_t size : {1, 5, 16, 33, 64, 150}) {
      for (const std::int64_t queries : {1, 2, 70}) {
        OpSample sample;
        sample.inputs = operands(2, 4, 2, queries, 133, size, size + 3);
        for (const int i : {1, 2}) sample.inputs[i] = sample.inputs[i].to(DType::bf16);
        sample.inputs[10] = ints({133, 71});
        sample.inputs[11] = ints({133 - queries, 0});
        sample.attributes = {{"scale", 0.3}, {"causal", true}};
        samples.push_back(std::move(sample));
      }
    }
    for (const OpSample& sample : samples) {
      std::vector<Tensor> wide = sample.inputs;
      for (const int i : {1, 2}) wide[i] = wide[i].to(DType::f32);
      const auto actual = evaluate_op(ops.at("attention_narrow"), sample.inputs, sample.attributes);
      const auto expected = evaluate_op(ops.at("attention"), wide, sample.attributes);
      BOOST_TEST(bitwise_equal(actual[0], expected[0]));
      BOOST_TEST(bitwise_equal(actual[1], expected[1]));
    }
  });
}

BOOST_AUTO_TEST_CASE(fully_masked_queries_give_zeros) {
  std::vector<Tensor> in = operands(2, 2, 1, 4, 5, 3, 2);
  in[10] = ints({0, 3});
  check_attention(in, {{"scale", 1.0}}, 1e-6);
  in[4] = Tensor::zeros(DType::boolean, {1, 2, 4, 5});
  for (int i = 7; i < 31; ++i) in[4].mutable_data<bool>()[i] = true;
  check_attention(in, {{"scale", 1.0}}, 1e-6);
  check_attention(operands(1, 2, 2, 3, 0, 4, 2), {{"scale", 1.0}}, 0);
  check_attention(operands(1, 1, 1, 5, 2, 4, 2), {{"scale", 1.0}, {"causal", true}}, 1e-6);
}

BOOST_AUTO_TEST_CASE(rows_of_keys_are_read_without_a_copy_and_must_exist) {
  testing::for_each_simd_target([](const char*) {
    for (const std::int64_t queries : {1, 3, 70}) {
      std::vector<Tensor> in = operands(5, 4, 2, queries, 133, 16, 19);
      in[0] = sample_uniform({3, 4, queries, 16}, 31);
      in.resize(14);
      in[10] = ints({133, 71, 100});
      in[11] = ints({133 - queries, 0, 4});
      in[13] = ints({3, 0, 3});
      check_attention(in, {{"scale", 0.3}, {"causal", true}}, 1e-5);
    }
  });
  std::vector<Tensor> in = operands(2, 1, 1, 1, 3, 4, 4);
  in.resize(14);
  in[13] = ints({0, 2});
  BOOST_TEST(data_error(in) == "kv_rows[1] is 2, but k and v have 2 rows: it must be in [0, 2)");
  in[13] = ints({-1, 0});
  BOOST_TEST(data_error(in) == "kv_rows[0] is -1, but k and v have 2 rows: it must be in [0, 2)");
}

BOOST_AUTO_TEST_CASE(keys_beyond_lengths_are_ignored) {
  std::vector<Tensor> in = operands(1, 1, 1, 3, 5, 4, 4);
  in[10] = ints({3});
  const auto clean = evaluate_op(builtin_ops()->at("attention"), in, {{"scale", 1.0}});
  for (const std::size_t which : {1, 2}) {
    for (int i = 12; i < 20; ++i) in[which].mutable_data<float>()[i] = NAN;
  }
  const auto dirty = evaluate_op(builtin_ops()->at("attention"), in, {{"scale", 1.0}});
  BOOST_CHECK(bitwise_equal(clean[0], dirty[0]));
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_data) {
  std::vector<Tensor> in = operands(2, 1, 1, 3, 5, 4, 4);
  in[10] = ints({5, 6});
  BOOST_CHECK_EQUAL(data_error(in), "lengths[1] is 6, but there are 5 keys: it must be in [0, 5]");
  in[10] = Tensor();
  in[11] = ints({2, 3});
  BOOST_CHECK_EQUAL(
      data_error(in),
      "cache overflow: q_start[1] is 3 and there are 3 queries, but the cache has room "
      "for only 5 keys");
  BOOST_CHECK_EQUAL(data_error(in, false), "no error");
  in[11] = ints({-1, 0});
  BOOST_CHECK_EQUAL(data_error(in), "q_start[0] is -1: it must not be negative");
  in[11] = ints({0, 2});
  in[5] = sample_uniform({1, 8}, 5);
  BOOST_CHECK_EQUAL(
      data_error(in),
      "offset_bias has 8 entries per head, but q_start[1] = 2 with 3 queries and 5 keys "
      "requires 9");
  in[5] = in[11] = Tensor();
  in[6] = sample_uniform({2, 1, 3, 2}, 6);
  in[7] = Tensor::full(DType::i32, {3, 5}, 1);
  in[7].mutable_data<std::int32_t>()[7] = 2;
  BOOST_CHECK_EQUAL(data_error(in),
                    "row_index[1, 2] is 2, but row_bias has 2 entries: it must be in [0, 2)");
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_optional_operands) {
  const auto message = [](std::size_t i, Tensor t) -> std::string {
    std::vector<Tensor> in = operands(2, 4, 2, 3, 5, 6, 7);
    in[i] = std::move(t);
    try {
      evaluate_op(builtin_ops()->at("attention"), in, {{"scale", 1.0}});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  BOOST_CHECK_EQUAL(
      message(3, sample_uniform({2, 4, 3, 4}, 1)),
      "bias must broadcast to [batch, heads, queries, keys] = [2, 4, 3, 5], but axis 3 of "
      "[2, 4, 3, 4] is 4");
  BOOST_CHECK_EQUAL(message(4, sample_uniform({1, 1, 3, 5}, 1)),
                    "mask must be bool, but is f32; convert it with cast()");
  BOOST_CHECK_EQUAL(
      message(5, sample_uniform({4, 9}, 1)),
      "offset_bias without q_start must have queries + keys - 1 entries per head: 9 and 7 "
      "differ");
  BOOST_CHECK_EQUAL(message(6, sample_uniform({2, 4, 3, 2}, 1)),
                    "row_bias and row_index must be given together, but only row_bias is given");
  BOOST_CHECK_EQUAL(message(10, ints({1, 2, 3})), "lengths must have shape [2], but has [3]");
  BOOST_CHECK_EQUAL(message(11, sample_uniform({2}, 1)),
                    "q_start must be i32 or i64, but is f32; convert it with cast()");
  BOOST_CHECK_EQUAL(message(12, ints({1, 2, 3})), "key must have shape [2], but has [3]");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
