// The interface that moves bytes between the ranks of a world.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A pending send or receive. A default-constructed Transfer counts as done.
class Transfer {
 public:
  /// The state that a transport attaches to a transfer.
  struct State {
    virtual ~State() = default;
  };
  Transfer() = default;
  explicit Transfer(std::shared_ptr<State> state) : state_(std::move(state)) {}
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

/// One rank's endpoint of the connections between `size()` ranks, which are numbered from 0. A
/// transport moves bytes without interpreting them; sums are computed by the receivers. All
/// functions may be called from any thread.
///
/// Messages from one rank to another on one channel (0 to kChannels - 1) arrive in the order in
/// which they were sent. Channels are independent of one another. Each message must be received by
/// a single receive() of exactly the same size; any other size poisons the world.
///
/// A rank has left once it calls leave() or its endpoint is destroyed. A world is poisoned, which
/// aborts all ranks, if a rank calls poison(), is lost, leaves while other ranks wait for it, or is
/// silent for longer than its transport allows. From then on, every wait on every rank throws
/// WorldError with the same message, so that no rank waits forever for a lost rank. A poisoned
/// world cannot recover.
class Transport {
 public:
  /// The number of channels (tags), which every MPI implementation supports.
  static constexpr int kChannels = 1 << 15;

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Returns the name of the machine on which a rank runs.
  virtual std::string host(int rank) const = 0;

  /// Starts sending `bytes`, which must not change until the transfer is done. `to` must be another
  /// rank. Throws WorldError if the world is poisoned.
  virtual Transfer send(int to, int channel, std::span<const std::byte> bytes) = 0;
  /// Like send(), but sends the message only when `received`, a transfer returned by receive() on
  /// this endpoint, is done. The caller need not wait for the receive. The order of messages on a
  /// channel is determined by when forward() is called.
  virtual Transfer forward(const Transfer& received, int to, int channel,
                           std::span<const std::byte> bytes) = 0;
  /// Starts receiving a message of exactly bytes.size() bytes. `from` must be another rank.
  virtual Transfer receive(int from, int channel, std::span<std::byte> bytes) = 0;
  /// Returns true if wait() would not block.
  virtual bool done(const Transfer& transfer) = 0;
  /// Blocks until the transfer is done, that is, until received bytes are available or sent bytes
  /// may be overwritten. Throws WorldError.
  virtual void wait(const Transfer& transfer) = 0;

  /// Poisons the world with a message that states the reason. Only the first call has an effect.
  virtual void poison(std::string_view why) = 0;
  /// Returns the reason why the world is poisoned, or "" if it is not poisoned.
  virtual std::string poisoned() const = 0;
  /// Sets the current phase of this rank ("step 12: gradients"), which is reported if the rank is
  /// lost.
  virtual void set_phase(std::string_view phase) = 0;
  /// Checks whether the other ranks are alive, for use if there is an indication that one of them
  /// is lost. The world is poisoned unless they answer within the given time. Returns immediately.
  /// Does nothing in transports that detect lost ranks on their own.
  virtual void ping(std::chrono::milliseconds within) { static_cast<void>(within); }
  /// Leaves the world. This must be the last call, but it may be repeated. If the transport waits
  /// for all ranks to leave, returns once they have left or throws WorldError. Destroying the
  /// endpoint also leaves the world, but cannot report errors.
  virtual void leave() {}
};

/// Throws ArgumentError unless `transport` can exchange messages with rank `other` on this channel.
void check_message(const Transport& transport, int other, int channel);

/// Returns, for example, "rank 2 (host b)".
std::string describe_rank(const Transport& transport, int rank);

}  // namespace weft
