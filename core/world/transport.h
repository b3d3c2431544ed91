// What carries bytes between the ranks of a world.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A send or a receive on its way; empty ones are done.
class Transfer {
 public:
  /// What a transport keeps of it.
  struct State {
    virtual ~State() = default;
  };
  Transfer() = default;
  explicit Transfer(std::shared_ptr<State> state) : state_(std::move(state)) {}
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

/// One rank's end of the connections between `size()` ranks, numbered from 0. It moves bytes and
/// knows nothing of what they mean; sums are made by those who receive. All functions may be called
/// from any thread.
///
/// Messages from one rank to another on one channel (0 to kChannels - 1) arrive in the order in
/// which they were sent; channels do not wait for one another. A message is received by one
/// receive() of exactly its size: anything else poisons the world.
///
/// A rank that calls leave(), or whose end is dropped, has left. A world is poisoned when a rank
/// says so, is lost, has left while others wait for it, or is silent for longer than its transport
/// allows. From then on every wait, on every rank, throws WorldError with the same line: nobody
/// waits for somebody who does not come. A poisoned world stays so.
class Transport {
 public:
  /// As many as every MPI has.
  static constexpr int kChannels = 1 << 15;

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The name of the machine that a rank runs on.
  virtual std::string host(int rank) const = 0;

  /// Begins to move `bytes`, which must stay as they are until the transfer is done. `to` is
  /// another rank. Throws WorldError where the world is poisoned.
  virtual Transfer send(int to, int channel, std::span<const std::byte> bytes) = 0;
  /// As send(), once `received`, which a receive() of this end gave, is done: nobody need wait for
  /// it here. Stands among the messages of its channel where pass_on() was called.
  virtual Transfer pass_on(const Transfer& received, int to, int channel,
                           std::span<const std::byte> bytes) = 0;
  /// Begins to wait for a message of that size. `from` is another rank.
  virtual Transfer receive(int from, int channel, std::span<std::byte> bytes) = 0;
  /// Whether wait() would return at once.
  virtual bool done(const Transfer& transfer) = 0;
  /// Returns when the bytes are there, or may be written again. Throws WorldError.
  virtual void wait(const Transfer& transfer) = 0;

  /// Ends the world, with a line that says why. The first one counts.
  virtual void poison(std::string_view why) = 0;
  /// Why the world was poisoned; empty while it is not.
  virtual std::string poisoned() const = 0;
  /// What this rank does from now on ("step 12: gradients"), for the line about a rank that is
  /// lost.
  virtual void set_phase(std::string_view phase) = 0;
  /// Asks whether the others are there, where something says that one is not: the world is poisoned
  /// unless they answer within that time. Returns at once. Does nothing where a transport sees by
  /// itself who is lost.
  virtual void ask(std::chrono::milliseconds within) { static_cast<void>(within); }
  /// The last call, which may be repeated: returns when all ranks have left, where a transport
  /// waits for that, or throws WorldError. A dropped end leaves, too, but cannot say so.
  virtual void leave() {}
};

/// Throws ArgumentError unless `transport` has messages with rank `other` on this channel.
void check_message(const Transport& transport, int other, int channel);

/// "rank 2 (host b)".
std::string describe_rank(const Transport& transport, int rank);

}  // namespace weft
