#include "weft/models/hf/config/class_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/fields/read_json.h"

namespace weft::hf {
namespace {

using nlohmann::json;
using Names = std::map<std::int64_t, std::string>;

/// Returns a value, or null if the key is absent or null.
const json* value_of(const json& config, const char* key) {
  const auto found = config.find(key);
  return found == config.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::int64_t> parse_id(std::string_view text) {
  std::int64_t id = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, id);
  if (text.empty() || error != std::errc() || read != end || id < 0) return std::nullopt;
  return id;
}

std::optional<std::int64_t> id_of_json(const json& value) {
  if (value.is_string()) return parse_id(value.get<std::string>());
  if (!value.is_number_integer() || value < 0) return std::nullopt;
  return value.get<std::int64_t>();
}

/// Returns the text of a label, which may be a number, or nullopt if the value is no label.
std::optional<std::string> name_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  return std::nullopt;
}

void add_label(Names& names, const char* key, std::int64_t id, std::string name) {
  const auto [at, added] = names.emplace(id, std::move(name));
  if (!added)
    throw FormatError(fmt::format("config.json: {} has two entries for the id {}", key, id));
}

/// Reads id2label. Entries with the value null have no name.
Names names_by_id(const json& labels) {
  constexpr const char* kKey = "id2label";
  Names names;
  const auto add = [&](std::int64_t id, const json& value) {
    if (value.is_null()) return;
    auto name = name_of(value);
    if (!name)
      throw FormatError(fmt::format("config.json: {} names the id {} {}, which is not a text", kKey,
                                    id, json_excerpt(value)));
    add_label(names, kKey, id, *std::move(name));
  };
  if (labels.is_array()) {
    std::int64_t id = 0;
    for (const json& value : labels) add(id++, value);
    return names;
  }
  if (!labels.is_object())
    throw FormatError(fmt::format("config.json: {} must map ids to names, and not be {}", kKey,
                                  json_excerpt(labels)));
  for (const auto& [key, value] : labels.items()) {
    const auto id = parse_id(key);
    if (!id)
      throw FormatError(
          fmt::format("config.json: {} has the key '{}', which is not an id", kKey, excerpt(key)));
    add(*id, value);
  }
  return names;
}

/// Calls use(name, id) for every entry of label2id.
template <class Use>
void for_labels(const json& labels, Use use) {
  if (!labels.is_object())
    throw FormatError(fmt::format("config.json: label2id must map names to ids, and not be {}",
                                  json_excerpt(labels)));
  for (const auto& [name, value] : labels.items()) {
    const auto id = id_of_json(value);
    if (!id)
      throw FormatError(fmt::format("config.json: label2id maps '{}' to {}, which is not an id",
                                    excerpt(name), json_excerpt(value)));
    use(name, *id);
  }
}

bool is_default_name(std::string_view name) {
  constexpr std::string_view kPrefix = "LABEL_";
  return name.starts_with(kPrefix) && parse_id(name.substr(kPrefix.size()));
}

void check_inverse(const json& labels, const Names& names) {
  bool informative = false;
  for_labels(labels, [&](const std::string& name, std::int64_t) {
    informative = informative || !is_default_name(name);
  });
  if (!informative) return;
  for_labels(labels, [&](const std::string& name, std::int64_t id) {
    const auto found = names.find(id);
    if (found != names.end() && found->second == name) return;
    throw FormatError(fmt::format(
        "config.json: label2id maps '{}' to {}, but id2label {}: correct one of the two",
        excerpt(name), id,
        found == names.end() ? "has no such id"
                             : fmt::format("names this id '{}'", excerpt(found->second))));
  });
}

/// Throws unless the ids are 0 to `count` - 1.
void check_ids(const Names& names, const char* key, std::int64_t count) {
  const auto list = [](const std::vector<std::string>& ids) {
    return fmt::format("id{} {}", ids.size() == 1 ? "" : "s", list_names(ids, 8));
  };
  std::vector<std::string> missing, others;
  // No more than these ids are printed.
  constexpr std::size_t kMost = 1000;
  for (std::int64_t id = 0; id < count && missing.size() < kMost; ++id) {
    if (!names.contains(id)) missing.push_back(std::to_string(id));
  }
  for (const auto& [id, name] : names) {
    if (id >= count) others.push_back(std::to_string(id));
  }
  if (missing.empty() && others.empty()) return;
  throw FormatError(fmt::format(
      "config.json: {} has no name for {}{}: a model with {} labels has the ids 0 to {}", key,
      missing.empty() ? "any id below the number of labels" : "the " + list(missing),
      others.empty() ? "" : fmt::format(", but names the {}", list(others)), count, count - 1));
}

/// Returns num_labels, which older files call _num_labels, if the config contains it.
std::optional<std::int64_t> stated_count(const json& config) {
  std::optional<std::int64_t> count;
  for (const char* key : {"num_labels", "_num_labels"}) {
    const json* found = value_of(config, key);
    if (found == nullptr) continue;
    std::int64_t own = 0;
    read_json(*found, key, own);
    if (count && *count != own) {
      throw FormatError(fmt::format(
          "config.json: num_labels is {}, but _num_labels is {}: correct one of the two", *count,
          own));
    }
    count = own;
  }
  return count;
}

}  // namespace

std::int64_t label_count(const json& config, std::int64_t otherwise) {
  const std::optional<std::int64_t> stated = stated_count(config);
  std::int64_t count = stated.value_or(otherwise);
  if (const json* names = value_of(config, "id2label")) {
    count = names->is_structured() ? static_cast<std::int64_t>(names->size()) : 0;
    if (stated && *stated != count && count > 0) {
      throw FormatError(fmt::format(
          "config.json: num_labels is {}, but id2label has {} entries: correct one of the two",
          *stated, count));
    }
  } else if (const json* ids = value_of(config, "label2id"); ids != nullptr && !stated) {
    count = static_cast<std::int64_t>(ids->size());
  }
  if (count < 1)
    throw FormatError("config.json: id2label is empty, but a classifier needs at least one label");
  return count;
}

std::vector<std::string> label_names(const json& config) {
  const json* by_id = value_of(config, "id2label");
  const json* by_name = value_of(config, "label2id");
  if (by_id == nullptr && by_name == nullptr) return {};
  const std::int64_t count = label_count(config);
  Names names;
  if (by_id != nullptr) {
    names = names_by_id(*by_id);
    check_ids(names, "id2label", count);
    if (by_name != nullptr) check_inverse(*by_name, names);
  } else {
    for_labels(*by_name, [&](const std::string& name, std::int64_t id) {
      add_label(names, "label2id", id, name);
    });
    check_ids(names, "label2id", count);
  }
  std::vector<std::string> result;
  for (auto& [id, name] : names) result.push_back(std::move(name));
  return result;
}

}  // namespace weft::hf
