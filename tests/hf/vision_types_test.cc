// Vision models: defaults of keys, sizes beyond all limits, keys that contradict each other.
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/hf/model.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/vision_config.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(hf_vision_types)
namespace {

using nlohmann::json;
using testing::says;
using testing::vision_config;

template <class Config = VitConfig>
Config read(const json& config) {
  Graph graph;
  const std::string text = config.dump();
  return std::get<Config>(hf::build_model(graph, text, hf::minimal_inputs(text)).family.value());
}
void rejects(json config, const json& changes, const std::string& message) {
  config.update(changes);
  BOOST_CHECK_EXCEPTION(read(config), Error, says(message));
}

BOOST_AUTO_TEST_CASE(missing_patch_sizes_are_those_of_transformers) {
  for (const auto& [type, architecture, patch] :
       {std::tuple{"vit", "ViTModel", 16},
        {"dinov2", "Dinov2Model", 14},
        {"dinov2_with_registers", "Dinov2WithRegistersModel", 16},
        {"dinov3_vit", "DINOv3ViTModel", 16},
        {"beit", "BeitModel", 16}}) {
    const VitConfig c = read({{"model_type", type}, {"architectures", {architecture}}});
    BOOST_TEST(c.patch_height == patch, type);
    BOOST_TEST(c.patch_width == patch, type);
  }
  BOOST_TEST(
      read<SwinConfig>({{"model_type", "swin"}, {"architectures", {"SwinModel"}}}).patch_height ==
      4);
}

BOOST_AUTO_TEST_CASE(sizes_beyond_the_limits_are_rejected_before_anything_is_built) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 61;
  for (const auto& [type, architecture] : testing::image_classes()) {
    if (type == "swin") continue;
    const json config = vision_config(type, architecture);
    rejects(config, {{"num_hidden_layers", kHuge}}, "layers must be at most");
    rejects(config, {{"image_size", kHuge}}, "image_height must be at most");
  }
  const json dinov2 = vision_config("dinov2", "Dinov2Model");
  rejects(dinov2, {{"mlp_ratio", 1e300}}, "inner must be at most");
  rejects(dinov2, {{"mlp_ratio", 1e300}, {"use_swiglu_ffn", true}}, "inner must be at most");
  rejects(dinov2, {{"mlp_ratio", -1e300}}, "inner must be at least 1");
  rejects(vision_config("vit", "ViTModel"), {{"pooler_output_size", kHuge}},
          "pooler_output_size must be at most");
  rejects(vision_config("beit", "BeitForMaskedImageModeling"), {{"vocab_size", kHuge}},
          "vocab_size must be at most");
  const json swin = vision_config("swin", "SwinForMaskedImageModeling");
  rejects(swin, {{"depths", std::vector<int>(100, 1)}, {"num_heads", std::vector<int>(100, 1)}},
          "depths and heads must have one number for each of 1 to 16 stages");
  // The product of 2 rows and 2 - 2^63 is 4 in 64 bits, the image height.
  rejects(swin, {{"encoder_stride", INT64_MIN + 2}}, "an encoder_stride with which");
}

BOOST_AUTO_TEST_CASE(derived_sizes_of_swin_must_agree_with_their_sources) {
  const json swin = vision_config("swin", "SwinModel");
  json agrees = swin;
  agrees.update({{"num_layers", 2}, {"hidden_size", 16}});
  BOOST_TEST((read<SwinConfig>(agrees) == read<SwinConfig>(swin)));
  rejects(swin, {{"num_layers", 3}}, "num_layers");
  rejects(swin, {{"hidden_size", 8}}, "hidden_size");
  // Without embed_dim, too, which is then 96.
  json without = swin;
  without.erase("embed_dim");
  rejects(without, {{"hidden_size", 16}},
          "hidden_size = 16 contradicts embed_dim = 96 and the 2 stages of depths");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
