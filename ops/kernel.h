// Kernels, which consist of phases of independent chunks that run on planned memory.
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

/// The concrete type of one operand. `present` is false for an optional input that was not given
/// and for an output without readers. The pointer of such an operand is null at run time.
struct OperandSpec {
  DType dtype = DType::f32;
  Sizes sizes = {};
  bool present = true;
  /// True for an input that is the same in every run, such as a weight. A kernel may request a copy
  /// of such an input in a different layout (Kernel::packed).
  bool constant = false;
  std::int64_t numel() const { return num_elements(sizes); }
};

/// The concrete operands, attributes and precision for which a kernel is created.
struct KernelRequest {
  std::vector<OperandSpec> inputs = {};
  std::vector<OperandSpec> outputs = {};
  Attributes attributes = {};  // symbolic Dims are evaluated
  Precision precision = Precision::highest;
  /// If true, the bits of a row of the result may depend only on that row of the inputs and on
  /// weights, never on the number of rows or on padding (Program::batch_invariant()).
  bool batch_invariant = false;
  /// The op set in which op names in attributes are looked up. Null selects Weft's built-in ops.
  const OpSet* ops = nullptr;

  /// Return true if input `i` is present or output `i` has a reader, respectively.
  bool has_input(std::size_t i) const { return i < inputs.size() && inputs[i].present; }
  bool has_output(std::size_t i) const { return i < outputs.size() && outputs[i].present; }
};

/// The memory of one execution. Inputs and outputs are dense, row-major and 64-byte aligned, except
/// that tensors borrowed from the caller may be aligned only to their element size. An output never
/// overlaps an input unless the record's `inplace` list allows it. The pointer of a tensor without
/// elements is arbitrary but not null, because kernels may add offsets to it. The pointer of an
/// absent optional operand is null.
struct KernelRun {
  const void* const* inputs = nullptr;
  void* const* outputs = nullptr;
  /// Scratch of Kernel::shared_scratch bytes, 64-byte aligned and not cleared.
  std::byte* shared_scratch = nullptr;
  // Scratch of Kernel::slot_scratch bytes, private to this worker.
  std::byte* slot_scratch = nullptr;
  const std::byte* packed = nullptr;  // the copy requested by Kernel::packed

  /// Return the elements of an input or output as T, which must match the dtype of the operand.
  template <class T>
  const T* in(std::size_t i) const {
    return static_cast<const T*>(inputs[i]);
  }
  template <class T>
  T* out(std::size_t i) const {
    return static_cast<T*>(outputs[i]);
  }
};

/// One step of a kernel, which consists of `chunks` independent pieces of work that run in any
/// order on any workers. The next phase starts when all chunks are done. The number of chunks
/// depends only on shapes (never on the number of threads), and partial results are combined in
/// index order, so results are always bit-exact.
struct Phase {
  std::int64_t chunks = 1;
  std::function<void(const KernelRun& run, std::int64_t chunk)> body = {};
  /// Rough cost of the whole phase in nanoseconds on one core. Phases that are too short to be
  /// worth distributing run serially (see Workers::for_chunks).
  double cost_ns = 0;
};

/// A copy of a constant input in the layout that a kernel reads. It is created once for many runs.
struct PackedInput {
  std::size_t input = 0;
  /// Identifies the layout. Kernels that specify the same string for a tensor must pack it into the
  /// same bytes.
  std::string layout = {};
  std::size_t bytes = 0;
  std::int64_t chunks = 1;
  /// Writes chunk `chunk` of the copy; chunks are independent.
  std::function<void(const void* from, std::byte* to, std::int64_t chunk)> pack = {};
};

/// A kernel for concrete shapes. It is immutable and can be shared once it has been created.
struct Kernel {
  std::vector<Phase> phases = {};
  std::size_t shared_scratch = 0;
  std::size_t slot_scratch = 0;
  /// Only allowed for an input for which OperandSpec::constant is set.
  std::optional<PackedInput> packed = {};
  /// For an op that several ranks compute together (for example all_reduce). Runs instead of the
  /// phases, on the thread that runs the plan, while no other step of the plan is running. Every
  /// rank calls this function at the same step of the same plan. May be empty.
  std::function<void(const KernelRun& run, const World& world, Workers& workers)> exchange = {};
  /// Validates data, for example that indices are in range. Throws DataError, naming the index, the
  /// value and the bound. Runs as soon as the integer inputs are available, before the kernel runs
  /// and before any variable is written. Only integer inputs may be read, because all other
  /// pointers may be null. May be empty.
  std::function<void(const KernelRun& run)> check = {};
};

/// Returns the number of chunks, from 1 to 1024, into which `work` units are divided so that each
/// chunk has about `grain` units.
std::int64_t chunk_count(std::int64_t work, std::int64_t grain);
/// The half-open range of units in chunk `chunk` if `work` units are split evenly into `chunks`
/// chunks. Chunk boundaries are multiples of `multiple`, except that the last chunk may be shorter.
struct ChunkRange {
  std::int64_t begin, end;
};
ChunkRange chunk_range(std::int64_t work, std::int64_t chunks, std::int64_t chunk,
                       std::int64_t multiple = 1);

}  // namespace weft
