// Reads Hugging Face model folders that contain a vocab.json and a merges.txt.
#pragma once

#include "weft/models/text/tokenizers/formats/folder_settings.h"
#include "weft/models/text/tokenizers/pipeline/subword_pipeline.h"

namespace weft {

/// Reads a BPE tokenizer that behaves like the tokenizer class named in the folder: GPT-2's,
/// RoBERTa's (and BART's), DeBERTa's, Qwen2's, CLIP's or GPT-1's. If no class is named, the
/// model_type in config.json determines the class; the default is GPT-2's. Throws IoError if a file
/// cannot be read, and FormatError if a file is invalid or the class is unknown.
SubwordParts read_merges_folder(const FolderSettings& folder);

}  // namespace weft
