// Published decoders, for the list of published_models(). Internal to hf.
#pragma once

#include <vector>

#include "weft/models/hf/published.h"

namespace weft::hf {

/// Returns the published decoders except the GPTs, ordered by family and size.
std::vector<PublishedModel> published_decoders();

}  // namespace weft::hf
