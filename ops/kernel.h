// What a kernel is: phases of independent chunks over planned memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/shape.h"
#include "weft/ops/attribute.h"
#include "weft/ops/precision.h"

namespace WEFT_API weft {

class OpSet;
class Workers;
class World;

/// Concrete type of one operand. `present` is false for an optional input that was not given and
/// for an output that nobody reads: its pointer is null at run time.
struct OperandSpec {
  DType dtype = DType::f32;
  Sizes sizes = {};
  bool present = true;
  /// An input that is the same at every run, a weight: a kernel may ask for a copy of it in another
  /// layout (Kernel::packed).
  bool constant = false;
  std::int64_t numel() const { return num_elements(sizes); }
};

/// What a kernel is asked to be made for: everything is concrete.
struct KernelRequest {
  std::vector<OperandSpec> inputs = {};
  std::vector<OperandSpec> outputs = {};
  Attributes attributes = {};  // Dims evaluated
  Precision precision = Precision::highest;
  /// What the names of ops in attributes mean; null: Weft's own.
  const OpSet* ops = nullptr;

  /// Whether an optional operand is given, and whether somebody reads an output.
  bool has_input(std::size_t i) const { return i < inputs.size() && inputs[i].present; }
  bool has_output(std::size_t i) const { return i < outputs.size() && outputs[i].present; }
};

/// The memory of one execution. Inputs and outputs are dense, row-major and 64-byte aligned, except
/// that borrowed caller tensors may be aligned to their element size only. An output never overlaps
/// an input, except as the record's `inplace` list allows. Tensors with no elements may have any
/// pointer but null, to which nothing can be added; an optional one that is absent is null.
struct KernelRun {
  const void* const* inputs = nullptr;
  void* const* outputs = nullptr;
  /// Kernel::shared_scratch bytes, 64-byte aligned, not cleared.
  std::byte* shared_scratch = nullptr;
  std::byte* slot_scratch = nullptr;  // Kernel::slot_scratch bytes, this worker's own
  const std::byte* packed = nullptr;  // what Kernel::packed asked for

  /// The elements of an operand, and of an output, as T, which must be those of its dtype.
  template <class T>
  const T* in(std::size_t i) const {
    return static_cast<const T*>(inputs[i]);
  }
  template <class T>
  T* out(std::size_t i) const {
    return static_cast<T*>(outputs[i]);
  }
};

/// One step of a kernel: `chunks` independent pieces of work, run in any order on any workers. The
/// next phase starts after the last chunk. The number of chunks follows from shapes only (never
/// from the number of threads), and partial results are combined in index order: same bits always.
struct Phase {
  std::int64_t chunks = 1;
  std::function<void(const KernelRun& run, std::int64_t chunk)> body = {};
  /// Rough cost of the whole phase in nanoseconds on one core; what is not worth sharing
  /// runs serially (see Workers::for_chunks).
  double cost_ns = 0;
};

/// A copy of a constant input in the layout in which a kernel reads it, made once for many runs.
struct PackedInput {
  std::size_t input = 0;
  /// Says the layout: kernels that give the same for one tensor make the same bytes of it.
  std::string layout = {};
  std::size_t bytes = 0;
  std::int64_t chunks = 1;
  /// Makes chunk `chunk` of the copy; chunks are independent.
  std::function<void(const void* from, std::byte* to, std::int64_t chunk)> pack = {};
};

/// A kernel made for concrete shapes. Immutable and shareable once made.
struct Kernel {
  std::vector<Phase> phases = {};
  std::size_t shared_scratch = 0;
  std::size_t slot_scratch = 0;
  /// Only of an input whose OperandSpec says `constant`.
  std::optional<PackedInput> packed = {};
  /// Of an op that several ranks compute together (all_reduce): runs in place of phases, on the
  /// thread that runs the plan, when nothing else of it runs. Every rank gets there at the same
  /// place of the same plan. May be empty.
  std::function<void(const KernelRun& run, const World& world, Workers& workers)> exchange = {};
  /// Validates data (indices in range ...): throws DataError that names index, value and bound.
  /// Runs once the integer inputs are there, before the kernel, and before any variable is written;
  /// it reads them and nothing else: all other pointers may be null. May be empty.
  std::function<void(const KernelRun& run)> check = {};
};

/// Number of chunks for `work` units when a chunk should have about `grain` units; at least 1, at
/// most 1024.
std::int64_t chunk_count(std::int64_t work, std::int64_t grain);
/// The half-open range of chunk `chunk` when `work` units are split evenly into `chunks`,
/// boundaries being multiples of `multiple` (the last may be shorter).
struct ChunkRange {
  std::int64_t begin, end;
};
ChunkRange chunk_range(std::int64_t work, std::int64_t chunks, std::int64_t chunk,
                       std::int64_t multiple = 1);

}  // namespace weft
