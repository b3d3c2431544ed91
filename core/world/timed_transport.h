// Measures the time that a rank spends waiting for other ranks.
#pragma once

#include <memory>
#include <thread>

#include "weft/core/export.h"
#include "weft/core/world/forwarding_transport.h"
#include "weft/core/world/world.h"

namespace WEFT_API weft {

/// A transport that measures the time for which its creating thread waits for transfers. Transfers
/// that proceed while this thread is computing are not counted. All calls are forwarded to another
/// transport.
class TimedTransport final : public ForwardingTransport {
 public:
  explicit TimedTransport(std::shared_ptr<Transport> other);

  /// Returns the total waiting time in seconds. Must be called by the thread that created the
  /// transport.
  double waited() const { return waited_; }

  void wait(const Transfer& transfer) override;

 private:
  const std::thread::id thread_;
  double waited_ = 0;  // of the creating thread only
};

/// Returns the waiting time in seconds measured by the world's TimedTransport, or 0 if the world
/// uses a different type of transport.
double seconds_waited(const World& world);

}  // namespace weft
