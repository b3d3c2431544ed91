// Handshake fields that ranks compare before a distributed training run.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/core/world/handshake.h"
#include "weft/graph/run/session.h"
#include "weft/models/training/settings.h"

namespace WEFT_API weft {

/// The state at the start of a training run.
struct TrainingStart {
  const Program& train;  // the training step
  const TrainSettings& settings;
  std::string_view data;               // fingerprint of the training data
  std::int64_t step = 0, skipped = 0;  // steps completed and skipped so far
};

/// Returns the handshake of the program (handshake_of) with additional fields: every setting, the
/// data fingerprint, the step counters, and checksums of all parameters and buffers (running
/// statistics) in the session's store, which must be initialised.
Handshake training_handshake(const Session& session, const TrainingStart& start);

}  // namespace weft
