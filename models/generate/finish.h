// The reasons why a generated text ends.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "weft/core/export.h"
#include "weft/models/fields/choice.h"

namespace WEFT_API weft {

/// The reason why a generated text ends.
enum class Finish : std::uint8_t {
  end,        // the model generated an end id
  stop,       // a stop text or stop sequence was generated, or a constraint permits nothing else
  length,     // the maximum length was reached
  cancelled,  // the caller stopped it
};
inline constexpr std::array<std::string_view, 4> kFinishNames = {"end", "stop", "length",
                                                                 "cancelled"};
inline ChoiceNames choice_names(Finish) { return {"finish", kFinishNames}; }

}  // namespace weft
