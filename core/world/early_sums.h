// Sums that are sent before they are complete, and then what has changed in them.
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

/// What makes `later` of `early`, which are as long: where runs of bytes differ, and those of
/// `later`. Empty where none do.
std::vector<std::byte> changes_between(std::span<const std::byte> early,
                                       std::span<const std::byte> later);
/// The same in place. Throws DataError where these are no changes of so many bytes.
void apply_changes(std::span<const std::byte> changes, std::span<std::byte> sums);

/// Changes on their way to another rank, behind the sums on the same channel.
class SentChanges {
 public:
  SentChanges(Transport& transport, int to, int channel, std::vector<std::byte> changes);
  void wait(Transport& transport) const;

 private:
  // In one place, since the transport reads them there.
  struct Content {
    std::array<std::byte, sizeof(std::uint64_t)> bytes;  // how many
    std::vector<std::byte> changes;
  };
  std::unique_ptr<Content> content_;
  std::vector<Transfer> sent_;
};

/// Sums that come from another rank, perhaps with changes behind them. An empty one has come.
class ComingSums {
 public:
  ComingSums() = default;
  /// Begins to receive into `sums`.
  ComingSums(Transport& transport, int from, int channel, std::span<std::byte> sums, bool changed);
  /// Whether all has come; does not wait.
  bool come(Transport& transport);
  void wait(Transport& transport);

 private:
  struct Changes {
    std::array<std::byte, sizeof(std::uint64_t)> bytes;
    Transfer bytes_coming;
    std::vector<std::byte> changes = {};
    Transfer changes_coming = {};
    bool begun = false, applied = false;
  };
  void begin_changes(Transport& transport);
  void apply();

  int from_ = 0, channel_ = 0;
  std::span<std::byte> sums_;
  Transfer sums_coming_;
  std::unique_ptr<Changes> changes_;
};

}  // namespace weft
