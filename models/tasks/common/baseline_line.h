// Report lines that compare a model with a simpler baseline on the same held-out data.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns "baseline FIGURES: WHAT". `figures` are the baseline metrics, in the same format as the
/// metrics of the model; `what` names the baseline.
inline std::string baseline_line(std::string_view figures, std::string_view what) {
  return fmt::format("baseline  {}: {}\n", figures, what);
}

/// Returns "baseline WHAT: WHY" for a baseline that was not evaluated; `why` is the reason.
inline std::string no_baseline_line(std::string_view what, std::string_view why) {
  return fmt::format("baseline  {}: {}\n", what, why);
}

}  // namespace weft
