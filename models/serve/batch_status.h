// Options and counters of the queue for requests that contain several texts (batch_queue.h).
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Limits of a queue.
struct BatchQueueOptions {
  std::int64_t batch_tokens = 4096;  // maximum number of tokens per batch, unless a text is longer
  std::int64_t requests = 256;       // maximum number of requests in the queue
};

/// Counters since the construction, and the current state.
struct BatchQueueStatus {
  std::int64_t running = 0, waiting = 0;                 // requests
  std::int64_t requests = 0, failed = 0, cancelled = 0;  // that have ended; cancelled: not in time
  std::int64_t tokens = 0, batches = 0;                  // that were run
  double busy_seconds = 0;                               // time in runs
};

}  // namespace weft
