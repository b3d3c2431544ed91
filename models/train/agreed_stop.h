// Agreement of all ranks to stop at the same step.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "weft/core/world/world.h"

namespace WEFT_API weft {

/// Shares stop requests among all ranks without waiting. At the end of every step each rank sends
/// whether it has a request, and reads the flags that the others sent one step earlier, which
/// arrived with the sums of this step (about 20 microseconds per step on one machine). All ranks
/// therefore stop at the same step: with one rank at the step of the request, with several at the
/// next one.
///
/// An agreement to stop also shows that all ranks were still running after the request. If a rank
/// is lost and the launcher terminates the others, they therefore do not save.
class AgreedStop {
 public:
  explicit AgreedStop(World world) : world_(std::move(world)) {}
  // Not copyable, because pending transfers write into it. It must live until they are complete or
  // the world has ended.
  AgreedStop(const AgreedStop&) = delete;
  AgreedStop& operator=(const AgreedStop&) = delete;

  // All ranks must call these functions in the same order; they throw WorldError.

  /// Returns true if any rank has a stop request before the first step. Waits for the other ranks.
  bool begin(bool requested);
  /// Returns true if all ranks stop after this step. Once true, the result remains true.
  bool after_step(bool requested);
  /// Receives the messages that are still pending after the last step.
  void end();

 private:
  struct Round {
    std::byte own{};
    std::vector<std::byte> all;
    std::vector<Transfer> transfers;
  };
  void send(bool requested);
  bool receive();

  const World world_;
  std::deque<Round> rounds_;  // rounds with pending transfers
  bool stop_ = false;
};

}  // namespace weft
