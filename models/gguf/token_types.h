// Keys of tokenizers in GGUF files, and the types of their tokens. Internal to models/gguf.
#pragma once

#include <cstdint>

namespace weft::gguf {

inline constexpr const char* kModel = "tokenizer.ggml.model";
inline constexpr const char* kPre = "tokenizer.ggml.pre";
inline constexpr const char* kTokens = "tokenizer.ggml.tokens";
inline constexpr const char* kTypes = "tokenizer.ggml.token_type";
inline constexpr const char* kScores = "tokenizer.ggml.scores";
inline constexpr const char* kMerges = "tokenizer.ggml.merges";
inline constexpr const char* kBosId = "tokenizer.ggml.bos_token_id";
inline constexpr const char* kEosId = "tokenizer.ggml.eos_token_id";
inline constexpr const char* kEotId = "tokenizer.ggml.eot_token_id";
inline constexpr const char* kEomId = "tokenizer.ggml.eom_token_id";
inline constexpr const char* kUnknownId = "tokenizer.ggml.unknown_token_id";
inline constexpr const char* kPadId = "tokenizer.ggml.padding_token_id";
inline constexpr const char* kAddBos = "tokenizer.ggml.add_bos_token";
inline constexpr const char* kAddEos = "tokenizer.ggml.add_eos_token";
inline constexpr const char* kSpacePrefix = "tokenizer.ggml.add_space_prefix";
inline constexpr const char* kExtraSpaces = "tokenizer.ggml.remove_extra_whitespaces";
inline constexpr const char* kTemplate = "tokenizer.chat_template";

/// tokenizer.ggml.token_type. The numbers are part of the format.
enum class TokenType : std::uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,       // has no text
  user_defined = 4,  // recognised in texts before they are segmented
  unused = 5,
  byte = 6,
};

}  // namespace weft::gguf
