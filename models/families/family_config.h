// Configurations of all families, and what files call each.
#pragma once

#include <string_view>
#include <variant>

#include "weft/models/families/encoder_config.h"
#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/families/vit_config.h"

namespace WEFT_API weft {

/// What a model is made of.
using FamilyConfig = std::variant<GptConfig, EncoderConfig, EncoderDecoderConfig, VitConfig>;

/// The type of a configuration as an attachment.
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

/// "decoder", "encoder", "encoder-decoder", "vision transformer".
std::string_view family_name(const FamilyConfig& config);

}  // namespace weft
