// All ranks stop at the same step.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "weft/core/world/world.h"

namespace WEFT_API weft {

/// Whether any rank was asked to stop, told to all at the end of every step without waiting: a rank
/// sends what it was asked, and looks at what the others sent a step ago, which has long arrived
/// with the sums of this one (some 20 microseconds a step on one machine). So all ranks stop at the
/// same step: with one rank the one that was asked in, with several the one after it.
///
/// That all ranks agree to stop also says that all of them were there after one was asked to: a
/// launcher that ends the others since one is lost does not make them save.
class AgreedStop {
 public:
  explicit AgreedStop(World world) : world_(std::move(world)) {}
  // Transfers may be under way to what is in it: it lives until they are done, or the world ends.
  AgreedStop(const AgreedStop&) = delete;
  AgreedStop& operator=(const AgreedStop&) = delete;

  // All ranks call these in the same order; they throw WorldError.

  /// Before the first step. Waits for the others.
  bool begin(bool asked);
  /// After a step. Once it was true, it remains so.
  bool after_step(bool asked);
  /// After the last step: takes what is still on its way.
  void end();

 private:
  struct Round {
    std::byte own{};
    std::vector<std::byte> all;
    std::vector<Transfer> transfers;
  };
  void send(bool asked);
  bool receive();

  const World world_;
  std::deque<Round> rounds_;  // under way
  bool stop_ = false;
};

}  // namespace weft
