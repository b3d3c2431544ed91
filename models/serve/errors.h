// Errors of requests that a server cannot serve now or in time.
#pragma once

#include "weft/core/error.h"

namespace WEFT_API weft {

/// Too many requests wait. The client can try again later.
class QueueFullError : public ErrorOf<QueueFullError> {
 public:
  using ErrorOf::ErrorOf;
};

/// The deadline of a request passed before it had all its results.
class DeadlineError : public ErrorOf<DeadlineError> {
 public:
  using ErrorOf::ErrorOf;
};

}  // namespace weft
