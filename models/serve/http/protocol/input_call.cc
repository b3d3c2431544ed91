#include "weft/models/serve/http/protocol/input_call.h"

#include <fmt/format.h>

#include <utility>

#include "weft/models/serve/http/protocol/api_error.h"
#include "weft/models/serve/http/protocol/json_fields.h"
#include "weft/models/serve/http/protocol/read_fields.h"

namespace weft {
namespace {

void read_common(Fields& fields, InputCall& call) {
  call.model = fields.text("model").value_or("");
  call.timeout = fields.number("timeout", 0.001, 1e6);
  fields.ignore({"user", "metadata"});
}

void read_truncate(Fields& fields, InputCall& call) {
  call.truncate = fields.flag("truncate").value_or(false);
}

void check_number(const Fields& fields, const std::string& name, std::size_t texts) {
  if (texts == 0 || std::cmp_greater(texts, kMaxInputs))
    fields.fail(name, fmt::format("1 to {} texts", kMaxInputs));
}

TextsCall read_input(Fields& fields) {
  TextsCall call;
  read_common(fields, call);
  read_truncate(fields, call);
  fields.require("input");
  call.inputs = fields.texts("input");
  check_number(fields, "input", call.inputs.size());
  return call;
}

}  // namespace

EmbeddingCall read_embedding_call(std::string_view body) {
  const Json json = json_body(body);
  Fields fields(json);
  EmbeddingCall call;
  read_common(fields, call);
  read_truncate(fields, call);
  call.inputs = read_texts_or_ids(fields, "input", kMaxInputs);
  call.dimensions = fields.integer("dimensions", 1, 1'000'000);
  const std::string format = fields.text("encoding_format").value_or("float");
  if (format != "float" && format != "base64") fields.fail("encoding_format", "float or base64");
  call.base64 = format == "base64";
  fields.end();
  return call;
}

RerankCall read_rerank_call(std::string_view body) {
  const Json json = json_body(body);
  Fields fields(json);
  RerankCall call;
  read_common(fields, call);
  fields.require("query");
  call.query = *fields.text("query");
  const Json& documents = fields.require("documents");
  if (!documents.is_array()) fields.fail("documents", "a list of texts");
  check_number(fields, "documents", documents.size());
  for (const Json& document : documents) {
    const Json& text =
        document.is_object() && document.contains("text") ? document["text"] : document;
    if (!text.is_string()) fields.fail("documents", "a list of texts");
    call.documents.push_back(text.get<std::string>());
  }
  call.top = fields.integer("top_n", 1, kMaxInputs);
  call.return_documents = fields.flag("return_documents").value_or(false);
  fields.end();
  return call;
}

TextsCall read_classify_call(std::string_view body) {
  const Json json = json_body(body);
  Fields fields(json);
  TextsCall call = read_input(fields);
  call.top = fields.integer("top_k", 1, 1'000'000).value_or(call.top);
  fields.end();
  return call;
}

TextsCall read_tag_call(std::string_view body) {
  const Json json = json_body(body);
  Fields fields(json);
  TextsCall call = read_input(fields);
  fields.end();
  return call;
}

TextsCall read_translate_call(std::string_view body) {
  const Json json = json_body(body);
  Fields fields(json);
  TextsCall call = read_input(fields);
  call.source = fields.text("source").value_or("");
  call.target = fields.text("target").value_or("");
  call.beams = fields.integer("beams", 1, 64);
  fields.end();
  return call;
}

TokenizeCall read_tokenize_call(std::string_view body) {
  const Json json = json_body(body);
  Fields fields(json);
  TokenizeCall call;
  read_common(fields, call);
  if (fields.find("messages") != nullptr) {
    call.messages = read_messages(fields);
  } else {
    fields.require("prompt");
    call.text = *fields.text("prompt");
    call.add_special = fields.flag("add_special_tokens").value_or(true);
  }
  fields.end();
  return call;
}

DetokenizeCall read_detokenize_call(std::string_view body) {
  const Json json = json_body(body);
  Fields fields(json);
  DetokenizeCall call;
  read_common(fields, call);
  call.tokens = read_ids(fields, "tokens", fields.require("tokens"), "a list of token ids");
  fields.end();
  return call;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t given = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t three = 0;
    for (std::size_t j = 0; j < 3; ++j)
      three = three << 8 | (j < given ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j)
      out += j <= given ? kDigits[three >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

}  // namespace weft
