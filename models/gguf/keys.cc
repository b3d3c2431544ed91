#include "weft/models/gguf/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "weft/core/error.h"
#include "weft/models/families/layer_pattern.h"

namespace weft::gguf {

std::string all_but_last(std::int64_t period, std::int64_t layers) {
  if (period == 0 || period > layers) return "";
  std::string pattern(static_cast<std::size_t>(period), '1');
  pattern.back() = '0';
  return shortest_pattern(pattern, layers);
}

double shortest_decimal(double value) {
  return std::strtod(fmt::format("{}", static_cast<float>(value)).c_str(), nullptr);
}

std::string KeyReader::full(std::string_view key) const {
  return fmt::format("{}.{}", architecture_, key);
}

bool KeyReader::has(std::string_view key) const { return file_.metadata.contains(full(key)); }

KeyReader& KeyReader::per_layer(std::string_view key, std::int64_t& value, std::int64_t absent) {
  known_.insert(full(key));
  value = absent;
  if (!has(key)) return *this;
  const auto values = file_.metadata.get<std::vector<std::int64_t>>(full(key));
  if (values.empty()) unsupported(key, "the array is empty");
  if (std::any_of(values.begin(), values.end(), [&](auto v) { return v != values.front(); }))
    unsupported(key, "layers with different values are not supported");
  value = values.front();
  check_range(key, value);
  return *this;
}

KeyReader& KeyReader::layers(std::string_view key, std::string& pattern, const std::string& absent,
                             std::int64_t layers) {
  known_.insert(full(key));
  pattern = absent;
  if (!has(key)) return *this;
  const GgufValue& value = file_.metadata.find_entry(full(key))->value;
  if (!value.is_array()) {
    std::int64_t period = 0;
    read(key, period);
    pattern = all_but_last(period, layers);
    return *this;
  }
  std::vector<bool> selected;
  if (value.type() == GgufType::boolean) {
    selected = file_.metadata.get<std::vector<bool>>(full(key));
  } else {
    for (const auto v : file_.metadata.get<std::vector<std::int64_t>>(full(key)))
      selected.push_back(v != 0);
  }
  if (static_cast<std::int64_t>(selected.size()) < layers)
    unsupported(key, "it must have an element for every layer");
  std::string all;
  for (std::int64_t i = 0; i < layers; ++i)
    all += selected[static_cast<std::size_t>(i)] ? '1' : '0';
  pattern = shortest_pattern(all, layers);
  return *this;
}

KeyReader& KeyReader::ignore(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) known_.insert(full(key));
  return *this;
}

KeyReader& KeyReader::ignored_by_llama_cpp(std::string_view key) {
  std::int64_t value = 0;
  optional(key, value, std::int64_t{0});
  if (value != 0)
    notes_.push_back(fmt::format("{} = {} has no effect, as in llama.cpp", full(key), value));
  return *this;
}

void KeyReader::unsupported(std::string_view key, std::string_view why) const {
  file_.metadata.fail(full(key),
                      fmt::format("has an unsupported value{}{}", why.empty() ? "" : ": ", why));
}

void KeyReader::finish() const {
  const std::string prefix = architecture_ + ".";
  for (const GgufMetadata::Entry& entry : file_.metadata.entries()) {
    if (!entry.key.starts_with(prefix) || known_.contains(entry.key)) continue;
    file_.metadata.fail(
        entry.key,
        fmt::format("is unknown, and might change the results of the model (to ignore it: "
                    "--ignore-config-key {})",
                    entry.key));
  }
}

void KeyReader::check_range(std::string_view key, std::int64_t value) const {
  // Products of two values fit in 64 bits.
  if (value < 0 || value > std::numeric_limits<std::int32_t>::max())
    file_.metadata.fail(full(key), fmt::format("is {}, but must be in [0, 2^31)", value));
}
void KeyReader::read(std::string_view key, std::int64_t& value) {
  known_.insert(full(key));
  value = file_.metadata.get<std::int64_t>(full(key));
  check_range(key, value);
}
void KeyReader::read(std::string_view key, double& value) {
  known_.insert(full(key));
  value = shortest_decimal(file_.metadata.get<double>(full(key)));
}
void KeyReader::read(std::string_view key, bool& value) {
  known_.insert(full(key));
  value = file_.metadata.get<bool>(full(key));
}
void KeyReader::read(std::string_view key, std::string& value) {
  known_.insert(full(key));
  value = file_.metadata.get<std::string>(full(key));
}

std::string KeyWriter::full(std::string_view key) const {
  return fmt::format("{}.{}", architecture_, key);
}
KeyWriter& KeyWriter::layers(std::string_view key, const std::string& pattern,
                             const std::string& absent, std::int64_t layers) {
  if (pattern == absent) return *this;
  for (std::int64_t period = 0; period <= layers; ++period) {
    if (all_but_last(period, layers) == pattern) return required(key, period);
  }
  return *this;
}
void KeyWriter::write(std::string_view key, std::int64_t value) {
  if (value < 0 || value > std::numeric_limits<std::uint32_t>::max()) {
    throw ArgumentError(fmt::format(
        "{} would be {}, but must be in [0, 2^32): GGUF stores it in 32 bits", full(key), value));
  }
  metadata_.set(full(key), static_cast<std::uint32_t>(value));
}
void KeyWriter::write(std::string_view key, double value) {
  metadata_.set(full(key), static_cast<float>(value));
}
void KeyWriter::write(std::string_view key, bool value) { metadata_.set(full(key), value); }
void KeyWriter::write(std::string_view key, const std::string& value) {
  metadata_.set(full(key), value);
}

}  // namespace weft::gguf
