// Settings in Hugging Face folders for encoding and generating texts.
#pragma once

#include <cstdint>
#include <string>

#include "weft/models/generate/settings.h"
#include "weft/models/hf/folder.h"
#include "weft/models/hf/generation_config.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"

namespace WEFT_API weft {

/// Reads the generation settings in a folder, including the special ids around texts. If the
/// tokenizer files do not specify these ids, the defaults of the tokenizer's transformers class are
/// used. If there is no forced_bos_token_id, the setting tgt_lang of NLLB, M2M100 and mBART-50
/// tokenizers specifies the first token of outputs. Throws FormatError if src_lang or tgt_lang is
/// not a language of the tokenizer, and the same exceptions as hf::read_generation_config.
GenerationSettings folder_settings(const hf::Folder& folder, const FolderTokenizer& text);

/// Returns the settings in generation_config.json, without special ids around texts.
GenerationSettings generation_settings(hf::GenerationConfig config);

/// Throws ArgumentError if the tokenizer has more than `rows` ids, where `rows` is the number of
/// rows in the embedding table.
void require_ids_fit(const std::string& folder, const Tokenizer& tokenizer, std::int64_t rows);

/// Encodes a text for a model from a folder, including the special ids around it. Throws
/// FormatError if the text is not valid UTF-8.
TokenIds read_prompt(const Tokenizer& tokenizer, const GenerationSettings& settings,
                     std::string_view text);

}  // namespace weft
