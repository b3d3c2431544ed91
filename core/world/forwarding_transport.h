// Base class of transports that wrap another one to extend it.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/export.h"
#include "weft/core/world/transport.h"

namespace WEFT_API weft {

/// Forwards every call to another transport.
class ForwardingTransport : public Transport {
 public:
  explicit ForwardingTransport(std::shared_ptr<Transport> inner) : inner_(std::move(inner)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  std::string host(int rank) const override { return inner_->host(rank); }
  Transfer send(int to, int channel, std::span<const std::byte> bytes) override {
    return inner_->send(to, channel, bytes);
  }
  Transfer forward(const Transfer& received, int to, int channel,
                   std::span<const std::byte> bytes) override {
    return inner_->forward(received, to, channel, bytes);
  }
  Transfer receive(int from, int channel, std::span<std::byte> bytes) override {
    return inner_->receive(from, channel, bytes);
  }
  bool done(const Transfer& transfer) override { return inner_->done(transfer); }
  void wait(const Transfer& transfer) override { inner_->wait(transfer); }
  void poison(std::string_view why) override { inner_->poison(why); }
  std::string poisoned() const override { return inner_->poisoned(); }
  void set_phase(std::string_view phase) override { inner_->set_phase(phase); }
  void ping(std::chrono::milliseconds within) override { inner_->ping(within); }
  void leave() override { inner_->leave(); }

 protected:
  Transport& inner() const { return *inner_; }

 private:
  const std::shared_ptr<Transport> inner_;
};

}  // namespace weft
