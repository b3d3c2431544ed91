// Parameters on their way from the ranks that update them to all others.
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
#include "weft/graph/distribute/owned_step.h"
#include "weft/graph/run/coming_values.h"
#include "weft/graph/run/results.h"
#include "weft/graph/run/variable_store.h"

namespace WEFT_API weft {

/// Gives all ranks all parameters of a step: this rank's as soon as they are computed, the others'
/// into the memory of the shared store, perhaps while the next step is computed there already. One
/// thread drives it, begin() to finish(); all may wait.
class ParameterExchange final : public ComingValues {
 public:
  /// From here on readers of `shared` wait for the parameters of `step`, but for those that ask for
  /// StoreAccess::Coming::pass. Until the first give() nothing is moved.
  static std::shared_ptr<ParameterExchange> begin(const OwnedStep& step, const World& world,
                                                  VariableStore& shared);
  /// Returns when nobody writes into its memory any more.
  ~ParameterExchange() override;

  /// The value before the step, for what computes the new one; undefined for other variables.
  Tensor old_value(std::string_view name) const;
  /// What this rank has computed of a parameter: shard_names::updated(name). Other names are let
  /// pass. Sends it, where all in front of it are given.
  void give(const std::string& output, const Tensor& piece);
  /// Whether a parameter may have changed: the step must go on to its end.
  bool moving() const;
  /// Gives the rest. `own` is what OwnedStep::step gave; nothing of it reads old values any more.
  void finish(const Results& own);
  /// Instead of finish(), where the step failed: if nothing was moved, all is as it was.
  void abandon();

  bool has_come(std::string_view name) const override;
  bool have_all_come() const override;
  void wait(std::string_view name) override;
  void wait_for_all() override;
  bool lost() const override;

 private:
  enum class State : std::uint8_t {
    begun,   // nothing is moved
    moving,  // and the step is not over
    given,   // all that this rank computes
    // Nothing is coming any more:
    done,
    abandoned,
    lost,
  };
  struct Piece {  // of a parameter, of one rank
    std::string name;
    int rank = 0;
    std::span<std::byte> place;
    Tensor own = {};                  // this rank's, once it is given
    Transfer coming = {};             // another's
    std::vector<Transfer> sent = {};  // or passed on
  };

  ParameterExchange(const World& world, VariableStore& shared)
      : world_(world), transport_(*world.transport()), shared_(shared) {}
  void take(const OwnedStep& step, StoreAccess& access);
  // All below: under the mutex.
  void begin_to_move();
  void send_given();
  bool mine(const Piece& piece) const { return piece.rank == transport_.rank(); }
  // Waits without the mutex.
  void wait_for(const std::vector<Transfer>& transfers, std::unique_lock<std::mutex>& lock);
  void lose(std::string_view why);

  const World world_;
  Transport& transport_;
  VariableStore& shared_;  // until finish()

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::begun;
  std::string why_lost_;
  std::map<std::string, Tensor, std::less<>> parameters_;  // in the store's memory
  std::vector<Piece> pieces_;  // in the order in which each rank sends its own
  std::size_t next_ = 0;       // those in front of it are sent, or another rank's
  std::map<std::string, std::size_t, std::less<>> own_;  // by what the step calls its output
};

}  // namespace weft
