#include "weft/core/world/timed_transport.h"

#include <chrono>
#include <utility>

namespace weft {

TimedTransport::TimedTransport(std::shared_ptr<Transport> other)
    : ForwardingTransport(std::move(other)), thread_(std::this_thread::get_id()) {}

void TimedTransport::wait(const Transfer& transfer) {
  if (std::this_thread::get_id() != thread_) return inner().wait(transfer);
  const auto start = std::chrono::steady_clock::now();
  inner().wait(transfer);
  waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double seconds_waited(const World& world) {
  const auto* timed = dynamic_cast<const TimedTransport*>(world.transport());
  return timed == nullptr ? 0 : timed->waited();
}

}  // namespace weft
