#include "weft/ops/fusion/epilogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "weft/core/error.h"
#include "weft/ops/kernels/elementwise/sum_rows.h"

namespace weft {
namespace {

constexpr int kOperands = TileProgram::kMaxInputs - 1;  // excluding the product

}  // namespace

std::vector<InputSpec> epilogue_inputs() {
  std::vector<InputSpec> inputs;
  for (int i = 1; i <= kOperands; ++i) inputs.push_back({fmt::format("in{}", i), Arity::optional});
  return inputs;
}

std::vector<std::string> epilogue_outputs() {
  std::vector<std::string> outputs = {"product"};
  for (int o = 0; o < TileProgram::kMaxResults; ++o) outputs.push_back(fmt::format("out{}", o));
  return outputs;
}

std::vector<ValueType> infer_epilogue(const InferContext& context, const ValueType& product,
                                      int first, ProductLayout layout) {
  const TileProgram program =
      TileProgram::parse(context.attributes().text("program"), context.ops());
  std::vector<const ValueType*> inputs = {&product};
  for (const ValueType* operand : operands_from(context, first)) inputs.push_back(operand);
  const ContextFacts facts(context);
  const std::vector<ValueType> types = infer_values(program, inputs, facts);
  const std::vector<char> whole = whole_inputs(program);
  if (whole[0]) throw ArgumentError("%0, the product, cannot be a key");
  const auto equal = [&](const Dim& a, const Dim& b) { return context.equal(a, b); };
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (whole[i] || epilogue_operand(inputs[i]->shape, product.shape, layout, equal)) continue;
    throw ShapeError(
        fmt::format("%{} must have the product's shape {}, one element per {}, or a single "
                    "element, but has shape {}",
                    i, product.shape.str(), layout == ProductLayout::images ? "channel" : "column",
                    inputs[i]->shape.str()));
  }
  std::vector<ValueType> results = {product};
  for (const int v : program.results) {
    const ValueType& type = types[static_cast<std::size_t>(v)];
    if (!(type.shape == product.shape)) {
      throw ShapeError(fmt::format("%{} has shape {}, but the product has {}", v, type.shape.str(),
                                   product.shape.str()));
    }
    results.push_back(type);
  }
  return results;
}

Epilogue::Epilogue(const KernelRequest& request, std::size_t first, bool keep_first,
                   ProductLayout layout)
    : program_(TileProgram::parse(request.attributes.text("program"), request.ops)),
      first_(first),
      keep_first_(keep_first) {
  const OperandSpec& product = request.outputs[0];
  dtype_ = product.dtype;
  element_size_ = dtype_size(product.dtype);
  product_bytes_ = static_cast<std::size_t>(product.numel()) * element_size_;
  columns_ = product.sizes.back();
  if (layout == ProductLayout::images) {
    channels_ = std::max<std::int64_t>(product.sizes[1], 1);
    columns_ *= product.sizes[2];
  }
  std::vector<ValueType> types = {{product.dtype, Shape(product.sizes)}};
  for (int i = 1; i < program_.inputs; ++i) {
    const OperandSpec& spec = request.inputs[first + static_cast<std::size_t>(i) - 1];
    types.push_back({spec.dtype, Shape(spec.sizes)});
  }
  std::vector<const ValueType*> pointers;
  for (const ValueType& t : types) pointers.push_back(&t);
  std::vector<DType> dtypes;
  for (const ValueType& t : infer_values(program_, pointers, DimFacts())) {
    dtypes.push_back(t.dtype);
  }
  const std::vector<char> whole = whole_inputs(program_);
  std::uint32_t scalars = 0;
  for (std::size_t i = 1; i < types.size(); ++i) {
    const auto kind = whole[i] != 0 ? EpilogueOperand::scalar
                                    : epilogue_operand(types[i].shape, types[0].shape, layout,
                                                       std::equal_to<Dim>());
    // An element per channel is a single element in every row.
    if (kind == EpilogueOperand::scalar || kind == EpilogueOperand::channel) scalars |= 1u << i;
    const auto size = static_cast<std::ptrdiff_t>(dtype_size(types[i].dtype));
    operands_.push_back({.per_element = kind == EpilogueOperand::dense ? size : 0,
                         .per_column = kind == EpilogueOperand::row ? size : 0,
                         .per_channel = kind == EpilogueOperand::channel ? size : 0});
  }
  std::vector<char> needed;
  for (std::size_t r = 0; r < program_.results.size(); ++r) {
    const OperandSpec& spec = request.outputs[r + 1];
    const bool has_output = request.has_output(r + 1);
    needed.push_back(has_output || (keep_first && r == 0));
    result_size_.push_back(static_cast<std::ptrdiff_t>(dtype_size(spec.dtype)));
    if (product_in_ < 0 && has_output && spec.dtype == product.dtype) {
      product_in_ = static_cast<int>(r) + 1;
    }
  }
  if (request.has_output(0)) product_in_ = 0;
  keeps_in_scratch_ = keep_first && request.has_output(0) && !request.has_output(1);
  interpreter_ = std::make_unique<TileInterpreter>(program_, dtypes, scalars, needed);
  find_sum(dtypes);
}

void Epilogue::find_sum(const std::vector<DType>& dtypes) {
  const bool one_dtype =
      std::all_of(dtypes.begin(), dtypes.end(), [&](DType dtype) { return dtype == dtype_; });
  if (!one_dtype || (dtype_ != DType::f32 && dtype_ != DType::f64)) return;
  if (program_.results != std::vector<int>{program_.values() - 1}) return;
  const auto is_input = [&](int v) { return v > 0 && v < program_.inputs; };
  int last = 0;  // the sum of the previous steps
  for (int i = 0; i < static_cast<int>(program_.steps.size()); ++i) {
    const TileStep& step = program_.steps[static_cast<std::size_t>(i)];
    if (ends_with_relu_) return;
    if (step.op->name == "relu" && step.operands[0] == last) {
      ends_with_relu_ = true;
    } else if (step.op->name != "add") {
      return;
    } else if (is_input(step.operands[0]) && is_input(step.operands[1])) {
      continue;  // a sum of two operands
    } else {
      const bool is_first = step.operands[0] == last;
      const int other = step.operands[is_first ? 1 : 0];
      if (step.operands[is_first ? 0 : 1] != last || other == last || other == 0) return;
      if (is_input(other)) {
        sums_.push_back({static_cast<std::size_t>(other)});
      } else {
        const TileStep& pair = program_.steps[static_cast<std::size_t>(other - program_.inputs)];
        if (!is_input(pair.operands[0]) || !is_input(pair.operands[1])) return;
        sums_.push_back({static_cast<std::size_t>(pair.operands[0]), true});
        sums_.push_back({static_cast<std::size_t>(pair.operands[1])});
      }
    }
    last = program_.inputs + i;
  }
  is_sum_ = last == program_.values() - 1 && sums_.size() <= kernels::kMaxSumOperands;
}

void Epilogue::run(const KernelRun& run, const OutputTile& tile, std::int64_t row) const {
  const std::int64_t position = row * columns_ + tile.column;
  std::array<const void*, TileProgram::kMaxInputs> in{};
  std::array<std::ptrdiff_t, TileProgram::kMaxInputs> in_stride{};
  std::array<void*, TileProgram::kMaxResults> out{};
  std::array<std::ptrdiff_t, TileProgram::kMaxResults> out_stride{};
  in[0] = tile.c;
  in_stride[0] = tile.c_stride * static_cast<std::ptrdiff_t>(element_size_);
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const Operand& o = operands_[i];
    in[i + 1] = run.in<std::byte>(i + first_) + position * o.per_element +
                tile.column * o.per_column + row % channels_ * o.per_channel;
    in_stride[i + 1] = columns_ * o.per_element + o.per_channel;
  }
  for (std::size_t r = 0; r < result_size_.size(); ++r) {
    if (run.outputs[r + 1] == nullptr) {
      if (!keep_first_ || r != 0) continue;
      out[r] = keeps_in_scratch_ ? run.shared_scratch + position * result_size_[r] : tile.c;
      out_stride[r] = keeps_in_scratch_ ? columns_ * result_size_[r] : in_stride[0];
      continue;
    }
    out[r] = run.out<std::byte>(r + 1) + position * result_size_[r];
    out_stride[r] = columns_ * result_size_[r];
  }
  if (is_sum_) {
    std::array<kernels::SumOperand, kernels::kMaxSumOperands> operands;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const std::size_t input = sums_[i].input;
      const Operand& o = operands_[input - 1];
      operands[i] = {.data = in[input],
                     .row_stride = in_stride[input],
                     .is_single = o.per_element == 0 && o.per_column == 0,
                     .joins_next = sums_[i].joins_next};
    }
    if (out[0] == nullptr) return;
    kernels::sum_rows(dtype_, in[0], in_stride[0], operands.data(), sums_.size(), ends_with_relu_,
                      out[0], out_stride[0], tile.rows, tile.columns);
    return;
  }
  interpreter_->run_block({.in = in.data(),
                           .in_stride = in_stride.data(),
                           .out = out.data(),
                           .out_stride = out_stride.data(),
                           .rows = tile.rows,
                           .columns = tile.columns,
                           .position = position,
                           .position_stride = columns_},
                          run.slot_scratch);
}

double epilogue_flops(const KernelRequest& request) {
  const auto steps =
      TileProgram::parse(request.attributes.text("program"), request.ops).steps.size();
  return static_cast<double>(request.outputs[0].numel()) * static_cast<double>(steps);
}

}  // namespace weft
