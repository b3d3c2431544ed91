// Reads and writes the components of a tokenizer.json. Component classes are selected by name.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "weft/models/text/tokenizers/decoders/decoder.h"
#include "weft/models/text/tokenizers/formats/fields.h"
#include "weft/models/text/tokenizers/normalizers/normalizer.h"
#include "weft/models/text/tokenizers/post_processors/post_processor.h"
#include "weft/models/text/tokenizers/pre_tokenizers/pre_tokenizer.h"
#include "weft/models/text/tokenizers/subwords/subword_model.h"

namespace weft {

// The read functions throw FormatError if a type is unknown (the message contains the location and
// the known types), or if a field is missing, unknown or invalid.
template <>
struct JsonForm<NormalizerPtr> {
  static void read(const nlohmann::json& json, const std::string& where, NormalizerPtr& value);
  static void write(OrderedJson& json, const NormalizerPtr& value);
};
template <>
struct JsonForm<PreTokenizerPtr> {
  static void read(const nlohmann::json& json, const std::string& where, PreTokenizerPtr& value);
  static void write(OrderedJson& json, const PreTokenizerPtr& value);
};
template <>
struct JsonForm<PostProcessorPtr> {
  static void read(const nlohmann::json& json, const std::string& where, PostProcessorPtr& value);
  static void write(OrderedJson& json, const PostProcessorPtr& value);
};
template <>
struct JsonForm<DecoderPtr> {
  static void read(const nlohmann::json& json, const std::string& where, DecoderPtr& value);
  static void write(OrderedJson& json, const DecoderPtr& value);
};

/// Reads a model. Its vocabulary and merges are in `lists`, because they are parsed separately. If
/// `takes_bytes` is true, the pre-tokenizer passes raw bytes to models that accept them.
SubwordModelPtr read_model(const nlohmann::json& json, const std::string& where, JsonLists& lists,
                           bool takes_bytes);
OrderedJson write_model(const SubwordModel& model);

}  // namespace weft
