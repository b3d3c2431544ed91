// How long a rank waits for the others.
#pragma once

#include <memory>
#include <thread>

#include "weft/core/export.h"
#include "weft/core/world/transport_around.h"
#include "weft/core/world/world.h"

namespace WEFT_API weft {

/// A transport that measures how long the thread that made it waits for transfers: what is moved
/// while that thread computes costs nothing. All else is the other's.
class TimedTransport final : public TransportAround {
 public:
  explicit TimedTransport(std::shared_ptr<Transport> other);

  /// Seconds so far; for the thread that made it.
  double waited() const { return waited_; }

  void wait(const Transfer& transfer) override;

 private:
  const std::thread::id thread_;
  double waited_ = 0;  // of that thread alone
};

/// What the world's TimedTransport has measured; 0 where it has another one.
double seconds_waited(const World& world);

}  // namespace weft
