// Asynchronous all-gather of updated parameters.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/world/world.h"
#include "weft/graph/distributed/owned_step.h"
#include "weft/graph/engine/pending_updates.h"
#include "weft/graph/engine/results.h"
#include "weft/graph/engine/variable_store.h"

namespace WEFT_API weft {

/// Distributes the new parameters of a step to all ranks. It sends this rank's pieces as soon as
/// they are computed, and receives the pieces of other ranks directly into the shared store,
/// possibly while this rank is already computing the next step. One thread calls the functions from
/// begin() to finish(); any thread may wait.
class ParameterExchange final : public PendingUpdates {
 public:
  /// Starts an exchange. From then on, readers of `shared` wait for the parameters of `step` unless
  /// they pass StoreAccess::Pending::ignore. Nothing is transferred before the first publish().
  static std::shared_ptr<ParameterExchange> begin(const OwnedStep& step, const World& world,
                                                  VariableStore& shared);
  /// Blocks until no transfer uses the memory of the parameters.
  ~ParameterExchange() override;

  /// Returns the value of a parameter before the step, from which the new value is computed;
  /// undefined for other variables.
  Tensor old_value(std::string_view name) const;
  /// Sends this rank's piece of an updated parameter as soon as all preceding pieces have been
  /// published. `output` is shard_names::updated(name); other names are ignored.
  void publish(const std::string& output, const Tensor& piece);
  /// Returns true if a parameter may have changed, so that the step must run to completion.
  bool moving() const;
  /// Publishes the remaining pieces. `own` contains the results of OwnedStep::step. The old values
  /// must no longer have any readers.
  void finish(const Results& own);
  /// Called instead of finish() if the step failed. If nothing was transferred, all variables are
  /// unchanged.
  void abandon();

  bool has_arrived(std::string_view name) const override;
  bool have_all_arrived() const override;
  void wait(std::string_view name) override;
  void wait_for_all() override;
  bool lost() const override;

 private:
  enum class State : std::uint8_t {
    begun,      // no transfer has started
    moving,     // transfers have started, and the step is not finished
    published,  // this rank has published all its pieces
    // Final states, in which nothing is pending:
    done,
    abandoned,
    lost,
  };
  struct Piece {  // one rank's piece of a parameter
    std::string name;
    int rank = 0;
    std::span<std::byte> place;
    Tensor own = {};                  // this rank's piece, once it is published
    Transfer pending = {};            // the receive, for another rank's piece
    std::vector<Transfer> sent = {};  // sends, including those that forward another rank's piece
  };

  ParameterExchange(const World& world, VariableStore& shared)
      : world_(world), transport_(*world.transport()), shared_(shared) {}
  void take(const OwnedStep& step, StoreAccess& access);
  // The mutex must be held when the functions below are called.
  void start_transfers();
  void send_published();
  bool mine(const Piece& piece) const { return piece.rank == transport_.rank(); }
  // Releases the mutex while waiting.
  void wait_for(const std::vector<Transfer>& transfers, std::unique_lock<std::mutex>& lock);
  void mark_lost(std::string_view why);

  const World world_;
  Transport& transport_;
  VariableStore& shared_;  // used until finish()

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::begun;
  std::string why_lost_;
  std::map<std::string, Tensor, std::less<>> parameters_;  // in the store's memory
  std::vector<Piece> pieces_;  // each rank sends its own pieces in this order
  // Index of the next piece to send. All pieces before it have been sent or belong to other ranks.
  std::size_t next_ = 0;
  // Indices of this rank's pieces, by the name of the step's output.
  std::map<std::string, std::size_t, std::less<>> own_;
};

}  // namespace weft
