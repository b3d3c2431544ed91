// Reads and names SentencePiece models in Hugging Face model folders.
#pragma once

#include <string>
#include <string_view>

#include "weft/models/text/tokenizers/formats/folder_settings.h"
#include "weft/models/text/tokenizers/sentence_piece/sentence_piece.h"

namespace weft {

/// Reads the SentencePiece model in `file` and applies the id layout of the folder's tokenizer
/// class: T5's, XLM-R's, mBART's, PEGASUS's, LLaMA's, ALBERT's, DeBERTa's or Marian's (Marian uses
/// vocab.json, and target.spm for target texts if that file exists). The layout includes added
/// tokens, the names of special ids, and the text changes made by the ALBERT and DeBERTa classes.
/// If the class is unknown, the model keeps its own ids. Throws IoError if a file cannot be read,
/// and FormatError if it is invalid.
SentencePieceTokenizer read_sentence_piece_folder(const FolderSettings& settings, const char* file);

/// Returns the file name that Hugging Face's transformers library uses for the SentencePiece model
/// of a tokenizer class (such as "T5TokenizerFast"). If the class is unknown, the name depends on
/// the model type (such as "t5").
std::string sentence_piece_file(std::string_view tokenizer_class, std::string_view model_type);

}  // namespace weft
