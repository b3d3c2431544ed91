#include "weft/serialization/gguf/blocks.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "weft/core/error.h"
#include "weft/ops/op.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::check_error;

const std::string kBlocks = std::string(WEFT_FIXTURES) + "/gguf/blocks.gguf";

/// Returns a tensor with random bits in all blocks, without scales that are not finite.
GgufTensor random_blocks(GgmlType type, Sizes sizes, std::uint64_t seed) {
  const std::int64_t bytes =
      num_elements(sizes) / ggml_block_elements(type) * ggml_block_bytes(type);
  Tensor data = Tensor::empty(DType::u8, {bytes});
  const Tensor random = sample_indices({bytes}, seed, 256);
  for (std::int64_t i = 0; i < bytes; ++i)
    data.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(random.at(i));
  for (std::int64_t i = 1; i < bytes; i += ggml_block_bytes(type))
    data.mutable_data<std::uint8_t>()[i] &= 0xBB;
  return {"w", type, std::move(sizes), std::move(data)};
}

BOOST_AUTO_TEST_SUITE(gguf_blocks)

BOOST_AUTO_TEST_CASE(values_of_every_encoding_have_the_expected_bits) {
  const GgufFile file = read_gguf(kBlocks);
  int encodings = 0, special = 0;
  for (const GgufTensor& tensor : file.tensors) {
    const GgufTensor* expected = file.find(tensor.name + ".values");
    if (expected == nullptr) continue;
    ++encodings;
    const Tensor values = widened(tensor), wanted = widened(*expected);
    BOOST_TEST((values.dtype() == ggml_widened_dtype(tensor.type)));
    const Tensor floats = values.to(DType::f32);
    BOOST_REQUIRE((floats.sizes() == wanted.sizes()));
    for (std::int64_t i = 0; i < floats.numel(); ++i) {
      const float a = floats.data<float>()[i], b = wanted.data<float>()[i];
      if (!std::isfinite(b)) ++special;
      if (std::isnan(b)) {
        BOOST_REQUIRE(std::isnan(a));
        continue;
      }
      BOOST_TEST_CONTEXT(tensor.name << " element " << i)
      BOOST_REQUIRE(std::memcmp(&a, &b, sizeof(float)) == 0);
    }
  }
  BOOST_TEST(encodings == 11);
  BOOST_TEST(special > 100);
}

BOOST_AUTO_TEST_CASE(tensors_without_blocks_are_views_of_the_file) {
  const GgufFile file = read_gguf(kBlocks);
  for (const char* name : {"f16", "bf16", "q4_0.values"}) {
    const GgufTensor& tensor = *file.find(name);
    const Tensor values = widened(tensor);
    BOOST_TEST(values.raw() == tensor.data.raw());
    BOOST_CHECK_THROW(Tensor(values).mutable_raw(), StateError);
  }
}

BOOST_AUTO_TEST_CASE(repacked_matrices_have_the_values_of_the_blocks_and_give_back_their_bytes) {
  for (const GgmlType type : {GgmlType::q8_0, GgmlType::q4_0, GgmlType::q5_0}) {
    for (const Sizes& sizes : {Sizes{1, 32}, {16, 64}, {37, 96}, {300, 1024}, {0, 32}, {5, 0}}) {
      const GgufTensor tensor = random_blocks(type, sizes, 7);
      const QuantizedMatrix m = repacked(tensor);
      const Tensor floats =
          evaluate_op(builtin_ops()->at("dequantize"), {m.q, m.scale},
                      {{"inputs", sizes[1]}, {"outputs", sizes[0]}, {"transposed", true}})[0];
      BOOST_TEST(bitwise_equal(floats, widened(tensor)));
      if (type == GgmlType::q5_0) continue;
      const GgufTensor back = encoded("w", m, sizes[1], sizes[0]);
      BOOST_TEST((back.type == type));
      BOOST_TEST((back.sizes == sizes));
      BOOST_TEST(bitwise_equal(back.data, tensor.data));
    }
  }
}

BOOST_AUTO_TEST_CASE(mxfp4_matrices_are_repacked_if_their_scales_are_f16_numbers) {
  GgufTensor tensor = random_blocks(GgmlType::mxfp4, {5, 192}, 11);
  auto* const bytes = tensor.data.mutable_data<std::uint8_t>();
  const std::int64_t blocks = tensor.data.numel() / 17;
  for (std::int64_t b = 0; b < blocks; ++b)
    bytes[b * 17] = static_cast<std::uint8_t>(b == 0 ? 143 : 104 + b);
  bytes[17] = 255;  // the scale of a block of zeros, half of which are negative
  for (std::int64_t i = 18; i < 34; ++i) bytes[i] = 0x80;
  BOOST_TEST((lossless_format(tensor) == QuantizedFormat::q8_0));
  const QuantizedMatrix m = repacked(tensor);
  const Tensor floats = evaluate_op(
      builtin_ops()->at("dequantize"), {m.q, m.scale},
      {{"inputs", std::int64_t{192}}, {"outputs", std::int64_t{5}}, {"transposed", true}})[0];
  BOOST_TEST(bitwise_equal(floats, widened(tensor).to(DType::f32)));
  for (const std::uint8_t exponent : {0, 103, 144, 255}) {
    bytes[0] = exponent;
    BOOST_TEST(!lossless_format(tensor).has_value());
    check_error<ArgumentError>([&] { repacked(tensor); },
                               {"tensor 'w' is MXFP4, which no format of quantised matrices"});
  }
  BOOST_TEST(!lossless_format(GgmlType::mxfp4).has_value());
}

BOOST_AUTO_TEST_CASE(special_scales_and_levels_survive_repacking) {
  const GgufFile file = read_gguf(kBlocks);  // scales that are infinite, NaN and subnormal
  for (const char* name : {"q8_0", "q4_0"}) {
    const GgufTensor& tensor = *file.find(name);
    const GgufTensor back =
        encoded(tensor.name, repacked(tensor), tensor.sizes[1], tensor.sizes[0]);
    BOOST_TEST(bitwise_equal(back.data, tensor.data));
  }
}

BOOST_AUTO_TEST_CASE(stacks_of_matrices_are_repacked_matrix_by_matrix) {
  for (const GgmlType type : {GgmlType::q8_0, GgmlType::q4_0}) {
    const GgufTensor stack = random_blocks(type, {3, 20, 64}, 9);
    const QuantizedMatrix m = repacked(stack);
    BOOST_TEST(m.q.size(0) == 3);
    BOOST_TEST(m.scale.size(0) == 3);
    for (std::int64_t i = 0; i < 3; ++i) {
      const std::int64_t bytes = stack.data.numel() / 3;
      const GgufTensor one{"w",
                           type,
                           {20, 64},
                           Tensor::view(DType::u8, {bytes}, stack.data.buffer(),
                                        static_cast<std::size_t>(i * bytes))};
      const QuantizedMatrix expected = repacked(one);
      BOOST_TEST(std::memcmp(expected.q.raw(),
                             m.q.raw() + i * static_cast<std::int64_t>(expected.q.bytes()),
                             expected.q.bytes()) == 0);
      BOOST_TEST(std::memcmp(expected.scale.raw(),
                             m.scale.raw() + i * static_cast<std::int64_t>(expected.scale.bytes()),
                             expected.scale.bytes()) == 0);
    }
    const GgufTensor back = encoded("w", m, 64, 20);
    BOOST_TEST((back.sizes == stack.sizes));
    BOOST_TEST(bitwise_equal(back.data, stack.data));
  }
}

BOOST_AUTO_TEST_CASE(weights_are_encoded_like_quantised_matrices) {
  const Tensor w = sample_uniform({6, 64}, 3);
  for (const auto& [type, format] : {std::pair(GgmlType::q8_0, QuantizedFormat::q8_0),
                                     {GgmlType::q4_0, QuantizedFormat::int4}}) {
    const GgufTensor tensor = encoded("w", w, type);
    const QuantizedMatrix expected = quantize_matrix(w, format, true);
    const QuantizedMatrix m = repacked(tensor);
    BOOST_TEST(bitwise_equal(m.q, expected.q));
    BOOST_TEST(bitwise_equal(m.scale, expected.scale));
    BOOST_TEST(bitwise_equal(encoded("w", w.reshape({2, 3, 64}), type).data, tensor.data));
    BOOST_TEST((encoded("w", w.reshape({2, 3, 64}), type).sizes == Sizes{2, 3, 64}));
    const Tensor narrow = w.to(DType::bf16);
    BOOST_TEST(bitwise_equal(encoded("w", narrow, type).data,
                             encoded("w", narrow.to(DType::f32), type).data));
    BOOST_TEST(encoded("w", Tensor::zeros(DType::f32, {0, 64}), type).data.numel() == 0);
    BOOST_TEST(encoded("w", Tensor::zeros(DType::f32, {4, 0}), type).data.numel() == 0);
  }
  for (const GgmlType type : {GgmlType::f32, GgmlType::f16, GgmlType::bf16}) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const Tensor values = widened(encoded("w", w.to(dtype), type));
      BOOST_TEST(bitwise_equal(values, w.to(dtype).to(ggml_widened_dtype(type))));
    }
  }
  // No copy if the dtype is already the right one.
  BOOST_TEST(encoded("w", w, GgmlType::f32).data.raw() == w.raw());
}

BOOST_AUTO_TEST_CASE(tensors_that_cannot_be_encoded_are_rejected) {
  const Tensor w = sample_uniform({4, 40}, 3), good = sample_uniform({4, 32}, 3);
  check_error<ShapeError>([&] { encoded("w", w, GgmlType::q8_0); },
                          {"tensor 'w' has rows of 40 elements, which are not a multiple of the 32 "
                           "in a block of Q8_0: store it as F16 or F32"});
  check_error<ShapeError>([&] { encoded("w", sample_uniform({32}, 3), GgmlType::q4_0); },
                          {"tensor 'w' is f32[32], but Q4_0 is for matrices: store it as F32"});
  check_error<ArgumentError>([&] { encoded("w", good, GgmlType::q6_k); },
                             {"tensor 'w' cannot be written as Q6_K (possible: F32, F16, BF16, "
                              "Q8_0, Q4_0)"});
  check_error<DTypeError>([&] { encoded("w", good.to(DType::i32), GgmlType::f32); },
                          {"tensor 'w' is i32[4, 32]: only f32, f16 and bf16 tensors"});
  Tensor large = good.clone();
  large.mutable_data<float>()[35] = 1e9F;
  check_error<DataError>([&] { encoded("w", large, GgmlType::q8_0); },
                         {"tensor 'w': weight [1, 3] is 1000000000: q8_0 can represent at most"});
  check_error<DataError>([&] { encoded("w", large, GgmlType::f16); },
                         {"tensor 'w' contains 1000000000: F16 can represent at most 65504"});
  large.mutable_data<float>()[35] = INFINITY;  // stays infinite
  BOOST_TEST(std::isinf(widened(encoded("w", large, GgmlType::f16)).at(35)));

  const QuantizedMatrix int8 = quantize_matrix(good, QuantizedFormat::int8, true);
  check_error<ArgumentError>([&] { encoded("w", int8, 32, 4); },
                             {"tensor 'w' is int8 with one scale per output, which GGUF files "
                              "cannot represent"});
  const QuantizedMatrix odd = quantize_matrix(w, QuantizedFormat::q8_0, true);
  check_error<ShapeError>([&] { encoded("w", odd, 40, 4); }, {"rows of 40 elements"});
  const QuantizedMatrix m = quantize_matrix(good, QuantizedFormat::q8_0, true);
  check_error<ShapeError>([&] { encoded("w", m, 64, 4); },
                          {"tensor 'w': q i8[1, 8, 16, 4] and scale f16[1, 1, 16] are no q8_0 "
                           "matrix [64, 4]"});
  check_error<ArgumentError>(
      [&] { repacked(encoded("w", good, GgmlType::f32)); },
      {"tensor 'w' is F32, which no format of quantised matrices represents: "
       "use widened()"});
  check_error<ShapeError>([&] { repacked(random_blocks(GgmlType::q8_0, {64}, 1)); },
                          {"tensor 'w' is Q8_0[64], but only matrices can be repacked"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
