// Elementwise steps on the tiles of a matrix product: what matmul_fused and quantized_matmul_fused
// share.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "weft/ops/fusion/tile_interpreter.h"
#include "weft/ops/gemm/batch.h"
#include "weft/ops/op.h"

namespace WEFT_API weft {

/// How an operand of the steps lies over the product.
enum class EpilogueOperand : std::uint8_t {
  dense,   // of the same shape
  row,     // one element for each column: a bias
  scalar,  // one element
};

/// For an operand of shape `operand` over a product of shape `product`; none if it lies otherwise,
/// which steps on tiles cannot follow. `equal` compares dims.
template <class Equal>
std::optional<EpilogueOperand> epilogue_operand(const Shape& operand, const Shape& product,
                                                const Equal& equal) {
  const auto is_one = [](const Dim& d) { return d == Dim(1); };
  if (operand.rank() == product.rank()) {
    bool same = true;
    for (int i = 0; i < product.rank(); ++i) same = same && equal(operand[i], product[i]);
    if (same) return EpilogueOperand::dense;
  }
  if (operand.rank() > product.rank()) return std::nullopt;
  for (int i = 0; i + 1 < operand.rank(); ++i) {
    if (!is_one(operand[i])) return std::nullopt;
  }
  if (operand.rank() == 0 || is_one(operand[operand.rank() - 1])) return EpilogueOperand::scalar;
  const bool row = equal(operand[operand.rank() - 1], product[product.rank() - 1]);
  return row ? std::optional(EpilogueOperand::row) : std::nullopt;
}

/// Inputs of a record for the steps, "in1" and so on, all optional.
std::vector<InputSpec> epilogue_inputs();
/// Outputs of a record: the product and the results of the steps.
std::vector<std::string> epilogue_outputs();

/// Types of the outputs: the product and the results of the attribute `program`, whose %0 is the
/// product and whose %1 and so on are the inputs from `first` on.
std::vector<ValueType> infer_epilogue(const InferContext& context, const ValueType& product,
                                      int first);

/// The steps made for one product, output 0 of a request; their operands are the inputs from
/// `first` on.
class Epilogue {
 public:
  Epilogue(const KernelRequest& request, std::size_t first);

  /// The memory in which the product is summed up: an output of its dtype, or else the begin of the
  /// shared scratch, which shared_scratch() then asks for.
  void* product(const KernelRun& run) const {
    return product_in_ < 0 ? run.shared_scratch : run.outputs[product_in_];
  }
  std::size_t shared_scratch() const { return product_in_ < 0 ? product_bytes_ : 0; }
  /// At the begin of the slot scratch.
  std::size_t slot_scratch() const { return interpreter_->scratch_bytes(); }

  /// Does the steps; `row` is the first row of the tile in the whole result, all products below
  /// each other.
  void run(const KernelRun& run, const OutputTile& tile, std::int64_t row) const;

 private:
  struct Operand {  // bytes from one element, or column, to the next
    std::ptrdiff_t per_element = 0, per_column = 0;
  };

  TileProgram program_;
  std::size_t first_;
  std::size_t element_size_ = 0, product_bytes_ = 0;
  std::int64_t columns_ = 0;
  std::vector<Operand> operands_;
  std::vector<std::ptrdiff_t> result_size_;
  int product_in_ = -1;
  std::unique_ptr<TileInterpreter> interpreter_;
};

/// FLOPs of the steps.
double epilogue_flops(const KernelRequest& request);
/// Bytes of all operands and results.
double operand_bytes(const KernelRequest& request);

}  // namespace weft
