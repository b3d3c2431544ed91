// Elementwise epilogues that run on the tiles of a matrix product. Shared by matmul_fused,
// quantized_matmul_fused, integer_matmul_fused and conv2d_fused.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "weft/ops/fusion/tile_interpreter.h"
#include "weft/ops/gemm/batch.h"
#include "weft/ops/op.h"

namespace WEFT_API weft {

/// The axes of a product that form the columns of its matrices.
enum class ProductLayout : std::uint8_t {
  matrices,  // [..., rows, columns]
  images,    // [N, C, H, W]: C rows and H * W columns
};

/// Specifies how an operand of the epilogue is broadcast to the product.
enum class EpilogueOperand : std::uint8_t {
  dense,    // the same shape as the product
  row,      // one element per column of matrices, for example a bias
  channel,  // one element per channel of images, for example a bias
  scalar,   // one element
};

/// Returns how an operand of shape `operand` is broadcast to a product of shape `product`, or
/// nullopt if epilogues do not support the broadcast. `equal` compares dims.
template <class Equal>
std::optional<EpilogueOperand> epilogue_operand(const Shape& operand, const Shape& product,
                                                ProductLayout layout, const Equal& equal) {
  const auto is_one = [](const Dim& d) { return d == Dim(1); };
  if (operand.rank() == product.rank()) {
    bool same = true;
    for (int i = 0; i < product.rank(); ++i) same = same && equal(operand[i], product[i]);
    if (same) return EpilogueOperand::dense;
  }
  if (operand.rank() > product.rank()) return std::nullopt;
  const bool images = layout == ProductLayout::images;
  const int back = images ? 3 : 1;  // the axis that may have more than one element, from the end
  for (int i = 0; i < operand.rank(); ++i) {
    if (i != operand.rank() - back && !is_one(operand[i])) return std::nullopt;
  }
  if (operand.rank() < back || is_one(operand[operand.rank() - back]))
    return EpilogueOperand::scalar;
  if (!equal(operand[operand.rank() - back], product[product.rank() - back])) return std::nullopt;
  return images ? EpilogueOperand::channel : EpilogueOperand::row;
}

/// Returns the input specs that a record needs for its epilogue: "in1" and so on, all optional.
std::vector<InputSpec> epilogue_inputs();
/// Returns the output names of a record: the product and the results of the epilogue.
std::vector<std::string> epilogue_outputs();

/// Returns the types of the outputs: the product and the results of the attribute `program`. In the
/// program, %0 denotes the product, and %1 and so on denote the inputs starting with `first`.
std::vector<ValueType> infer_epilogue(const InferContext& context, const ValueType& product,
                                      int first, ProductLayout layout = ProductLayout::matrices);

/// The epilogue of one product, which is output 0 of a request. The operands of the epilogue are
/// the inputs starting with `first`.
class Epilogue {
 public:
  /// If `keep_first`, result 0, which must have the dtype of the product, is computed and stored
  /// (see first_result()) even if the request does not contain this output.
  Epilogue(const KernelRequest& request, std::size_t first, bool keep_first = false,
           ProductLayout layout = ProductLayout::matrices);

  /// Returns the memory in which the product is accumulated. This is an output with the dtype of
  /// the product if there is one. Otherwise, it is the beginning of the shared scratch, and
  /// shared_scratch() returns the required size.
  void* product(const KernelRun& run) const {
    return product_in_ < 0 ? run.shared_scratch : run.outputs[product_in_];
  }
  bool is_product_in_output() const { return product_in_ >= 0; }
  std::size_t shared_scratch() const {
    return product_in_ < 0 || keeps_in_scratch_ ? product_bytes_ : 0;
  }
  /// Returns the number of bytes that are used at the beginning of the slot scratch.
  std::size_t slot_scratch() const { return interpreter_->scratch_bytes(); }

  /// Runs the steps on a tile of one product of the batch. `row` is the first row of the tile in
  /// the whole result, in which the products of the batch are stacked vertically.
  void run(const KernelRun& run, const OutputTile& tile, std::int64_t row) const;
  /// Returns the rows of result 0 from `row` on if `keep_first` is set: the output, the shared
  /// scratch if only the product is an output, or otherwise `product`, the rows of the product,
  /// which the result replaces.
  void* first_result(const KernelRun& run, std::int64_t row, void* product) const {
    const std::size_t offset = static_cast<std::size_t>(row * columns_) * element_size_;
    if (run.outputs[1] != nullptr) return static_cast<std::byte*>(run.outputs[1]) + offset;
    return keeps_in_scratch_ ? run.shared_scratch + offset : product;
  }

 private:
  /// If the program adds operands, or sums of two operands, to the product and then applies at most
  /// relu, in the dtype of the product, sets sums_ to the operands in order. Such programs run on
  /// all rows of a tile at once.
  void find_sum(const std::vector<DType>& dtypes);

  struct Operand {  // strides in bytes
    std::ptrdiff_t per_element = 0, per_column = 0, per_channel = 0;
  };

  TileProgram program_;
  std::size_t first_;
  bool keep_first_, keeps_in_scratch_ = false;
  std::size_t element_size_ = 0, product_bytes_ = 0;
  std::int64_t columns_ = 0, channels_ = 1;
  std::vector<Operand> operands_;
  std::vector<std::ptrdiff_t> result_size_;
  int product_in_ = -1;
  DType dtype_ = DType::f32;  // of the product
  struct Summand {
    std::size_t input = 0;    // of the program
    bool joins_next = false;  // is added to the next summand first
  };
  std::vector<Summand> sums_;
  bool is_sum_ = false, ends_with_relu_ = false;
  std::unique_ptr<TileInterpreter> interpreter_;
};

/// Returns the FLOPs of the epilogue.
double epilogue_flops(const KernelRequest& request);

}  // namespace weft
