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

// Limits for untrusted files. Every step costs time for each encoded text, and published tokenizers
// have fewer than 100. A padded text is at least as long as the length in the file.
constexpr std::size_t kMaxSteps = 1000;
constexpr std::uint64_t kMaxPadding = std::uint64_t{1} << 20;

/// Returns the number of components in a tree of nested sequences.
std::size_t count_steps(const nlohmann::json& json) {
  std::size_t count = json.is_object() && json.contains("type") ? 1 : 0;
  if (json.is_structured())
    for (const nlohmann::json& inner : json) count += count_steps(inner);
  return count;
}

void check_limits(const nlohmann::json& json, std::string_view what) {
  for (const char* key : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    const auto found = json.find(key);
    const std::size_t count = found == json.end() ? 0 : count_steps(*found);
    if (count > kMaxSteps)
      throw FormatError(
          fmt::format("{}.{} has {} steps; the limit is {}", what, key, count, kMaxSteps));
  }
}

void check_padding(const Padding& padding, std::string_view what) {
  for (const auto& [key, value] : {std::pair("strategy.Fixed", padding.length),
                                   std::pair("pad_to_multiple_of", padding.multiple)}) {
    if (value.value_or(0) > kMaxPadding)
      throw FormatError(
          fmt::format("{}.padding.{} is {}; the limit is {}", what, key, *value, kMaxPadding));
  }
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
  check_limits(json, what);
  SubwordParts parts;
  SpecialFields special;
  describe(fields, parts, special);
  if (parts.padding) check_padding(*parts.padding, what);
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
