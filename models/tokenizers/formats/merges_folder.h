// Folders of Hugging Face's library with a vocab.json and a merges.txt.
#pragma once

#include "weft/models/tokenizers/formats/folder_settings.h"
#include "weft/models/tokenizers/subword_pipeline.h"

namespace weft {

/// Byte pairs as the class of tokenizer that the folder names applies them: GPT-2's, RoBERTa's (and
/// BART's), DeBERTa's, Qwen2's, CLIP's or GPT-1's. A folder that names no class has that of its
/// config.json's model_type, or GPT-2's. Throws IoError; FormatError, also for a class that is not
/// known.
SubwordParts read_merges_folder(const FolderSettings& folder);

}  // namespace weft
