// Measures how long a rank waits for other ranks.
#pragma once

#include <memory>
#include <thread>

#include "weft/core/export.h"
#include "weft/core/world/forwarding_transport.h"
#include "weft/core/world/world.h"

namespace WEFT_API weft {

/// A transport that measures how long the thread that created it waits for transfers. Transfers
/// that proceed while that thread computes are not counted. All calls are forwarded to another
/// transport.
class TimedTransport final : public ForwardingTransport {
 public:
  explicit TimedTransport(std::shared_ptr<Transport> other);

  /// The total waiting time in seconds. To be called by the thread that created the transport.
  double waited() const { return waited_; }

  void wait(const Transfer& transfer) override;

 private:
  const std::thread::id thread_;
  double waited_ = 0;  // of that thread only
};

/// Returns the seconds measured by the world's TimedTransport, or 0 if its transport is of another
/// type.
double seconds_waited(const World& world);

}  // namespace weft
