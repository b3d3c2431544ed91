#include "weft/models/text/tokenizers/formats/tokenizer_json.h"

#include "weft/models/text/tokenizers/formats/components.h"
#include "weft/models/text/tokenizers/formats/fields.h"
#include "weft/serialization/files/strict_json.h"

namespace weft {
namespace {

constexpr const char* kVersion = "1.0";
// Weft's extension of the format: the ids of special tokens, for which the format has no field.
constexpr const char* kSpecialKey = "weft_special_ids";

/// The JSON form of SpecialIds.
struct SpecialFields {
  SpecialIds ids;

  template <class Fields>
  void describe(Fields& fields) {
    for (const auto& [name, id] : kSpecialIds) fields.required(name, ids.*id);
  }
};

/// Describes all components except the model, because the reader of the model depends on the other
/// components.
template <class Fields>
void describe(Fields& fields, SubwordParts& parts, SpecialFields& special) {
  fields.optional("truncation", parts.truncation);
  fields.optional("padding", parts.padding);
  fields.optional("added_tokens", parts.added);
  fields.optional("normalizer", parts.normalizer);
  fields.optional("pre_tokenizer", parts.pre_tokenizer);
  fields.optional("post_processor", parts.post_processor);
  fields.optional("decoder", parts.decoder);
  fields.optional(kSpecialKey, special);
}

/// For added tokens that are also in the model's vocabulary, sets the id to the id in the
/// vocabulary, which takes precedence. Hugging Face's tokenizers library behaves in the same way.
void prefer_model_ids(SubwordParts& parts) {
  for (AddedToken& token : parts.added) {
    if (const std::int32_t id = parts.model->find(token.content); id >= 0) token.id = id;
  }
}

}  // namespace

SubwordParts read_tokenizer_json(std::string_view text, std::string_view what) {
  JsonLists lists{
      .table_path = "model.vocab", .pairs_path = "model.merges", .scores_path = "model.vocab"};
  const nlohmann::json json = parse_json_object(text, what, lists);
  FieldReader fields(json, std::string(what));
  std::string version = kVersion;
  fields.optional("version", version);
  if (version != kVersion) {
    throw FormatError(fmt::format("{} has the version '{}', but only {} is supported", what,
                                  excerpt(version), kVersion));
  }
  SubwordParts parts;
  SpecialFields special;
  describe(fields, parts, special);
  parts.special = special.ids;
  const auto model = json.find("model");
  if (model == json.end()) throw FormatError(fmt::format("{} lacks 'model'", what));
  parts.model = read_model(*model, fmt::format("{}.model", what), lists,
                           parts.pre_tokenizer != nullptr && parts.pre_tokenizer->is_byte_level());
  prefer_model_ids(parts);
  return parts;
}

std::string write_tokenizer_json(const SubwordPipeline& pipeline, bool own_keys) {
  OrderedJson json;
  json["version"] = kVersion;
  SubwordParts parts = pipeline.parts();
  parts.added = pipeline.added().all();
  SpecialFields special{pipeline.special()};
  FieldWriter fields(json);
  describe(fields, parts, special);
  if (!own_keys) json.erase(kSpecialKey);
  json["model"] = write_model(*parts.model);
  return json.dump();
}

}  // namespace weft
