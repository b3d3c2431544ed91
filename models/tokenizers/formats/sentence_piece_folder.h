// SentencePiece models in Hugging Face model folders.
#pragma once

#include <string>
#include <string_view>

#include "weft/models/tokenizers/formats/folder_settings.h"
#include "weft/models/tokenizers/sentence_piece.h"

namespace weft {

/// Reads the SentencePiece model in `file` and applies the layout of ids of the folder's tokenizer
/// class: T5's, XLM-R's, mBART's, PEGASUS's, LLaMA's, ALBERT's, DeBERTa's or Marian's (which uses
/// vocab.json, and target.spm for target texts if it exists). The layout includes added tokens, the
/// names of special ids, and the text changes of ALBERT's and DeBERTa's classes. If the class is
/// unknown, the model keeps its own ids. Throws IoError, FormatError.
SentencePieceTokenizer read_sentence_piece_folder(const FolderSettings& settings, const char* file);

/// Returns the name of the model file in Hugging Face's transformers library, for a tokenizer class
/// (such as "T5TokenizerFast") or, if that is unknown, for a model type (such as "t5").
std::string sentence_piece_file(std::string_view tokenizer_class, std::string_view model_type);

}  // namespace weft
