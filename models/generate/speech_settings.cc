#include "weft/models/generate/speech_settings.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "weft/core/error.h"
#include "weft/models/fields/read_json.h"

namespace weft {
namespace {

constexpr const char* kSpeechSettings = "the speech settings";

/// Calls use(name, field) for every field. Used for both reading and writing.
template <class Settings, class Use>
void for_speech_fields(Settings& s, Use&& use) {
  use("languages", s.languages);
  use("tasks", s.tasks);
  use("no_timestamps_id", s.no_timestamps_id);
  use("previous_id", s.previous_id);
  use("max_initial_timestamp", s.max_initial_timestamp);
  use("multilingual", s.multilingual);
  use("language", s.language);
  use("task", s.task);
  use("timestamps", s.timestamps);
  use("condition_on_previous", s.condition_on_previous);
  use("compression_threshold", s.compression_threshold);
  use("logprob_threshold", s.logprob_threshold);
  use("no_speech_threshold", s.no_speech_threshold);
}

}  // namespace

std::string SpeechSettings::to_json() const {
  nlohmann::ordered_json object;
  for_speech_fields(*this, [&]<class T>(const char* name, const T& field) {
    if constexpr (std::is_same_v<T, std::optional<double>>) {
      object[name] = field ? nlohmann::ordered_json(*field) : nlohmann::ordered_json();
    } else {
      object[name] = field;
    }
  });
  return object.dump();
}

SpeechSettings SpeechSettings::from_json(std::string_view text) {
  nlohmann::json object = parse_json_object(text, kSpeechSettings);
  SpeechSettings settings;
  try {
    for_speech_fields(settings, [&]<class T>(const char* name, T& field) {
      const nlohmann::json& value = object.at(name);
      if constexpr (std::is_same_v<T, std::optional<double>>) {
        if (!value.is_null()) field = value.get<double>();
      } else {
        field = value.get<T>();
      }
      object.erase(name);
    });
  } catch (const nlohmann::json::exception& e) {
    throw FormatError(fmt::format("{}: {}", kSpeechSettings, e.what()));
  }
  if (!object.empty()) {
    throw FormatError(
        fmt::format("{}: '{}' is unknown: another version of Weft may have written it",
                    kSpeechSettings, object.begin().key()));
  }
  return settings;
}

}  // namespace weft
