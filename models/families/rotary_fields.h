// Config fields of rotary positions, which the configs of several families have under the same
// names. They correspond to the fields of RotaryScaling.
#pragma once

#include <initializer_list>
#include <string_view>

#include "weft/models/fields/field_list.h"
#include "weft/models/layers/attention/positions.h"

namespace WEFT_API weft {

/// Returns the scaling that the fields of a config specify.
template <class Config>
RotaryScaling rotary_scaling(const Config& c) {
  return {.kind = c.rotary_scaling,
          .factor = c.rotary_factor,
          .low_factor = c.rotary_low_factor,
          .high_factor = c.rotary_high_factor,
          .context = c.rotary_context,
          .attention_factor = c.rotary_attention_factor,
          .beta_fast = c.rotary_beta_fast,
          .beta_slow = c.rotary_beta_slow,
          .truncate = c.rotary_truncate,
          .mscale = c.rotary_mscale,
          .mscale_all = c.rotary_mscale_all,
          .short_factors = c.rotary_short_factors,
          .long_factors = c.rotary_long_factors};
}

/// Sets the fields of a config to the scaling: the inverse of rotary_scaling().
template <class Config>
void set_rotary_scaling(Config& c, const RotaryScaling& scaling) {
  c.rotary_scaling = scaling.kind;
  c.rotary_factor = scaling.factor;
  c.rotary_low_factor = scaling.low_factor;
  c.rotary_high_factor = scaling.high_factor;
  c.rotary_context = scaling.context;
  c.rotary_attention_factor = scaling.attention_factor;
  c.rotary_beta_fast = scaling.beta_fast;
  c.rotary_beta_slow = scaling.beta_slow;
  c.rotary_truncate = scaling.truncate;
  c.rotary_mscale = scaling.mscale;
  c.rotary_mscale_all = scaling.mscale_all;
  c.rotary_short_factors = scaling.short_factors;
  c.rotary_long_factors = scaling.long_factors;
}

/// Adds the fields of the scaling to a list.
template <class Config>
void add_rotary_scaling_fields(FieldList<Config>& list) {
  list.added("rotary_scaling", &Config::rotary_scaling,
             "scaling of rotary frequencies for longer texts")
      .added("rotary_factor", &Config::rotary_factor,
             "factor by which scaling divides frequencies or extends the context")
      .added("rotary_low_factor", &Config::rotary_low_factor,
             "llama3: wavelengths above rotary-context / rotary-low-factor are scaled")
      .added("rotary_high_factor", &Config::rotary_high_factor,
             "llama3: wavelengths below rotary-context / rotary-high-factor are kept")
      .added("rotary_context", &Config::rotary_context,
             "dynamic, llama3, yarn, longrope: context length of the original model, in tokens")
      .added("rotary_attention_factor", &Config::rotary_attention_factor,
             "yarn, longrope: factor of cosines and sines; 0 = the paper's formula")
      .added("rotary_beta_fast", &Config::rotary_beta_fast,
             "yarn: rotations over the context above which frequencies are kept")
      .added("rotary_beta_slow", &Config::rotary_beta_slow,
             "yarn: rotations over the context below which frequencies are scaled")
      .added("rotary_truncate", &Config::rotary_truncate,
             "yarn: round the bounds between kept and scaled pairs to integers")
      .added("rotary_mscale", &Config::rotary_mscale,
             "yarn: w in the factor 0.1 w ln(rotary-factor) + 1 of cosines and sines; 0 = 1")
      .added("rotary_mscale_all", &Config::rotary_mscale_all,
             "yarn: w in the divisor of that factor and in the scale of latent attention; 0 = "
             "none")
      .added("rotary_short_factors", &Config::rotary_short_factors,
             "longrope: divisors of the frequencies up to rotary-context tokens")
      .added("rotary_long_factors", &Config::rotary_long_factors,
             "longrope: divisors of the frequencies for longer texts");
}

namespace check {

/// A field that has an effect only in combination with other settings.
struct Dependent {
  std::string_view name;
  bool is_set;
};
/// Unless `available`, throws ArgumentError for the first field that is set: it needs `needed`.
void needs(bool available, std::string_view needed, std::initializer_list<Dependent> fields);

/// Throws ArgumentError if the fields of a scaling are invalid. `positions` is the name of the
/// position encoding, and `features` the number of features per head that are rotated.
void rotary_scaling(const RotaryScaling& scaling, std::string_view positions, double base,
                    std::int64_t features);

}  // namespace check
}  // namespace weft
