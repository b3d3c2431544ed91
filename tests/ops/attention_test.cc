#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "weft/ops/op.h"
#include "weft/ops/sequence/attention_op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/ops/check_attention.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::attention_data_error;
using testing::attention_operands;
using testing::check_attention;
using testing::ints;

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
  std::vector<Tensor> in = attention_operands(2, 4, 2, 131, 261, 9, 17);
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

BOOST_AUTO_TEST_CASE(texts_without_padding_match_the_reference_on_every_simd_target) {
  testing::for_each_simd_target([](const char*) {
    std::vector<Tensor> in = attention_operands(1, 4, 2, 331, 331, 9, 17);
    in[15] = ints({0, 1, 1, 9, 150, 151, 331});
    for (const std::int64_t window : {0, 3, 64, 1000}) {
      for (const bool causal : {false, true}) {
        check_attention(in, {{"scale", 0.3}, {"causal", causal}, {"window", window}}, 1e-5);
      }
    }
    check_attention(in, {{"scale", 0.3}, {"chunk", std::int64_t{50}}, {"soft_cap", 2.0}}, 1e-5);
  });
}

BOOST_AUTO_TEST_CASE(one_text_without_padding_gives_the_bits_of_the_plain_call) {
  std::vector<Tensor> in = attention_operands(1, 2, 1, 200, 200, 16, 16);
  const Attributes attributes{{"scale", 0.3}, {"window", std::int64_t{30}}};
  const auto plain = evaluate_op(builtin_ops()->at("attention"), in, attributes);
  in[15] = ints({0, 0, 200, 200});
  const auto texts = evaluate_op(builtin_ops()->at("attention"), in, attributes);
  for (const std::size_t i : {0, 1}) BOOST_TEST(bitwise_equal(plain[i], texts[i]));
}

BOOST_AUTO_TEST_CASE(keys_of_other_texts_do_not_reach_a_query_even_if_they_are_nan) {
  std::vector<Tensor> in = attention_operands(1, 2, 2, 300, 300, 8, 8);
  in[15] = ints({0, 150, 300});
  const auto clean = evaluate_op(builtin_ops()->at("attention"), in, {{"scale", 0.3}});
  for (const std::size_t i : {1, 2}) {
    Tensor broken = in[i].clone();
    for (std::int64_t head = 0; head < 2; ++head) {
      for (std::int64_t x = 150 * 8; x < 300 * 8; ++x)
        broken.mutable_data<float>()[head * 300 * 8 + x] = std::nanf("");
    }
    in[i] = broken;
  }
  const auto got = evaluate_op(builtin_ops()->at("attention"), in, {{"scale", 0.3}})[0];
  for (std::int64_t head = 0; head < 2; ++head) {
    const std::size_t at = static_cast<std::size_t>(head * 300 * 8);
    BOOST_TEST(std::memcmp(got.data<float>() + at, clean[0].data<float>() + at,
                           150 * 8 * sizeof(float)) == 0);
  }
}

BOOST_AUTO_TEST_CASE(offsets_that_do_not_ascend_from_zero_to_the_end_are_data_errors) {
  std::vector<Tensor> in = attention_operands(1, 2, 2, 5, 5, 3, 3);
  const auto error = [&](Tensor offsets) {
    in[15] = std::move(offsets);
    return attention_data_error(in, false);
  };
  BOOST_TEST(error(ints({0, 2, 5})) == "no error");
  BOOST_TEST(error(ints({1, 5})) == "offsets[0] is 1: the first text must begin at 0");
  BOOST_TEST(error(ints({0, 4, 3, 5})) == "offsets[2] is 3, which is less than offsets[1] = 4");
  BOOST_TEST(error(ints({0, 2, 4})) ==
             "offsets[2], the end of the last text, is 4, but there are 5 queries and keys");
  BOOST_TEST(error(ints({0, 6})) ==
             "offsets[1], the end of the last text, is 6, but there are 5 queries and keys");
  BOOST_TEST(error(ints({0})) ==
             "offsets[0], the end of the last text, is 0, but there are 5 queries and keys");
  BOOST_TEST(error(Tensor::empty(DType::i64, {0})) ==
             "offsets is empty: it must contain the beginning of every text and the end");
}

BOOST_AUTO_TEST_CASE(offsets_of_other_types_or_with_other_operands_are_rejected) {
  using namespace weft::attention_op;
  const auto rejects = [](const std::vector<Tensor>& in, const std::string& message,
                          std::int64_t ring = 0) {
    const Attributes attributes{{"scale", 1.0}, {"ring", Dim(ring)}};
    BOOST_CHECK_EXCEPTION(evaluate_op(builtin_ops()->at("attention"), in, attributes), Error,
                          testing::message_contains({message}));
  };
  const auto with = [](std::size_t operand, Tensor tensor) {
    std::vector<Tensor> in = attention_operands(2, 2, 2, 5, 5, 3, 3);
    in[kOffsets] = ints({0, 2, 5});
    in[operand] = std::move(tensor);
    return in;
  };
  const Tensor each = ints({5, 5});
  rejects(with(kOffsets, Tensor::zeros(DType::f32, {2})), "offsets must be i32 or i64, but is f32");
  rejects(with(kOffsets, Tensor::zeros(DType::i64, {2, 1})),
          "offsets must have 1 axes, but i64[2, 1] has 2");
  rejects(with(kQ, sample_uniform({2, 2, 3, 3}, 1)),
          "with offsets, queries and keys belong to the same texts, but their lengths (axis 2): 3 "
          "and 5 differ");
  rejects(with(kLengths, each), "offsets and lengths cannot be combined");
  rejects(with(kQStart, ints({0, 0})), "offsets and q_start cannot be combined");
  rejects(with(kKvRows, ints({0, 1})), "offsets and kv_rows cannot be combined");
  rejects(with(kLengths, each), "offsets cannot be combined with ring buffers of keys", 5);
}

BOOST_AUTO_TEST_CASE(the_cost_of_texts_counts_only_pairs_within_a_text) {
  const std::vector<Tensor> in = attention_operands(1, 4, 4, 600, 600, 8, 8);
  const auto flops = [&](std::int64_t texts, std::int64_t window) {
    KernelRequest request;
    request.attributes =
        builtin_ops()->at("attention").complete({{"scale", 1.0}, {"window", window}});
    request.inputs.resize(16, {DType::f32, {}, false});
    for (std::size_t i = 0; i < 3; ++i) request.inputs[i] = {DType::f32, in[i].sizes()};
    if (texts > 0) request.inputs[15] = {DType::i64, {texts + 1}};
    return builtin_ops()->at("attention").cost(request).flops;
  };
  BOOST_TEST(flops(6, 0) == flops(0, 0) / 6);
  BOOST_TEST(flops(1, 0) == flops(0, 0));
  BOOST_TEST(flops(6, 20) == flops(0, 20));
}

BOOST_AUTO_TEST_CASE(gradients_of_narrow_operands_match_those_of_widened_ones_bit_for_bit) {
  const auto& ops = *builtin_ops();
  testing::for_each_simd_target([&](const char*) {
    std::vector<OpSample> samples = ops.at("attention_grad_narrow").samples();
    for (const std::int64_t size : {1, 16, 33, 150}) {
      for (const std::int64_t queries : {1, 70, 133}) {
        for (const double cap : {0.0, 2.0}) {
          const std::int64_t batch = size == 33 ? 6 : 2;  // one pass per key head, or two passes
          OpSample sample;
          std::vector<Tensor> in = attention_operands(batch, 4, 2, queries, 133, size, size + 3);
          std::vector<std::int64_t> lengths, starts;
          for (std::int64_t b = 0; b < batch; ++b) {
            lengths.push_back(b % 2 == 0 ? 133 : 71);
            starts.push_back(b % 2 == 0 ? 133 - queries : 0);
          }
          in[10] = ints(lengths);
          in[11] = ints(starts);
          // A large lse, for which probabilities are normalised again.
          in[0] = sample_uniform(in[0].sizes(), 31, -40, 40);
          for (const int i : {0, 1, 2}) in[i] = in[i].to(DType::bf16);
          sample.attributes = {{"scale", 0.9}, {"causal", true}, {"soft_cap", cap}};
          const auto forward = evaluate_op(ops.at("attention_narrow"), in, sample.attributes);
          sample.inputs = {sample_uniform(forward[0].sizes(), 7), forward[0].to(DType::bf16),
                           forward[1]};
          sample.inputs.insert(sample.inputs.end(), in.begin(), in.begin() + 13);
          samples.push_back(std::move(sample));
        }
      }
    }
    for (const OpSample& sample : samples) {
      std::vector<Tensor> wide = sample.inputs;
      for (const int i : {1, 3, 4, 5}) wide[i] = wide[i].to(DType::f32);
      const auto actual =
          evaluate_op(ops.at("attention_grad_narrow"), sample.inputs, sample.attributes);
      const auto expected = evaluate_op(ops.at("attention_grad"), wide, sample.attributes);
      BOOST_TEST_REQUIRE(actual.size() == expected.size());
      for (std::size_t o = 0; o < actual.size(); ++o)
        BOOST_TEST(bitwise_equal(actual[o], expected[o]));
    }
  });
}

BOOST_AUTO_TEST_CASE(gradients_without_queries_need_no_scratch_for_their_operands) {
  const OpRecord& op = builtin_ops()->at("attention_grad_narrow");
  const Attributes attributes = op.complete({{"scale", 0.9}}).evaluate(Bindings{});
  // Returns the scratch for operands of `dtype` with [B, H, Lq] queries and `size` for Lk, D and
  // Dv.
  const auto scratch = [&](DType dtype, const Sizes& queries, std::int64_t size) {
    const std::int64_t B = queries[0], H = queries[1], Lq = queries[2];
    const OperandSpec q{dtype, {B, H, Lq, size}}, k{dtype, {B, H, size, size}};
    const OperandSpec absent{DType::f32, {}, false};
    KernelRequest request;
    request.inputs = {{DType::f32, q.sizes}, q, {DType::f32, queries}, q, k, k};
    request.inputs.resize(attention_op::kGradOffsets + 1, absent);
    request.outputs = {{DType::f32, q.sizes}, {DType::f32, k.sizes}, {DType::f32, k.sizes}};
    request.outputs.resize(op.outputs.size(), absent);
    request.attributes = attributes;
    return op.kernel(request).slot_scratch;
  };
  // Operands without queries are empty, so that their other sizes may exceed any memory.
  const std::int64_t hostile = std::int64_t{1} << 40;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    BOOST_TEST(scratch(dtype, {1, 1, 1}, 1000) > scratch(dtype, {1, 1, 1}, 1));
    for (const Sizes& queries : {Sizes{0, 4, 1000}, Sizes{1, 0, 1000}, Sizes{1, 4, 0}}) {
      BOOST_TEST(scratch(dtype, queries, hostile) == scratch(dtype, {0, 1, 1}, 1));
    }
  }
}

BOOST_AUTO_TEST_CASE(fully_masked_queries_give_zeros) {
  std::vector<Tensor> in = attention_operands(2, 2, 1, 4, 5, 3, 2);
  in[10] = ints({0, 3});
  check_attention(in, {{"scale", 1.0}}, 1e-6);
  in[4] = Tensor::zeros(DType::boolean, {1, 2, 4, 5});
  for (int i = 7; i < 31; ++i) in[4].mutable_data<bool>()[i] = true;
  check_attention(in, {{"scale", 1.0}}, 1e-6);
  check_attention(attention_operands(1, 2, 2, 3, 0, 4, 2), {{"scale", 1.0}}, 0);
  check_attention(attention_operands(1, 1, 1, 5, 2, 4, 2), {{"scale", 1.0}, {"causal", true}},
                  1e-6);
}

BOOST_AUTO_TEST_CASE(soft_caps_sinks_and_chunks_match_the_reference_over_several_blocks) {
  testing::for_each_simd_target([](const char*) {
    std::vector<Tensor> in =
        attention_operands(2, 4, 2, 131, 261, 24, 16);  // Dk != Dv, as in DeepSeek
    in.resize(15);
    const Attributes capped{{"scale", 2.0}, {"causal", true}, {"soft_cap", 3.0}};
    check_attention(in, capped, 1e-5);
    in[14] = sample_uniform({4}, 9);
    check_attention(in, capped, 1e-5);
    for (const std::int64_t chunk : {1, 40, 130, 1000}) {
      check_attention(in, {{"scale", 0.3}, {"causal", true}, {"chunk", chunk}}, 1e-5);
      check_attention(in, {{"scale", 0.3}, {"chunk", chunk}, {"window", std::int64_t{25}}}, 1e-5);
    }
    in[3] = sample_uniform({1, 4, 1, 261}, 4);
    in[5] = sample_uniform({4, 391}, 5);
    check_attention(in, capped, 1e-5);
  });
}

BOOST_AUTO_TEST_CASE(a_sink_takes_part_of_the_attention_and_all_of_it_without_keys) {
  std::vector<Tensor> in = attention_operands(1, 2, 1, 2, 2, 3, 4);
  in.resize(15);
  in[0] = Tensor::zeros(DType::f32, {1, 2, 2, 3});
  in[2] = Tensor::full(DType::f32, {1, 1, 2, 4}, 6);
  in[14] = Tensor::of<float>({2}, {0, -INFINITY});
  const auto out = evaluate_op(builtin_ops()->at("attention"), in, {{"scale", 1.0}});
  BOOST_TEST(std::abs(out[0].at(0) - 4) < 1e-6);  // two keys and the sink have equal scores
  BOOST_TEST(std::abs(out[0].at(8) - 6) < 1e-6);  // exp(-inf) = 0
  BOOST_TEST(std::abs(out[1].at(0) - std::log(3.0)) < 1e-6);
  in[10] = ints({0});
  check_attention(in, {{"scale", 1.0}}, 1e-6);
  const auto masked = evaluate_op(builtin_ops()->at("attention"), in, {{"scale", 1.0}});
  for (int i = 0; i < 16; ++i) BOOST_TEST(masked[0].at(i) == 0);
  BOOST_TEST(masked[1].at(0) == 0);
  BOOST_TEST(masked[1].at(2) == -INFINITY);
}

BOOST_AUTO_TEST_CASE(large_scores_with_a_sink_have_accurate_gradients) {
  for (const double sink : {-2000.0, 1500.0, 3000.0}) {
    std::vector<Tensor> in = attention_operands(1, 2, 2, 3, 5, 4, 4);
    in.resize(15);
    // All scores are exact, so that only lse is rounded.
    for (int i : {0, 1}) in[i] = sample_indices(in[i].sizes(), 7, 5).to(DType::f32);
    in[3] = Tensor::full(DType::f32, {1, 1, 1, 1}, 1500);
    in[14] = Tensor::full(DType::f32, {2}, sink);
    check_attention(in, {{"scale", 0.25}}, 1e-5);
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_many_heads_in_one_pass_have_the_bits_of_two_passes) {
  // 12 key heads are processed in one pass over the tiles; the 6 key heads of one batch row are
  // not.
  std::vector<Tensor> in = attention_operands(2, 12, 6, 131, 261, 9, 17);
  in[3] = sample_uniform({1, 1, 131, 261}, 4);
  in[8] = sample_uniform({2, 12, 261, 3}, 8);
  in[9] = sample_indices({131, 261}, 9, 3);
  in[10] = ints({200, 33});
  for (std::int64_t b = 0; b < 2; ++b) {  // keys beyond lengths are not multiplied, not even by 0
    for (std::int64_t head = 0; head < 6; ++head) {
      for (std::int64_t x = in[10].at(b) == 200 ? 200 * 9 : 33 * 9; x < 261 * 9; ++x)
        in[1].mutable_data<float>()[(b * 6 + head) * 261 * 9 + x] = NAN;
    }
  }
  const auto gradients = [](std::vector<Tensor> operands, const Attributes& attributes) {
    const auto out = evaluate_op(builtin_ops()->at("attention"), operands, attributes);
    const auto cotangent = [&](const Tensor& t) {  // the same for every batch row
      const std::int64_t per_row = t.numel() / t.sizes()[0];
      std::vector<float> values;
      for (std::int64_t i = 0; i < t.numel(); ++i)
        values.push_back(static_cast<float>(i % per_row % 7) - 3);
      return Tensor::of(t.sizes(), values).to(t.dtype());
    };
    std::vector<Tensor> grad_in = {cotangent(out[0]), out[0], out[1]};
    grad_in.insert(grad_in.end(), operands.begin(), operands.begin() + 13);
    grad_in.resize(19);
    return evaluate_op(builtin_ops()->at("attention_grad"), grad_in, attributes);
  };
  testing::for_each_simd_target([&](const char*) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const Attributes& attributes :
           {Attributes{{"scale", 0.3}}, Attributes{{"scale", 0.3}, {"causal", true}},
            Attributes{{"scale", 0.3}, {"causal", true}, {"soft_cap", 2.0}}}) {
        std::vector<Tensor> both = in;
        for (Tensor& t : both) {
          if (t.defined() && t.dtype() == DType::f32) t = t.to(dtype);
        }
        const auto together = gradients(both, attributes);
        for (std::int64_t b = 0; b < 2; ++b) {
          const auto row = [b](const Tensor& t) {
            return evaluate_op(builtin_ops()->at("take"), {t, Tensor::of<std::int64_t>({1}, {b})},
                               {{"axis", std::int64_t{0}}})[0];
          };
          std::vector<Tensor> apart = both;
          for (const std::size_t i : {0, 1, 2, 8, 10}) apart[i] = row(both[i]);
          const auto separate = gradients(apart, attributes);
          for (const std::size_t i : {0, 1, 2, 6}) {
            BOOST_TEST_CONTEXT("gradient " << i << " of row " << b)
            BOOST_TEST(bitwise_equal(row(together[i]), separate[i]));
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(keys_beyond_lengths_are_ignored) {
  std::vector<Tensor> in = attention_operands(1, 1, 1, 3, 5, 4, 4);
  in[10] = ints({3});
  const auto clean = evaluate_op(builtin_ops()->at("attention"), in, {{"scale", 1.0}});
  for (const std::size_t which : {1, 2}) {
    for (int i = 12; i < 20; ++i) in[which].mutable_data<float>()[i] = NAN;
  }
  const auto dirty = evaluate_op(builtin_ops()->at("attention"), in, {{"scale", 1.0}});
  BOOST_CHECK(bitwise_equal(clean[0], dirty[0]));
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_data) {
  std::vector<Tensor> in = attention_operands(2, 1, 1, 3, 5, 4, 4);
  in[10] = ints({5, 6});
  BOOST_CHECK_EQUAL(attention_data_error(in),
                    "lengths[1] is 6, but there are 5 keys: it must be in [0, 5]");
  in[10] = Tensor();
  in[11] = ints({2, 3});
  BOOST_CHECK_EQUAL(
      attention_data_error(in),
      "cache overflow: q_start[1] is 3 and there are 3 queries, but the cache has room "
      "for only 5 keys");
  BOOST_CHECK_EQUAL(attention_data_error(in, false), "no error");
  in[11] = ints({-1, 0});
  BOOST_CHECK_EQUAL(attention_data_error(in), "q_start[0] is -1: it must not be negative");
  in[11] = ints({0, 2});
  in[5] = sample_uniform({1, 8}, 5);
  BOOST_CHECK_EQUAL(
      attention_data_error(in),
      "offset_bias has 8 entries per head, but q_start[1] = 2 with 3 queries and 5 keys "
      "requires 9");
  in[5] = in[11] = Tensor();
  in[6] = sample_uniform({2, 1, 3, 2}, 6);
  in[7] = Tensor::full(DType::i32, {3, 5}, 1);
  in[7].mutable_data<std::int32_t>()[7] = 2;
  BOOST_CHECK_EQUAL(attention_data_error(in),
                    "row_index[1, 2] is 2, but row_bias has 2 entries: it must be in [0, 2)");
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_optional_operands) {
  const auto message = [](std::size_t i, Tensor t) -> std::string {
    std::vector<Tensor> in = attention_operands(2, 4, 2, 3, 5, 6, 7);
    in.resize(15);
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
  BOOST_CHECK_EQUAL(message(14, sample_uniform({2}, 1)), "sinks must have shape [4], but has [2]");
  BOOST_CHECK_EQUAL(message(14, sample_uniform({4}, 1).to(DType::f64)),
                    "sinks must be f32, but is f64; convert it with cast()");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
