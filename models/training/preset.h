// Presets: named model configurations with their training settings.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/training/settings.h"

namespace WEFT_API weft {

template <class Config>
struct Preset {
  std::string name;
  std::string about;  // one-line description
  Config model = {};
  TrainSettings training = {};
};

/// Returns the preset with this name. If the name is unknown, throws an ArgumentError that lists
/// the presets.
template <class AnyPreset>
const AnyPreset& find_preset(const std::vector<AnyPreset>& presets, std::string_view name) {
  std::string known;
  for (const AnyPreset& preset : presets) {
    if (preset.name == name) return preset;
    known += (known.empty() ? "" : ", ") + preset.name;
  }
  throw ArgumentError(fmt::format("unknown preset '{}': expected one of {}", name, known));
}

}  // namespace weft
