// Config keys of rotary positions, for ConfigReader and ConfigWriter. Internal to hf.
#pragma once

#include "weft/models/families/gpt_config.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/config_writer.h"

namespace weft::hf {

/// Reads the settings of rotary positions from rope_scaling or, in newer files, from
/// rope_parameters, which also contains the base. c.context, and the base and the fraction of
/// rotated features if they are keys of the config itself, must be set before the call. If
/// `partial`, the settings may contain this fraction. Throws ArgumentError if a setting occurs in
/// several places or under several names with different values.
void rotary_keys(ConfigReader& config, GptConfig& c, bool partial = false);
/// Writes rope_scaling unless the positions are not scaled.
void rotary_keys(ConfigWriter& config, const GptConfig& c, bool partial = false);

}  // namespace weft::hf
