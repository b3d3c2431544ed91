#include "weft/models/generate/settings.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <type_traits>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/fields/read_json.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> kEarlyStoppingNames = {"heuristic", "first", "never"};

ChoiceNames choice_names(EarlyStopping) { return {"early_stopping", kEarlyStoppingNames}; }

/// Calls use(name, field) for all that files hold of `s`, whether it is read or written.
template <class Settings, class Use>
void for_fields(Settings& s, Use&& use) {
  auto& o = s.options;
  use("beams", o.beams);
  use("max_length", o.max_length);
  use("max_new", o.max_new);
  use("min_length", o.min_length);
  use("min_new", o.min_new);
  use("eos_id", o.eos_id);
  use("stop_ids", o.stop_ids);
  use("pad_id", o.pad_id);
  use("forced_eos_id", o.forced_eos_id);
  use("forced_bos_id", o.forced_bos_id);
  use("forced", o.forced);
  use("repetition_penalty", o.repetition_penalty);
  use("no_repeat_ngram", o.no_repeat_ngram);
  use("forbidden", o.forbidden);
  use("forbidden_sequences", o.forbidden_sequences);
  use("forbidden_first", o.forbidden_first);
  use("sampling", o.sampling);
  use("results", o.results);
  use("length_penalty", o.length_penalty);
  use("early_stopping", o.early_stopping);
  use("never", o.never);
  use("slide", o.slide);
  use("states_length", s.states_length);
  use("start", s.start);
  use("before", s.before);
  use("after", s.after);
}

template <class Sampling, class Use>
void for_sampling(Sampling& s, Use&& use) {
  use("temperature", s.temperature);
  use("top_k", s.top_k);
  use("top_p", s.top_p);
  use("min_p", s.min_p);
  use("seed", s.seed);
}

json write(EarlyStopping value) {
  return std::string(choice_names(value).names[static_cast<std::size_t>(value)]);
}
json write(const std::optional<SamplingOptions>& sampling) {
  if (!sampling) return nullptr;
  json object = json::object();
  for_sampling(*sampling, [&](const char* name, const auto& field) { object[name] = field; });
  return object;
}
json write(const std::map<std::int64_t, std::int64_t>& forced) {
  json pairs = json::array();
  for (const auto& [place, id] : forced) pairs.push_back({place, id});
  return pairs;
}
template <class T>
json write(const T& value) {
  return value;
}

const json& list(const json& value, const std::string& key) {
  if (!value.is_array())
    throw FormatError(fmt::format("'{}' must be a list, not {}", key, json_excerpt(value)));
  return value;
}

void read(const json& value, const std::string& key, EarlyStopping& field) {
  std::string name;
  read_json(value, key, name);
  field = static_cast<EarlyStopping>(find_choice(choice_names(field), name));
}
void read(const json& value, const std::string& key, TokenIds& field) {
  field.clear();
  for (const json& id : list(value, key)) read_json(id, key, field.emplace_back());
}
void read(const json& value, const std::string& key, std::vector<TokenIds>& field) {
  field.clear();
  for (const json& ids : list(value, key)) read(ids, key, field.emplace_back());
}
void read(const json& value, const std::string& key, std::map<std::int64_t, std::int64_t>& field) {
  field.clear();
  for (const json& pair : list(value, key)) {
    TokenIds both;
    read(pair, key, both);
    if (both.size() != 2)
      throw FormatError(
          fmt::format("'{}' must hold pairs of place and id, not {}", key, json_excerpt(pair)));
    field[both[0]] = both[1];
  }
}
template <class T>
requires std::is_arithmetic_v<T>
void read(const json& value, const std::string& key, T& field) { read_json(value, key, field); }

/// Reads fields of an object one by one, and then there must be no others.
class ObjectReader {
 public:
  explicit ObjectReader(const json& object) : object_(object) {}

  template <class T>
  void operator()(const char* name, T& field) {
    const auto found = object_.find(name);
    if (found == object_.end())
      throw FormatError(fmt::format("the settings of generation lack '{}'", name));
    known_.insert(name);
    read(*found, name, field);
  }
  void operator()(const char* name, std::optional<SamplingOptions>& field) {
    const auto found = object_.find(name);
    if (found == object_.end() || !(found->is_null() || found->is_object()))
      throw FormatError(fmt::format("the settings of generation lack the object '{}'", name));
    known_.insert(name);
    field.reset();
    if (found->is_null()) return;
    ObjectReader inner(*found);
    for_sampling(field.emplace(), inner);
    inner.finish();
  }
  void finish() const {
    for (const auto& [key, value] : object_.items()) {
      if (!known_.contains(key))
        throw FormatError(fmt::format("the settings of generation know no '{}'", key));
    }
  }

 private:
  const json& object_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace

std::string GenerationSettings::to_json() const {
  json object = json::object();
  for_fields(*this, [&](const char* name, const auto& field) { object[name] = write(field); });
  return object.dump();
}

GenerationSettings GenerationSettings::from_json(std::string_view text) {
  const json object = parse_json_object(text, "the settings of generation");
  GenerationSettings settings;
  ObjectReader reader(object);
  for_fields(settings, reader);
  reader.finish();
  return settings;
}

}  // namespace weft
