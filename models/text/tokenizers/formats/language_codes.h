// The language codes of multilingual translation models, in the order of their ids.
#pragma once

#include <span>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns the language codes of mBART-50 if `fifty` is true, else those of mBART-25: "en_XX".
std::span<const std::string_view> mbart_languages(bool fifty);
/// Returns the language codes of NLLB-200 (FLORES-200): "eng_Latn".
std::span<const std::string_view> nllb_languages();
/// Returns the language codes of M2M100: "en".
std::span<const std::string_view> m2m100_languages();
/// Returns the language codes of the WMT21 models with M2M100's tokenizer: "en".
std::span<const std::string_view> wmt21_languages();

}  // namespace weft
