// Configurations of all model families, and their type names in files.
#pragma once

#include <string_view>
#include <variant>

#include "weft/models/families/encoder_config.h"
#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/families/image_text_config.h"
#include "weft/models/families/swin_config.h"
#include "weft/models/families/vit_config.h"

namespace WEFT_API weft {

/// The configuration of a model of any family.
using FamilyConfig = std::variant<GptConfig, EncoderConfig, EncoderDecoderConfig, VitConfig,
                                  SwinConfig, ImageTextConfig>;

/// Type name of the attachment that stores the configuration in a file.
template <class Config>
inline constexpr const char* kConfigType = nullptr;
template <>
inline constexpr const char* kConfigType<GptConfig> = "weft.config.gpt";
template <>
inline constexpr const char* kConfigType<EncoderConfig> = "weft.config.encoder";
template <>
inline constexpr const char* kConfigType<EncoderDecoderConfig> = "weft.config.encoder_decoder";
template <>
inline constexpr const char* kConfigType<VitConfig> = "weft.config.vit";
template <>
inline constexpr const char* kConfigType<SwinConfig> = "weft.config.swin";
template <>
inline constexpr const char* kConfigType<ImageTextConfig> = "weft.config.image_text";

/// Returns "decoder", "encoder", "encoder-decoder", "vision transformer", "Swin transformer" or
/// "image-text model".
std::string_view family_name(const FamilyConfig& config);

}  // namespace weft
