// A rank's end of a world that says what is sent.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/world/transport.h"

namespace weft::testing {

class WatchedTransport : public Transport {
 public:
  /// A message before it is sent. What is thrown comes from send().
  struct Sent {
    const std::string& phase;
    std::size_t bytes;
  };
  using Sends = std::function<void(const Sent&)>;

  WatchedTransport(std::shared_ptr<Transport> inner, Sends sends)
      : inner_(std::move(inner)), sends_(std::move(sends)) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  std::string host(int rank) const override { return inner_->host(rank); }
  Transfer send(int to, int channel, std::span<const std::byte> bytes) override {
    sends_({phase_, bytes.size()});
    return inner_->send(to, channel, bytes);
  }
  Transfer receive(int from, int channel, std::span<std::byte> bytes) override {
    return inner_->receive(from, channel, bytes);
  }
  bool done(const Transfer& transfer) override { return inner_->done(transfer); }
  void wait(const Transfer& transfer) override { inner_->wait(transfer); }
  void poison(std::string_view why) override { inner_->poison(why); }
  std::string poisoned() const override { return inner_->poisoned(); }
  void set_phase(std::string_view phase) override {
    phase_ = phase;
    inner_->set_phase(phase);
  }

 private:
  const std::shared_ptr<Transport> inner_;
  const Sends sends_;
  std::string phase_;
};

}  // namespace weft::testing
