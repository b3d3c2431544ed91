// A transport that calls an observer before it sends a message.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/world/forwarding_transport.h"

namespace weft::testing {

class WatchedTransport : public ForwardingTransport {
 public:
  /// A message that is about to be sent. send() propagates exceptions from the observer.
  struct Sent {
    const std::string& phase;
    std::size_t bytes;
  };
  using Sends = std::function<void(const Sent&)>;

  WatchedTransport(std::shared_ptr<Transport> inner, Sends sends)
      : ForwardingTransport(std::move(inner)), sends_(std::move(sends)) {}
  Transfer send(int to, int channel, std::span<const std::byte> bytes) override {
    sends_({phase_, bytes.size()});
    return ForwardingTransport::send(to, channel, bytes);
  }
  Transfer forward(const Transfer& received, int to, int channel,
                   std::span<const std::byte> bytes) override {
    sends_({phase_, bytes.size()});
    return ForwardingTransport::forward(received, to, channel, bytes);
  }
  void set_phase(std::string_view phase) override {
    phase_ = phase;
    ForwardingTransport::set_phase(phase);
  }

 private:
  const Sends sends_;
  std::string phase_;
};

}  // namespace weft::testing
