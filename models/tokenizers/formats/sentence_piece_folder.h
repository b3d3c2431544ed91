// SentencePiece's models in the folders of Hugging Face's library.
#pragma once

#include <string>

#include "weft/models/tokenizers/sentence_piece.h"

namespace weft {

/// The model in `file`, with the ids that the class of tokenizer which tokenizer_config.json of its
/// folder names makes of it: T5's, XLM-R's, mBART's, PEGASUS's, LLaMA's, ALBERT's, DeBERTa's,
/// Marian's (by vocab.json); with added_tokens.json, and the names of special_tokens_map.json. A
/// model without a class that is known keeps its ids. Throws IoError, FormatError.
SentencePieceTokenizer read_sentence_piece_folder(const std::string& folder,
                                                  const std::string& file);

}  // namespace weft
