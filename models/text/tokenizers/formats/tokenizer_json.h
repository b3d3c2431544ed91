// Reads and writes tokenizer.json, the file format of Hugging Face's tokenizers library.
#pragma once

#include <string>
#include <string_view>

#include "weft/models/text/tokenizers/pipeline/subword_pipeline.h"

namespace WEFT_API weft {

/// Parses a tokenizer.json. `what` names the input in error messages. Throws FormatError if the
/// input is malformed or has an unknown component (with its name and location).
SubwordParts read_tokenizer_json(std::string_view text, std::string_view what);
/// Serialises a tokenizer.json. If `own_keys` is false, Weft's extension for special ids is
/// omitted, because some programs reject unknown keys. In this case, the special ids must be stored
/// in other files.
std::string write_tokenizer_json(const SubwordPipeline& pipeline, bool own_keys = true);

}  // namespace weft
