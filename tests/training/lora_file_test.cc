#include "weft/models/training/lora_file.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/serialization/safetensors.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/messages.h"

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

BOOST_AUTO_TEST_CASE(scales_of_single_matrices_and_adapters_of_lookups_round_trip) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path("a.safetensors");
  const Tensor a = Tensor::full(DType::f32, {2, 3}, 0.1), b = Tensor::full(DType::f32, {5, 2}, 0.2);
  LoraAdapters adapters{0.5, {{"x", {a, b}}, {"y", {a, b, 0.1}}}};
  adapters.lookups["table"] = {b.reshape({2, 5}), a.reshape({3, 2}), 3};
  save_lora(path, adapters);
  const LoraAdapters read = load_lora(path);
  BOOST_TEST(read.scale_of(read.adapters.at("x")) == 0.5);
  BOOST_TEST(read.scale_of(read.adapters.at("y")) == 0.1);
  BOOST_TEST(read.scale_of(read.lookups.at("table")) == 3);
  BOOST_TEST(bitwise_equal(read.lookups.at("table").b, a.reshape({3, 2})));
  for (const auto& [scales, part] :
       {std::pair{R"({"z.lora_a": "0x1p+0"})", "names 'z.lora_a', which is not a tensor"},
        {R"({"x.lora_a": "-1"})", "'weft.lora.scales' is -1, which is not positive"}}) {
    write_safetensors(path, {{"x.lora_a", a}, {"x.lora_b", b}},
                      {{"weft.lora.scale", "0x1p+0"}, {"weft.lora.scales", scales}});
    BOOST_CHECK_EXCEPTION(load_lora(path), FormatError, testing::says(part));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
