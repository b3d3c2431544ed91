// tokenizer.json, the format of Hugging Face's tokenizers library, read and written whole.
#pragma once

#include <string>
#include <string_view>

#include "weft/models/tokenizers/subword_pipeline.h"

namespace WEFT_API weft {

/// `what` names the text in messages. Throws FormatError for what is malformed, and for parts that
/// are not known, by their names and places.
SubwordParts read_tokenizer_json(std::string_view text, std::string_view what);
/// For other programs, `own_keys` are left out: not all of them ignore what they do not know. What
/// the ids of special tokens are then stands in other files.
std::string write_tokenizer_json(const SubwordPipeline& pipeline, bool own_keys = true);

}  // namespace weft
