#include "weft/models/families/rotary_fields.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/models/fields/check.h"

namespace weft::check {
namespace {

template <class... Args>
void demand(bool fits, fmt::format_string<Args...> text, Args&&... args) {
  if (!fits) throw ArgumentError(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace

void needs(bool available, std::string_view needed, std::initializer_list<Dependent> fields) {
  for (const auto& [name, is_set] : fields)
    demand(available || !is_set, "{} needs {}", name, needed);
}

void rotary_scaling(const RotaryScaling& c, std::string_view positions, double base,
                    std::int64_t features) {
  const bool yarn = c.kind == RotaryScalingKind::yarn;
  const bool longrope = c.kind == RotaryScalingKind::longrope;
  not_negative("rotary_attention_factor", c.attention_factor);
  needs(yarn || longrope, "rotary_scaling yarn or longrope",
        {{"rotary_attention_factor", c.attention_factor != 0}});
  needs(yarn, "rotary_scaling yarn",
        {{"rotary_mscale", c.mscale != 0}, {"rotary_mscale_all", c.mscale_all != 0}});
  needs(longrope, "rotary_scaling longrope",
        {{"rotary_short_factors", !c.short_factors.empty()},
         {"rotary_long_factors", !c.long_factors.empty()}});
  if (c.kind == RotaryScalingKind::none) return;
  const std::string_view name = choice_name(c.kind);
  demand(positions == "rotary", "rotary_scaling {} needs rotary positions, not {}", name,
         positions);
  demand(c.factor >= 1 && std::isfinite(c.factor),
         "rotary_factor must be at least 1 and finite, not {}", c.factor);
  if (c.kind == RotaryScalingKind::linear) return;
  demand(c.context >= 1, "rotary_scaling {} needs a rotary_context of at least 1, not {}", name,
         c.context);
  if (c.kind == RotaryScalingKind::llama3) {
    demand(c.low_factor > 0 && c.high_factor > c.low_factor,
           "rotary_high_factor {} must be larger than rotary_low_factor {}, which must be positive",
           c.high_factor, c.low_factor);
  }
  if (yarn) {
    demand(base > 1, "rotary_scaling yarn needs a rotary_base above 1, not {}", base);
    demand(c.beta_slow > 0 && c.beta_fast > c.beta_slow,
           "rotary_beta_fast {} must be larger than rotary_beta_slow {}, which must be positive",
           c.beta_fast, c.beta_slow);
    not_negative("rotary_mscale", c.mscale);
    not_negative("rotary_mscale_all", c.mscale_all);
  }
  if (!longrope) return;
  demand(c.context > 1 || c.factor == 1 || c.attention_factor > 0,
         "rotary_scaling longrope needs a rotary_context above 1 or a rotary_attention_factor");
  for (const auto& [list, factors] : {std::pair{"rotary_short_factors", &c.short_factors},
                                      {"rotary_long_factors", &c.long_factors}}) {
    demand(std::ssize(*factors) == features / 2,
           "{} has {} factors, but {} pairs of features are rotated", list, factors->size(),
           features / 2);
    for (const double factor : *factors) positive(list, factor);
  }
}

}  // namespace weft::check
