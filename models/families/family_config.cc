#include "weft/models/families/family_config.h"

#include <array>

namespace weft {

std::string_view family_name(const FamilyConfig& config) {
  constexpr std::array<std::string_view, 6> kNames = {"decoder",          "encoder",
                                                      "encoder-decoder",  "vision transformer",
                                                      "Swin transformer", "image-text model"};
  return kNames[config.index()];
}

}  // namespace weft
