// Rejection of config fields that would have no effect.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/families/image_text_config.h"
#include "weft/models/families/swin_config.h"
#include "weft/models/families/vit_config.h"
#include "weft/models/fields/field_list.h"

namespace WEFT_API weft {

/// Throws ArgumentError for the first of the `given` fields that changes nothing in a model with
/// this config, for example the base of rotary positions if the positions are learned. The message
/// names the option.
void refuse_unused_fields(const GptConfig& config, const FieldTexts& given);
void refuse_unused_fields(const EncoderConfig& config, const FieldTexts& given);
void refuse_unused_fields(const EncoderDecoderConfig& config, const FieldTexts& given);
void refuse_unused_fields(const ImageTextConfig& config, const FieldTexts& given);
void refuse_unused_fields(const VitConfig& config, const FieldTexts& given);
/// Every field of a Swin transformer has an effect.
inline void refuse_unused_fields(const SwinConfig&, const FieldTexts&) {}

}  // namespace weft
