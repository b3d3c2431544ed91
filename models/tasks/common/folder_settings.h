// What folders of Hugging Face's library say of how their models read and write texts.
#pragma once

#include <cstdint>
#include <string>

#include "weft/models/generate/settings.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tokenizers/folder.h"

namespace WEFT_API weft {

/// The attachment that holds GenerationSettings.
inline constexpr const char* kGenerationPart = "model.generation";

/// The settings of generation, with what stands around texts: where the tokenizer says nothing of
/// that, as the library's class for it does. Throws as hf::read_generation_config.
GenerationSettings folder_settings(const hf::Folder& folder, const FolderTokenizer& text);

/// Throws ArgumentError where a tokenizer has ids that a table of `rows` rows lacks.
void require_ids_fit(const std::string& folder, const Tokenizer& tokenizer, std::int64_t rows);

/// Ids of a text as the model of a folder reads it, with those around it. Throws FormatError for
/// invalid UTF-8.
TokenIds read_prompt(const Tokenizer& tokenizer, const GenerationSettings& settings,
                     std::string_view text);

}  // namespace weft
