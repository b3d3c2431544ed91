#include "weft/models/training/lora_file.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/serialization/safetensors.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(lora_file)
namespace {

BOOST_AUTO_TEST_CASE(adapters_round_trip_and_errors_describe_the_damage) {
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("weft_lora_" + std::to_string(getpid()) + ".safetensors"))
                               .string();
  const Tensor a = Tensor::full(DType::f32, {2, 3}, 0.1), b = Tensor::full(DType::f32, {5, 2}, 0.2);
  save_lora(path, {0.1, {{"x.weight", {a, b}}}});
  const LoraAdapters read = load_lora(path);
  BOOST_TEST(read.scale == 0.1);
  BOOST_TEST(read.adapters.size() == 1U);
  BOOST_TEST(bitwise_equal(read.adapters.at("x.weight").a, a));
  BOOST_TEST(bitwise_equal(read.adapters.at("x.weight").b, b));

  const auto refused = [&](const TensorMap& tensors,
                           const std::map<std::string, std::string>& metadata,
                           const std::string& part) {
    write_safetensors(path, tensors, metadata);
    BOOST_CHECK_EXCEPTION(load_lora(path), FormatError, [&](const Error& e) {
      return std::string(e.what()).find(part) != std::string::npos;
    });
  };
  const std::map<std::string, std::string> scale = {{"weft.lora.scale", "0x1p+0"}};
  refused({{"x.lora_a", a}, {"x.lora_b", b}}, {{"weft.lora.scale", "-0x1p+0"}},
          "is -1, which is not positive");
  refused({{"x.lora_a", Tensor::full(DType::f32, {2, 3}, NAN)}, {"x.lora_b", b}}, scale,
          "the adapter for x holds values that are not finite");
  refused({{"x.lora_a", a}}, {},
          "is not a valid adapter file: the metadata entry 'weft.lora.scale' is missing");
  refused({{"x.lora_a", a}}, {{"weft.lora.scale", "two"}}, "is 'two', which is not a number");
  refused({{"x.lora_a", a}}, scale, "the tensor 'x.lora_b' is missing");
  refused({{"x.weight", a}}, scale,
          "the tensor name 'x.weight' ends neither in .lora_a nor in .lora_b");
  refused({}, scale, "the file contains no tensors");
  std::filesystem::remove(path);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
