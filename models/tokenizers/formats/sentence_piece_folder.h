// SentencePiece's models in the folders of Hugging Face's library.
#pragma once

#include <string>
#include <string_view>

#include "weft/models/tokenizers/formats/folder_settings.h"
#include "weft/models/tokenizers/sentence_piece.h"

namespace weft {

/// The model in a folder's `file`, with the ids that the class of tokenizer which the settings of
/// its folder name makes of it: T5's, XLM-R's, mBART's, PEGASUS's, LLaMA's, ALBERT's, DeBERTa's,
/// Marian's (by vocab.json, with target.spm for the texts that are written, where it is there);
/// with added tokens, names for special ids, and what ALBERT's and DeBERTa's classes change in a
/// text. A model without a class that is known keeps its ids. Throws IoError, FormatError.
SentencePieceTokenizer read_sentence_piece_folder(const FolderSettings& settings, const char* file);

/// What the library calls the file of a model, by the class of tokenizer ("T5TokenizerFast", say)
/// or, where that says nothing, by the model type ("t5").
std::string sentence_piece_file(std::string_view tokenizer_class, std::string_view model_type);

}  // namespace weft
