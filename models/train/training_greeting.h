// What ranks compare before they train together.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/core/world/handshake.h"
#include "weft/graph/run/session.h"
#include "weft/models/train/settings.h"

namespace WEFT_API weft {

/// Where a training begins.
struct TrainingStart {
  const Program& train;  // what takes a step
  const TrainSettings& settings;
  std::string_view data;               // their fingerprint
  std::int64_t step = 0, skipped = 0;  // steps completed and skipped so far
};

/// What greeting_of() says of the program, and: every setting, the data, the step, and checksums of
/// all parameters and buffers (running statistics) in the session's store, which have started.
Greeting training_greeting(const Session& session, const TrainingStart& start);

}  // namespace weft
