#include "weft/models/generate/settings.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <type_traits>
#include <utility>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/fields/read_json.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr const char* kSpeech = "speech";
constexpr std::array<std::string_view, 3> kEarlyStoppingNames = {"heuristic", "first", "never"};

ChoiceNames choice_names(EarlyStopping) { return {"early_stopping", kEarlyStoppingNames}; }

/// Calls use(name, field) for every field of `o` that is stored in files. Used for both reading and
/// writing.
template <class Options, class Use>
void for_options(Options& o, Use&& use) {
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
  use("encoder_no_repeat_ngram", o.encoder_no_repeat_ngram);
  use("forbidden", o.bad_token_ids);
  use("forbidden_sequences", o.bad_token_sequences);
  use("forbidden_first", o.bad_first_token_ids);
  use("sampling", o.sampling);
  use("results", o.results);
  use("length_penalty", o.length_penalty);
  use("early_stopping", o.early_stopping);
  use("never", o.suppressed);
  use("slide", o.slide);
}
template <class Settings, class Use>
void for_fields(Settings& s, Use&& use) {
  for_options(s.options, use);
  use("states_length", s.states_length);
  use("start", s.start);
  use("bos_id", s.bos_id);
  use("before", s.before);
  use("after", s.after);
  use("tasks", s.tasks);
}
template <class Task, class Use>
void for_task(Task& t, Use&& use) {
  for_options(t.options, use);
  use("states_length", t.states_length);
  use("start", t.start);
  use("prefix", t.prefix);
  use("refused", t.unsupported_reason);
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
json write(const std::optional<std::int64_t>& id) { return id ? json(*id) : json(); }
template <class T>
json write(const T& value) {
  return value;
}

using Tasks = std::map<std::string, TaskGeneration, std::less<>>;

json write(const Tasks& tasks) {
  json all = json::object();
  for (const auto& [name, task] : tasks) {
    json& object = all[name] = json::object();
    for_task(task, [&object](const char* key, const auto& field) { object[key] = write(field); });
  }
  return all;
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
          fmt::format("'{}' must contain [position, id] pairs, not {}", key, json_excerpt(pair)));
    field[both[0]] = both[1];
  }
}
void read(const json& value, const std::string& key, std::string& field) {
  read_json(value, key, field);
}
template <class T>
requires std::is_arithmetic_v<T>
void read(const json& value, const std::string& key, T& field) { read_json(value, key, field); }

/// Reads the fields of an object. finish() throws if the object contains fields that were not read.
class ObjectReader {
 public:
  explicit ObjectReader(const json& object) : object_(object) {}

  template <class T>
  void operator()(const char* name, T& field) {
    const auto found = object_.find(name);
    if (found == object_.end())
      throw FormatError(fmt::format("the generation settings do not contain '{}'", name));
    known_.insert(name);
    read(*found, name, field);
  }
  void operator()(const char* name, std::optional<SamplingOptions>& field) {
    const auto found = object_.find(name);
    if (found == object_.end() || !(found->is_null() || found->is_object()))
      throw FormatError(
          fmt::format("the generation settings do not contain the object '{}'", name));
    known_.insert(name);
    field.reset();
    if (found->is_null()) return;
    ObjectReader inner(*found);
    for_sampling(field.emplace(), inner);
    inner.finish();
  }
  void operator()(const char* name, std::optional<std::int64_t>& field) {
    const auto found = object_.find(name);
    field.reset();
    known_.insert(name);
    if (found != object_.end() && !found->is_null()) read_json(*found, name, field.emplace());
  }
  void operator()(const char* name, Tasks& field) {
    const auto found = object_.find(name);
    field.clear();
    if (found == object_.end()) return;
    known_.insert(name);
    if (!found->is_object())
      throw FormatError(fmt::format("'{}' must be an object, not {}", name, json_excerpt(*found)));
    for (const auto& [task, settings] : found->items()) {
      ObjectReader inner(settings);
      for_task(field[task], inner);
      inner.finish();
    }
  }
  void finish() const {
    for (const auto& [key, value] : object_.items()) {
      if (!known_.contains(key))
        throw FormatError(
            fmt::format("the generation settings contain an unknown field '{}'", key));
    }
  }

 private:
  const json& object_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace

const TaskGeneration& GenerationSettings::task(std::string_view name) const {
  const auto found = tasks.find(name);
  if (found == tasks.end()) {
    std::vector<std::string> names;
    for (const auto& [known, settings] : tasks) names.push_back(known);
    throw ArgumentError(
        names.empty()
            ? fmt::format("the model has no task settings, so '{}' is not available", excerpt(name))
            : unknown_name("task", excerpt(name), names));
  }
  if (!found->second.unsupported_reason.empty())
    throw ArgumentError(found->second.unsupported_reason);
  return found->second;
}

std::string GenerationSettings::to_json() const {
  json object = json::object();
  for_fields(*this, [&](const char* name, const auto& field) { object[name] = write(field); });
  if (speech) object[kSpeech] = json::parse(speech->to_json());
  return object.dump();
}

GenerationSettings GenerationSettings::from_json(std::string_view text) {
  json object = parse_json_object(text, "the generation settings");
  GenerationSettings settings;
  if (const auto found = object.find(kSpeech); found != object.end()) {
    settings.speech = SpeechSettings::from_json(found->dump());
    object.erase(found);
  }
  ObjectReader reader(object);
  for_fields(settings, reader);
  reader.finish();
  return settings;
}

}  // namespace weft
