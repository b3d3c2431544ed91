// The interface for moving bytes between the ranks of a world.
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
  /// State that a transport attaches to the transfer.
  struct State {
    virtual ~State() = default;
  };
  Transfer() = default;
  explicit Transfer(std::shared_ptr<State> state) : state_(std::move(state)) {}
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

/// One rank's endpoint of the connections between `size()` ranks, which are numbered from 0. It
/// only moves bytes and does not interpret them; receivers do the summation. All functions may be
/// called from any thread.
///
/// Messages from one rank to another on one channel (0 to kChannels - 1) arrive in the order in
/// which they were sent; channels are independent of one another. A message must be received by one
/// receive() of exactly its size: any other size poisons the world.
///
/// A rank has left once it calls leave() or its endpoint is destroyed. A world is poisoned, which
/// aborts all ranks, if a rank calls poison(), is lost, leaves while other ranks wait for it, or is
/// silent for longer than its transport allows. From then on, every wait on every rank throws
/// WorldError with the same line, so that no rank waits forever for a lost one. A poisoned world
/// cannot recover.
class Transport {
 public:
  /// The number of channels (tags) that every MPI implementation supports.
  static constexpr int kChannels = 1 << 15;

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The name of the machine on which a rank runs.
  virtual std::string host(int rank) const = 0;

  /// Starts to send `bytes`, which must not change until the transfer is done. `to` must be another
  /// rank. Throws WorldError if the world is poisoned.
  virtual Transfer send(int to, int channel, std::span<const std::byte> bytes) = 0;
  /// As send(), but starts once `received`, which was returned by receive() of this endpoint, is
  /// done; the caller need not wait for the receive. The position of the message within its channel
  /// is determined by the call of forward().
  virtual Transfer forward(const Transfer& received, int to, int channel,
                           std::span<const std::byte> bytes) = 0;
  /// Starts to receive a message of exactly bytes.size() bytes. `from` must be another rank.
  virtual Transfer receive(int from, int channel, std::span<std::byte> bytes) = 0;
  /// Returns true if wait() would not block.
  virtual bool done(const Transfer& transfer) = 0;
  /// Blocks until the transfer is done: received bytes are available, sent bytes may be
  /// overwritten. Throws WorldError.
  virtual void wait(const Transfer& transfer) = 0;

  /// Poisons the world with a line that states the reason. Only the first call has an effect.
  virtual void poison(std::string_view why) = 0;
  /// The reason why the world is poisoned; empty if it is not.
  virtual std::string poisoned() const = 0;
  /// Sets the current phase of this rank ("step 12: gradients"), which is reported if the rank is
  /// lost.
  virtual void set_phase(std::string_view phase) = 0;
  /// Checks that the other ranks are alive, for use if there is a hint that one of them is lost:
  /// the world is poisoned unless they answer within the given time. Returns immediately. Does
  /// nothing in transports that detect lost ranks on their own.
  virtual void ping(std::chrono::milliseconds within) { static_cast<void>(within); }
  /// Leaves the world; must be the last call, but may be repeated. Returns when all ranks have
  /// left, if the transport waits for that, or throws WorldError. Destroying the endpoint leaves as
  /// well, but cannot report errors.
  virtual void leave() {}
};

/// Throws ArgumentError unless `transport` can exchange messages with rank `other` on this channel.
void check_message(const Transport& transport, int other, int channel);

/// Returns, for example, "rank 2 (host b)".
std::string describe_rank(const Transport& transport, int rank);

}  // namespace weft
