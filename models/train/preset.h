// Models and how to train them, under names.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/train/settings.h"

namespace WEFT_API weft {

template <class Config>
struct Preset {
  std::string name;
  std::string about;  // one line
  Config model = {};
  TrainSettings training = {};
};

/// Of presets of any kind. Throws ArgumentError that lists them.
template <class AnyPreset>
const AnyPreset& find_preset(const std::vector<AnyPreset>& presets, std::string_view name) {
  std::string known;
  for (const AnyPreset& preset : presets) {
    if (preset.name == name) return preset;
    known += (known.empty() ? "" : ", ") + preset.name;
  }
  throw ArgumentError(fmt::format("unknown preset '{}': there are {}", name, known));
}

}  // namespace weft
