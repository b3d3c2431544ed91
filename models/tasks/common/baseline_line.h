// The line of a report that says what something simpler makes of the same held-out data.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// "baseline  FIGURES: WHAT": `figures` are those of the task's own line, `what` what reached them.
inline std::string baseline_line(std::string_view figures, std::string_view what) {
  return fmt::format("baseline  {}: {}\n", figures, what);
}

/// "baseline  WHAT: WHY": there are no figures of it.
inline std::string no_baseline_line(std::string_view what, std::string_view why) {
  return fmt::format("baseline  {}: {}\n", what, why);
}

}  // namespace weft
