// Hugging Face model folders with a vocab.json and a merges.txt.
#pragma once

#include "weft/models/tokenizers/formats/folder_settings.h"
#include "weft/models/tokenizers/subword_pipeline.h"

namespace weft {

/// Reads a BPE tokenizer with the behaviour of the tokenizer class that the folder names: GPT-2's,
/// RoBERTa's (and BART's), DeBERTa's, Qwen2's, CLIP's or GPT-1's. If the folder names no class, the
/// one for the model_type in config.json is used, or else GPT-2's. Throws IoError, or FormatError
/// for invalid files or an unknown class.
SubwordParts read_merges_folder(const FolderSettings& folder);

}  // namespace weft
