// Reads and names SentencePiece models in Hugging Face model folders.
#pragma once

#include <string>
#include <string_view>

#include "weft/models/text/tokenizers/formats/folder_settings.h"
#include "weft/models/text/tokenizers/sentence_piece/sentence_piece.h"

namespace weft {

/// Reads the SentencePiece model in `file` and applies the id layout of the folder's tokenizer
/// class: T5's, XLM-R's, mBART's, NLLB's, PEGASUS's, LLaMA's, ALBERT's, DeBERTa's, M2M100's or
/// Marian's (the last two use vocab.json; Marian also uses target.spm for target texts if that file
/// exists). The layout includes added tokens, the names of special ids, and the text changes made
/// by the ALBERT and DeBERTa classes. If the class is unknown, the model keeps its own ids. Throws
/// IoError if a file cannot be read, and FormatError if it is invalid.
SentencePieceTokenizer read_sentence_piece_folder(const FolderSettings& settings, const char* file);

/// The files of a SentencePiece model in a folder.
struct SentencePieceFiles {
  std::string model = "spiece.model";
  bool has_vocabulary = false;  // vocab.json contains the ids
};
/// Returns the files that Hugging Face's transformers library uses for a tokenizer class (such as
/// "T5TokenizerFast"). If the class is unknown, they depend on the model type (such as "t5").
SentencePieceFiles sentence_piece_files(std::string_view tokenizer_class,
                                        std::string_view model_type);

}  // namespace weft
