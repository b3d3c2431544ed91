// Options of a Session.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/world/gradient_sums.h"
#include "weft/core/world/world.h"
#include "weft/ops/precision.h"

namespace WEFT_API weft {

class Trace;

struct SessionOptions {
  /// Seed of the initial values. The initial value of a variable depends only on this seed, its
  /// declaration and its name.
  std::uint64_t seed = 0;
  /// Number of worker threads; 0 means one per hardware thread. Results do not depend on it.
  int threads = 0;
  /// Number of plans to cache, one per program and set of sizes. The least recently used plan is
  /// evicted first.
  int plan_cache = 16;
  /// If false, graphs run as they were built, without optimisation passes.
  bool passes = true;
  /// Keeps random keys in this Session instead of the store, so that several Sessions can run
  /// programs that draw random numbers over one store without being its writer.
  bool own_keys = false;
  /// If true, parameters and buffers that are missing from the store are initialised even if other
  /// variables were inserted (loaded) into the store. If false, a run throws a StateError that
  /// lists the missing variables with the closest names in the store, because a misnamed weight
  /// would otherwise silently be replaced by random values. See
  /// VariableStore::allow_initialisation() for individual variables.
  bool initialise_missing = false;
  /// Precision of matrix products in programs that do not set a precision.
  Precision precision = Precision::highest;
  /// Runs all programs as if they had set Program::batch_invariant().
  bool batch_invariant = false;
  /// Maximum size of the arena in bytes; 0 means no limit. The arena holds intermediate results;
  /// variables, feeds and outputs are not part of it. If a plan would need more, it rematerialises
  /// values, with bit-identical results; Session::plan(...)->memory() lists the rematerialised
  /// values. If no plan meets the budget, an ArgumentError names the smallest feasible budget. With
  /// several ranks, see also `gradients`.
  std::size_t memory_budget = 0;
  /// For inference: matrix products read copies of the parameters, packed in the layout of their
  /// kernels, if the program does not update them. The copies are made in the first run and kept in
  /// the store (VariableStore::memory()). This saves packing in every run, but stores the weights a
  /// second time. Results are bit-identical.
  bool prepack = false;
  /// Finds the node that first produced a NaN or an infinity: the run throws a DataError that names
  /// the node, its source line and scope, and the ranges of its operands, and leaves all variables
  /// unchanged. A node is reported if its floating-point operands are all finite but its output is
  /// not, or if it produces a NaN from operands without one. An infinite constant (a mask) is not
  /// an error, but a NaN in a feed or a variable is. Elementwise nodes are not fused, updates are
  /// written at the end, and every value is read an additional time, so this mode is only meant for
  /// debugging.
  bool check_finite = false;
  /// Records the times of nodes from the start; see Session::profile().
  bool profile = false;
  /// If set, runs are recorded for a timeline (trace.h). Must outlive the Session.
  Trace* trace = nullptr;
  /// The ranks (processes, possibly on several machines) that run sharded programs together, each
  /// with a Session over an identically built graph. By default there is only one rank.
  /// core/mpi/mpi_transport.h connects ranks that MPI started. All ranks run the same programs in
  /// the same order. After a run, each rank has the same parameters and the part of the optimizer
  /// state that it updates (see gather_state()). Results are bit-identical to a run on a single
  /// rank. Before the first run of a program, the ranks compare the program, the seed, the number
  /// of shards, the build of Weft and the instruction set of their kernels; an ArgumentError lists
  /// all differences. If a rank fails, the step fails on all of them with a WorldError that
  /// contains the cause. Unsharded programs run on every rank independently; it is an ArgumentError
  /// if such a program updates more than random keys.
  World world = {};
  /// With several ranks, overlaps communication with computation: gradient sums are sent to their
  /// owners during the last shard, and parameters are sent to all ranks between the step and the
  /// time when the next run reads them. If false, a run returns only when everything has arrived.
  /// Results are bit-identical in both cases.
  bool overlap = true;
  /// Maximum size in bytes of a bucket in which gradient sums are sent; a multiple of 64. Must be
  /// the same on all ranks and does not affect the bits of results.
  std::size_t bucket_bytes = std::size_t{8} << 20;
  /// With several ranks, where gradient sums are stored: `owned` needs less memory but sends more
  /// messages. Must be the same on all ranks and does not affect the bits of results.
  GradientSums gradients = GradientSums::automatic;
  // Test modes.
  /// Verifies every plan before its first run.
#ifdef NDEBUG
  bool verify = false;
#else
  bool verify = true;
#endif
  /// Fills dead memory with NaN and surrounds buffers with guards. If a kernel writes outside its
  /// memory, the run throws a StateError that names the step.
  bool poison = false;
  /// If not 0, chunks run in shuffled order and with small delays.
  std::uint64_t shuffle_seed = 0;

  /// Returns true if only the owners store gradient sums. This depends on `gradients`, the memory
  /// budget and the number of ranks. Throws ArgumentError if `gradients` does not support this
  /// number of ranks.
  bool sums_are_owned() const {
    return weft::sums_are_owned(gradients, memory_budget > 0, world.size());
  }
};

/// Ranks that hold the whole optimizer state after Session::gather_state().
enum class Gather { all, first };

}  // namespace weft
