#include "weft/models/text/tokenizers/formats/components.h"

#include <memory>
#include <type_traits>

#include "weft/models/text/tokenizers/decoders/decoders.h"
#include "weft/models/text/tokenizers/formats/forms.h"
#include "weft/models/text/tokenizers/normalizers/bert.h"
#include "weft/models/text/tokenizers/normalizers/characters.h"
#include "weft/models/text/tokenizers/normalizers/precompiled_map.h"
#include "weft/models/text/tokenizers/normalizers/replace.h"
#include "weft/models/text/tokenizers/normalizers/sequence.h"
#include "weft/models/text/tokenizers/normalizers/unicode_forms.h"
#include "weft/models/text/tokenizers/post_processors/fixed_templates.h"
#include "weft/models/text/tokenizers/post_processors/template_processing.h"
#include "weft/models/text/tokenizers/pre_tokenizers/byte_level.h"
#include "weft/models/text/tokenizers/pre_tokenizers/metaspace.h"
#include "weft/models/text/tokenizers/pre_tokenizers/sequence.h"
#include "weft/models/text/tokenizers/pre_tokenizers/split.h"
#include "weft/models/text/tokenizers/pre_tokenizers/words.h"
#include "weft/models/text/tokenizers/subwords/bpe.h"
#include "weft/models/text/tokenizers/subwords/unigram_model.h"
#include "weft/models/text/tokenizers/subwords/word_pieces.h"

namespace weft {
namespace {

/// The classes that implement one interface.
template <class... Parts>
struct Kinds {};

using Normalizers =
    Kinds<normalizers::Bert, normalizers::Strip, normalizers::StripAccents, normalizers::Nfc,
          normalizers::Nfd, normalizers::Nfkc, normalizers::Nfkd, normalizers::Sequence,
          normalizers::Lowercase, normalizers::Nmt, normalizers::Precompiled, normalizers::Replace,
          normalizers::Prepend, normalizers::ByteLevel>;
using PreTokenizers =
    Kinds<pre_tokenizers::Bert, pre_tokenizers::ByteLevel, pre_tokenizers::CharDelimiterSplit,
          pre_tokenizers::Metaspace, pre_tokenizers::Whitespace, pre_tokenizers::WhitespaceSplit,
          pre_tokenizers::Sequence, pre_tokenizers::Split, pre_tokenizers::Punctuation,
          pre_tokenizers::Digits, pre_tokenizers::UnicodeScripts, pre_tokenizers::FixedLength>;
using PostProcessors =
    Kinds<post_processors::Template, post_processors::Bert, post_processors::Roberta,
          post_processors::ByteLevel, post_processors::Sequence>;
using Decoders = Kinds<decoders::ByteLevel, decoders::WordPiece, decoders::Bpe, decoders::Metaspace,
                       decoders::ByteFallback, decoders::Fuse, decoders::Strip, decoders::Replace,
                       decoders::Ctc, decoders::Sequence>;
using Models =
    Kinds<subwords::Bpe, subwords::WordPiece, subwords::WordLevel, subwords::UnigramModel>;

template <class Part, class Interface>
void read_part(FieldReader& fields, std::shared_ptr<const Interface>& value,
               auto&&... prepared_with) {
  auto part = std::make_shared<Part>();
  part->describe(fields);
  fields.finish();
  if constexpr (requires { part->prepare(prepared_with...); }) {
    try {
      part->prepare(prepared_with...);
    } catch (const FormatError& e) {
      throw FormatError(fmt::format("{}: {}", fields.where(), e.what()));
    }
  }
  value = std::move(part);
}

template <class Interface, class... Parts>
void read_kind(Kinds<Parts...>, const std::string& type, FieldReader& fields,
               std::shared_ptr<const Interface>& value, auto&&... prepared_with) {
  const bool known =
      ((type == Parts::kName ? (read_part<Parts>(fields, value, prepared_with...), true) : false) ||
       ...);
  if (known) return;
  std::string names;
  ((names += fmt::format("{}{}", names.empty() ? "" : ", ", Parts::kName)), ...);
  throw FormatError(fmt::format("{} has the unknown type '{}'; known types are {}", fields.where(),
                                excerpt(type), names));
}

template <class Part, class Interface>
bool write_part(OrderedJson& json, const Interface& value) {
  const auto* part = dynamic_cast<const Part*>(&value);
  if (part == nullptr) return false;
  json = OrderedJson::object();
  json["type"] = Part::kName;
  FieldWriter fields(json);
  // describe() is not const because it also reads fields. A FieldWriter does not change them, and a
  // copy of a large vocabulary would take as long as writing it.
  const_cast<Part*>(part)->describe(fields);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  return true;
}

template <class Interface, class... Parts>
void write_kind(Kinds<Parts...>, OrderedJson& json, const Interface& value) {
  if (!(write_part<Parts>(json, value) || ...))
    throw StateError("a component of the tokenizer has no name in the file format");
}

template <class All, class Interface>
void read_component(const nlohmann::json& json, const std::string& where,
                    std::shared_ptr<const Interface>& value) {
  value.reset();
  if (json.is_null()) return;
  FieldReader fields(json, where);
  const std::string type = fields.type();
  read_kind(All(), type, fields, value);
}

template <class All, class Interface>
void write_component(OrderedJson& json, const std::shared_ptr<const Interface>& value) {
  if (value == nullptr) {
    json = nullptr;
  } else {
    write_kind(All(), json, *value);
  }
}

/// Infers the type of a model from its fields. Files written by early versions of Hugging Face's
/// tokenizers library lack "type".
std::string model_type(const nlohmann::json& json) {
  if (json.contains("merges")) return subwords::Bpe::kName;
  if (json.contains("max_input_chars_per_word")) return subwords::WordPiece::kName;
  if (json.contains("vocab") && json["vocab"].is_array()) return subwords::UnigramModel::kName;
  return subwords::WordLevel::kName;
}

}  // namespace

void JsonForm<NormalizerPtr>::read(const nlohmann::json& json, const std::string& where,
                                   NormalizerPtr& value) {
  read_component<Normalizers>(json, where, value);
}
void JsonForm<NormalizerPtr>::write(OrderedJson& json, const NormalizerPtr& value) {
  write_component<Normalizers>(json, value);
}
void JsonForm<PreTokenizerPtr>::read(const nlohmann::json& json, const std::string& where,
                                     PreTokenizerPtr& value) {
  read_component<PreTokenizers>(json, where, value);
}
void JsonForm<PreTokenizerPtr>::write(OrderedJson& json, const PreTokenizerPtr& value) {
  write_component<PreTokenizers>(json, value);
}
void JsonForm<PostProcessorPtr>::read(const nlohmann::json& json, const std::string& where,
                                      PostProcessorPtr& value) {
  read_component<PostProcessors>(json, where, value);
}
void JsonForm<PostProcessorPtr>::write(OrderedJson& json, const PostProcessorPtr& value) {
  write_component<PostProcessors>(json, value);
}
void JsonForm<DecoderPtr>::read(const nlohmann::json& json, const std::string& where,
                                DecoderPtr& value) {
  read_component<Decoders>(json, where, value);
}
void JsonForm<DecoderPtr>::write(OrderedJson& json, const DecoderPtr& value) {
  write_component<Decoders>(json, value);
}

SubwordModelPtr read_model(const nlohmann::json& json, const std::string& where, JsonLists& lists,
                           bool takes_bytes) {
  FieldReader fields(json, where, &lists);
  std::string type = model_type(json);
  fields.optional("type", type);
  SubwordModelPtr model;
  read_kind(Models(), type, fields, model, takes_bytes);
  return model;
}

OrderedJson write_model(const SubwordModel& model) {
  OrderedJson json;
  write_kind(Models(), json, model);
  return json;
}

}  // namespace weft
