// Requests of the endpoints that process texts: embeddings, ranking, classes, tags, translations
// and tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/models/generate/options.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/chat/conversation.h"

namespace weft {

/// The fields that all these requests share.
struct InputCall {
  std::string model = {};
  bool truncate = false;               // texts that are too long; otherwise they are errors
  std::optional<double> timeout = {};  // seconds
};

/// Maximum number of texts per request.
inline constexpr std::int64_t kMaxInputs = 2048;

/// POST /v1/embeddings: "input" is a text, a list of texts, or token ids of one or several texts.
struct EmbeddingCall : InputCall {
  std::vector<std::variant<std::string, TokenIds>> inputs;
  std::optional<std::int64_t> dimensions;
  bool base64 = false;  // vectors as the base64 form of little-endian f32
};

/// POST /v1/rerank: "query" and "documents", texts or objects with a field "text".
struct RerankCall : InputCall {
  std::string query;
  std::vector<std::string> documents;
  std::optional<std::int64_t> top;  // "top_n"
  bool return_documents = false;
};

/// POST /classify, /tag and /translate: "input" is a text or a list of texts.
struct TextsCall : InputCall {
  std::vector<std::string> inputs;
  std::int64_t top = 5;                    // of /classify: "top_k", the number of classes per text
  std::string source = {}, target = {};    // languages of /translate
  std::optional<std::int64_t> beams = {};  // of /translate
};

/// POST /tokenize: a text ("prompt") or the messages of a chat.
struct TokenizeCall : InputCall {
  std::string text;
  bool add_special = true;
  Conversation messages;  // if not empty: instead of `text`
};

/// POST /detokenize: "tokens".
struct DetokenizeCall : InputCall {
  TokenIds tokens;
};

/// Parse the body of a request. Throw ApiError (400) that names the field.
EmbeddingCall read_embedding_call(std::string_view body);
RerankCall read_rerank_call(std::string_view body);
TextsCall read_classify_call(std::string_view body);
TextsCall read_tag_call(std::string_view body);
TextsCall read_translate_call(std::string_view body);
TokenizeCall read_tokenize_call(std::string_view body);
DetokenizeCall read_detokenize_call(std::string_view body);

/// Returns the base64 form of bytes (RFC 4648).
std::string base64(std::string_view bytes);

}  // namespace weft
