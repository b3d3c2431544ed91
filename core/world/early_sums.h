// Partial sums that are sent early, followed by a delta with the bytes that have changed since
// then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/core/export.h"
#include "weft/core/world/transport.h"

namespace WEFT_API weft {

/// Returns the delta from `early` to `later`, which must have equal lengths: the position, the
/// length and the new bytes of each run of differing bytes. The delta is empty if nothing differs.
std::vector<std::byte> compute_delta(std::span<const std::byte> early,
                                     std::span<const std::byte> later);
/// Applies a delta to `sums` in place. Throws DataError if the delta is malformed or exceeds the
/// length of `sums`.
void apply_delta(std::span<const std::byte> changes, std::span<std::byte> sums);

/// A pending send of a delta to another rank. The delta is sent after the sums, on the same
/// channel.
class OutgoingDelta {
 public:
  OutgoingDelta(Transport& transport, int to, int channel, std::vector<std::byte> changes);
  /// Waits until the delta has been sent.
  void wait(Transport& transport) const;

 private:
  // Allocated on the heap, because the address must not change until the transport has read the
  // bytes.
  struct Content {
    std::array<std::byte, sizeof(std::uint64_t)> bytes;  // the length of `changes`
    std::vector<std::byte> changes;
  };
  std::unique_ptr<Content> content_;
  std::vector<Transfer> sent_;
};

/// A pending receive of sums from another rank, optionally followed by a delta. A
/// default-constructed object counts as complete.
class IncomingSums {
 public:
  IncomingSums() = default;
  /// Starts receiving into `sums`. If `changed` is true, a delta follows the sums.
  IncomingSums(Transport& transport, int from, int channel, std::span<std::byte> sums,
               bool changed);
  /// Returns true if the sums and their delta have arrived, and applies the delta. Does not block.
  bool has_arrived(Transport& transport);
  /// Waits for the sums and their delta, and applies the delta.
  void wait(Transport& transport);

 private:
  struct Changes {
    std::array<std::byte, sizeof(std::uint64_t)> bytes;
    Transfer size_transfer;
    std::vector<std::byte> changes = {};
    Transfer delta_transfer = {};
    bool started = false, applied = false;
  };
  void start_delta(Transport& transport);
  void apply();

  int from_ = 0, channel_ = 0;
  std::span<std::byte> sums_;
  Transfer sums_transfer_;
  std::unique_ptr<Changes> changes_;
};

}  // namespace weft
