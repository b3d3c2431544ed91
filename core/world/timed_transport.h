// How long a rank waits for the others.
#pragma once

#include <memory>
#include <thread>

#include "weft/core/export.h"
#include "weft/core/world/transport.h"
#include "weft/core/world/world.h"

namespace WEFT_API weft {

/// A transport that measures how long the thread that made it waits for transfers: what is moved
/// while that thread computes costs nothing. All else is the other's.
class TimedTransport final : public Transport {
 public:
  explicit TimedTransport(std::shared_ptr<Transport> other);

  /// Seconds so far; for the thread that made it.
  double waited() const { return waited_; }

  int rank() const override { return other_->rank(); }
  int size() const override { return other_->size(); }
  std::string host(int rank) const override { return other_->host(rank); }
  Transfer send(int to, int channel, std::span<const std::byte> bytes) override {
    return other_->send(to, channel, bytes);
  }
  Transfer receive(int from, int channel, std::span<std::byte> bytes) override {
    return other_->receive(from, channel, bytes);
  }
  bool done(const Transfer& transfer) override { return other_->done(transfer); }
  void wait(const Transfer& transfer) override;
  void poison(std::string_view why) override { other_->poison(why); }
  std::string poisoned() const override { return other_->poisoned(); }
  void set_phase(std::string_view phase) override { other_->set_phase(phase); }
  void ask(std::chrono::milliseconds within) override { other_->ask(within); }
  void leave() override { other_->leave(); }

 private:
  const std::shared_ptr<Transport> other_;
  const std::thread::id thread_;
  double waited_ = 0;  // of that thread alone
};

/// What the world's TimedTransport has measured; 0 where it has another one.
double seconds_waited(const World& world);

}  // namespace weft
