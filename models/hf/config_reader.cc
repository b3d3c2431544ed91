#include "weft/models/hf/config_reader.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/hf/config/class_labels.h"
#include "weft/models/hf/config/harmless_keys.h"

namespace weft::hf {
ConfigReader::ConfigReader(std::string_view text, std::string file, std::string section)
    : file_(std::move(file)),
      section_(std::move(section)),
      object_(parse_json_object(text, file_)) {}

ConfigReader ConfigReader::section(const char* key) {
  const json* found = find(key);
  if (found != nullptr && !found->is_object())
    throw FormatError(fmt::format("{}: {} must be an object, not {}", file_, section_ + key,
                                  json_excerpt(*found)));
  return ConfigReader(found == nullptr ? "{}" : found->dump(), file_, section_ + key + '.');
}

std::string ConfigReader::text(const char* key) const {
  const auto it = object_.find(key);
  return it != object_.end() && it->is_string() ? it->get<std::string>() : std::string();
}

const json* ConfigReader::find(const char* key) {
  known_.insert(key);
  const auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

ConfigReader& ConfigReader::optional_id(const char* key, std::int64_t& value) {
  const auto it = object_.find(key);
  if (it != object_.end() && it->is_null()) value = -1;
  return field(key, value);
}

ConfigReader& ConfigReader::optional_size(const char* key, std::int64_t& value) {
  const auto it = object_.find(key);
  if (it != object_.end() && it->is_null()) value = 0;
  return field(key, value);
}

ConfigReader& ConfigReader::size(const char* key, std::int64_t& height, std::int64_t& width) {
  const json* found = find(key);
  if (found == nullptr) return *this;
  if (found->is_array()) {
    if (found->size() != 2) {
      throw FormatError(
          fmt::format("'{}' must be a size or [height, width], not {}", key, json_excerpt(*found)));
    }
    read_json(found->at(0), key, height);
    read_json(found->at(1), key, width);
    return *this;
  }
  read_json(*found, key, height);
  width = height;
  return *this;
}

std::vector<std::string> ConfigReader::list(const char* key) {
  std::vector<std::string> result;
  const json* found = find(key);
  if (found == nullptr) return result;
  if (found->is_array()) {
    for (const json& entry : *found) {
      if (!entry.is_string())
        throw FormatError(
            fmt::format("'{}' must be a list of strings, not {}", key, json_excerpt(*found)));
      result.push_back(entry.get<std::string>());
    }
    return result;
  }
  if (!found->is_string())
    throw FormatError(
        fmt::format("'{}' must be a list of strings, not {}", key, json_excerpt(*found)));
  std::string entry;
  for (const char c : found->get<std::string>() + "|") {
    if (c == '|') {
      if (!entry.empty()) result.push_back(entry);
      entry.clear();
    } else if (c != ' ') {
      entry += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
  }
  return result;
}

ConfigReader& ConfigReader::fixed(const char* key, const json& allowed, std::string_view why) {
  const json* found = find(key);
  if (found != nullptr && *found != allowed) {
    throw ArgumentError(
        fmt::format("{}: {} is {}: {}", file_, section_ + key, json_excerpt(*found), why));
  }
  return *this;
}

ConfigReader& ConfigReader::ignore(std::initializer_list<const char*> keys) {
  known_.insert(keys.begin(), keys.end());
  return *this;
}

void ConfigReader::contradiction(const char* key, const char* of) const {
  throw ArgumentError(
      fmt::format("{0}: {1} is {2}, but {3}, which is the same setting, is {4}: correct the file, "
                  "or ignore one "
                  "of them (--ignore-config-key {1})",
                  file_, section_ + key, json_excerpt(object_.at(key)), section_ + of,
                  json_excerpt(object_.at(of))));
}

std::int64_t ConfigReader::labels(std::int64_t otherwise) {
  ignore_labels();
  return label_count(object_, otherwise);
}

ConfigReader& ConfigReader::ignore_labels() {
  return ignore({"id2label", "label2id", "num_labels", "_num_labels"});
}

void ConfigReader::finish() {
  // Unsupported features that any config can enable.
  fixed("is_decoder", false, "an encoder used as a decoder is not supported");
  fixed("add_cross_attention", false, "cross attention in this model is not supported");
  fixed("cross_attention_hidden_size", nullptr, "cross attention is not supported");
  fixed("tie_encoder_decoder", false,
        "sharing weights between encoder and decoder is not supported");
  fixed("torchscript", false, "models with weights untied for TorchScript are not supported");
  fixed("pruned_heads", json::object(), "pruned models are not supported");
  fixed("quantization_config", nullptr, "quantized weights are not supported");
  for (const auto& [key, value] : object_.items()) {
    if (is_harmless_model_key(key) || is_usual_value(key, value, object_)) known_.insert(key);
  }
  reject_unknown(fmt::format(" for model_type \"{}\"", excerpt(model_type())), "the results");
}

void ConfigReader::finish(std::string_view what) const { reject_unknown({}, what); }

void ConfigReader::reject_unknown(std::string_view whose, std::string_view what) const {
  for (const auto& [key, value] : object_.items()) {
    if (known_.contains(key) || is_bookkeeping_key(key) || is_off(value)) continue;
    throw ArgumentError(fmt::format(
        "{}: unknown key {} = {}{}, which might change {}; if it does not, ignore it "
        "(--ignore-config-key {})",
        file_, excerpt(section_ + key), json_excerpt(value), whose, what, excerpt(section_ + key)));
  }
}

}  // namespace weft::hf
