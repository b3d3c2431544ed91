// The ranks that work on one program together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/core/parallel.h"
#include "weft/core/world/levels.h"
#include "weft/core/world/transport.h"

namespace WEFT_API weft {

struct WorldOptions {
  /// In a world of more ranks, those of one host are a group: gradients are added up there before
  /// they go to another host, and what comes from another host is passed on there, so that it goes
  /// over the network once. The bits are the same. All ranks have the same number.
  int most_direct = 32;
};

/// The ranks that work on one program together, seen from one of them: each is a process (or, in
/// tests, a thread) with memory and workers of its own. Copies share the transport. The functions
/// are collective: all ranks call the same ones in the same order. They are for what is small and
/// rare; where the world is poisoned, they throw WorldError.
class World {
 public:
  /// Of a text that ranks send one another, and of all texts of a gather() together: a longer one
  /// ends the world. A length that was damaged on its way asks for no more memory than that.
  static constexpr std::uint64_t kMostTextBytes = std::uint64_t{1} << 30;

  /// One rank, alone.
  World() = default;
  explicit World(std::shared_ptr<Transport> transport, const WorldOptions& options = {});

  int rank() const { return transport_ ? transport_->rank() : 0; }
  int size() const { return transport_ ? transport_->size() : 1; }
  /// Whether this is rank 0, which speaks for all.
  bool first() const { return rank() == 0; }
  /// Null where there is one rank.
  Transport* transport() const { return transport_.get(); }
  /// Which ranks exchange with one another directly. For a world with a transport.
  const Levels& levels() const { return *levels_; }
  const WorldOptions& options() const { return options_; }

  /// What this rank does from now on, for the line about a rank that is lost.
  void set_phase(std::string_view phase) const;
  /// The last call, when this rank is done: returns when all are. Throws WorldError where one of
  /// them fails or is lost before that.
  void leave() const;
  /// Ends every rank: what waits throws WorldError with `why`, preceded by this rank's name.
  void poison(std::string_view why) const;

  /// Calls body(). What it throws ends all ranks, which would wait for this one, and goes on.
  /// `when` is put before what the others say ("step 12").
  void or_poison(FunctionRef<void()> body, std::string_view when = {}) const;

  /// Returns when every rank has called it.
  void barrier() const;
  /// The texts of all ranks, by rank, on every rank. log2(size) messages behind one another.
  std::vector<std::string> gather(std::string_view own) const;
  /// The text of rank 0, on every rank.
  std::string broadcast(std::string_view of_first) const;
  /// Throws ArgumentError, on every rank, unless all ranks give the same text: "ranks differ in the
  /// seed: rank 0 (host a) has 1, rank 2 (host b) has 2". Of several facts: agree() in handshake.h.
  void check_same(std::string_view what, std::string_view own) const;

 private:
  std::shared_ptr<Transport> transport_;
  WorldOptions options_;
  std::shared_ptr<const Levels> levels_;
};

}  // namespace weft
