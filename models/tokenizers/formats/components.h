// The parts of a tokenizer.json by name: what there is, read and written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "weft/models/tokenizers/decoders/decoder.h"
#include "weft/models/tokenizers/formats/fields.h"
#include "weft/models/tokenizers/normalizers/normalizer.h"
#include "weft/models/tokenizers/post_processors/post_processor.h"
#include "weft/models/tokenizers/pre_tokenizers/pre_tokenizer.h"
#include "weft/models/tokenizers/subwords/subword_model.h"

namespace weft {

// The readers throw FormatError for a kind that is not known, saying where it stands and what there
// is, and for fields that are missing, unknown or wrong.
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

/// A model, whose vocabulary and merges were read apart; `takes_bytes`: what comes before it leaves
/// bytes as they are, if the model can take them.
SubwordModelPtr read_model(const nlohmann::json& json, const std::string& where, JsonLists& lists,
                           bool takes_bytes);
OrderedJson write_model(const SubwordModel& model);

}  // namespace weft
