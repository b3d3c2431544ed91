// Config keys of rotary positions, for ConfigReader and ConfigWriter. Internal to hf.
#pragma once

#include "weft/models/families/gpt_config.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/config_writer.h"

namespace weft::hf {

/// Reads the settings of rotary positions from rope_scaling or, in newer files, from
/// rope_parameters, which also contains the base. In both, settings may be given separately for
/// layers with and without a window, if c.rotary_window_base is not 0. c.context, and the bases and
/// the fraction of rotated features if they are keys of the config itself, must be set before the
/// call. c.rotary_context is the default of original_max_position_embeddings. If `partial`, the
/// settings may contain the fraction. If the config has no settings, c keeps its scaling, except if
/// rope_scaling is null. Throws ArgumentError if a setting occurs in several places or under
/// several names with different values.
void rotary_keys(ConfigReader& config, GptConfig& c, bool partial = false, bool scaled = false);
/// Writes rope_scaling unless the positions are not scaled. If `scaled`, the positions are scaled
/// by default, so the key is null in this case.
void rotary_keys(ConfigWriter& config, const GptConfig& c, bool partial = false,
                 bool scaled = false);

}  // namespace weft::hf
