// The group of ranks that run one program together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/core/function_ref.h"
#include "weft/core/world/levels.h"
#include "weft/core/world/transport.h"

namespace WEFT_API weft {

struct WorldOptions {
  /// In a world with more ranks than this, the ranks on a host form a group. Gradients are summed
  /// within a group before they are sent to another host. Data from another host is forwarded
  /// within the group, so that it crosses the network only once. The results are bit-identical. The
  /// value must be the same on all ranks.
  int max_direct = 32;
};

/// The ranks that run a program together, from the perspective of one of these ranks. Each rank is
/// a process (or, in tests, a thread) with its own memory and workers. Copies share the transport.
/// barrier(), gather(), broadcast(), check_same() and leave() are collective: all ranks must call
/// them in the same order. These functions are intended for small data and infrequent calls. They
/// throw WorldError if the world is poisoned.
class World {
 public:
  /// The maximum size of a text that is sent between ranks, and of all texts in a gather()
  /// together. A longer text poisons the world. The limit also bounds the memory that is allocated
  /// if a length is corrupted.
  static constexpr std::uint64_t kMaxTextBytes = std::uint64_t{1} << 30;

  /// Creates a world with a single rank.
  World() = default;
  explicit World(std::shared_ptr<Transport> transport, const WorldOptions& options = {});

  int rank() const { return transport_ ? transport_->rank() : 0; }
  int size() const { return transport_ ? transport_->size() : 1; }
  /// Returns true for rank 0, which reports on behalf of all ranks.
  bool first() const { return rank() == 0; }
  /// Returns the transport, or null in a default-constructed world, which has one rank.
  Transport* transport() const { return transport_.get(); }
  /// Returns the groups of ranks that communicate directly. Only for worlds with a transport.
  const Levels& levels() const { return *levels_; }
  const WorldOptions& options() const { return options_; }

  /// Sets the current phase of this rank, which is reported if the rank is lost.
  void set_phase(std::string_view phase) const;
  /// Leaves the world. This must be the last call on a rank. Returns when all ranks have left.
  /// Throws WorldError if a rank fails or is lost before that.
  void leave() const;
  /// Aborts all ranks: every wait throws WorldError with `why`, preceded by the name of this rank.
  void poison(std::string_view why) const;

  /// Calls body(). If it throws, poisons the world, because the other ranks would otherwise wait
  /// for this rank, and rethrows the exception. The other ranks report the message with `when`
  /// ("step 12") as a prefix.
  void poison_on_error(FunctionRef<void()> body, std::string_view when = {}) const;

  /// Blocks until every rank has called this function.
  void barrier() const;
  /// Returns the texts of all ranks, in rank order, on every rank. Takes log2(size) sequential
  /// steps up a tree and the same number of steps down.
  std::vector<std::string> gather(std::string_view own) const;
  /// Returns the text of rank 0 on every rank.
  std::string broadcast(std::string_view of_first) const;
  /// Throws ArgumentError on every rank unless all ranks pass the same text: "ranks differ in the
  /// seed: rank 0 (host a) has 1, rank 2 (host b) has 2". To compare several values, use agree() in
  /// handshake.h.
  void check_same(std::string_view what, std::string_view own) const;

 private:
  std::shared_ptr<Transport> transport_;
  WorldOptions options_;
  std::shared_ptr<const Levels> levels_;
};

}  // namespace weft
