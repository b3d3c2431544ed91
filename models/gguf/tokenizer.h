// Tokenizers in the metadata of GGUF files (tokenizer.ggml.*). Internal to models/gguf.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/generate/settings.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/serialization/gguf/gguf.h"

namespace weft::gguf {

/// Reads the tokenizer: "llama" (SentencePiece BPE by scores, with byte pieces) or "gpt2"
/// (byte-level BPE with merges and a named pre-tokenizer). For others, the result contains the
/// reason. Throws FormatError, with the path, the key and the byte offset, if the metadata is
/// invalid.
FolderTokenizer read_tokenizer(const GgufFile& file);

/// Reads the ids around texts and at the end of texts, and the recommended sampling settings
/// (general.sampling.*). `tokenizer` may be null. Throws FormatError, with the path, for settings
/// out of range.
GenerationSettings read_generation(const GgufFile& file, const Tokenizer* tokenizer);

/// Reads the chat template. Returns std::nullopt for files without a template.
std::optional<ChatFormat> read_chat(const GgufFile& file, const Tokenizer* tokenizer);

/// Writes a tokenizer for a model with `vocab` ids; ids without a piece become unused tokens. Notes
/// for users are appended to `notes`. Throws ArgumentError, with the reason, if GGUF has no form
/// for the tokenizer.
void write_tokenizer(GgufMetadata& metadata, const Tokenizer& tokenizer, std::int64_t vocab,
                     std::vector<std::string>& notes);
/// Writes the ids around texts and at their ends.
void write_generation(GgufMetadata& metadata, const Tokenizer& tokenizer,
                      const GenerationSettings* settings);

}  // namespace weft::gguf
