// The record of `matmul_fused`: a product and what is done to its elements, tile by tile while they
// are in cache. Made by the pass `epilogue`, after differentiation; users need not build it.
#include "weft/ops/matmul_fused.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "weft/ops/builtin.h"
#include "weft/ops/matmul_product.h"
#include "weft/ops/sample_data.h"
#include "weft/ops/tile_interpreter.h"

namespace weft {
namespace {

constexpr int kOperands = TileProgram::kMaxInputs - 1;  // of the steps, beside the product

// Dims as the graph knows them, for the shape rules of steps.
class ContextFacts : public DimFacts {
 public:
  explicit ContextFacts(const InferContext& context) : context_(context) {}
  bool equal(const Dim& a, const Dim& b) const override { return context_.equal(a, b); }

 private:
  const InferContext& context_;
};

std::vector<ValueType> infer(const InferContext& context) {
  const ValueType product = infer_product(context);
  const TileProgram program = TileProgram::parse(context.attributes().text("program"));
  std::vector<const ValueType*> inputs = {&product};
  for (int i = 2; i < context.input_count(); ++i) {
    if (context.has(i)) inputs.push_back(&context.input(i));
  }
  const ContextFacts facts(context);
  const std::vector<ValueType> types = infer_values(program, inputs, facts);
  const std::vector<char> whole = whole_inputs(program);
  if (whole[0]) throw ArgumentError("%0, the product, cannot be a key");
  const auto equal = [&](const Dim& a, const Dim& b) { return context.equal(a, b); };
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (whole[i] || epilogue_operand(inputs[i]->shape, product.shape, equal)) continue;
    throw ShapeError(fmt::format(
        "%{} must be of the product's shape {}, one element for each of its columns, or "
        "one element, but is {}",
        i, product.shape.str(), inputs[i]->shape.str()));
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

// The steps made for one product.
class Epilogue {
 public:
  explicit Epilogue(const KernelRequest& request)
      : program_(TileProgram::parse(request.attributes.text("program"))) {
    const OperandSpec& product = request.outputs[0];
    element_size_ = dtype_size(product.dtype);
    columns_ = product.sizes.back();
    std::vector<ValueType> types = {{product.dtype, Shape(product.sizes)}};
    for (int i = 1; i < program_.inputs; ++i) {
      const OperandSpec& spec = request.inputs[static_cast<std::size_t>(i) + 1];
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
      const auto kind = epilogue_operand(types[i].shape, types[0].shape, std::equal_to<Dim>());
      const bool scalar = whole[i] != 0 || kind == EpilogueOperand::scalar;
      if (scalar) scalars |= 1u << i;
      const auto size = static_cast<std::ptrdiff_t>(dtype_size(types[i].dtype));
      operands_.push_back({.per_element = !scalar && kind == EpilogueOperand::dense ? size : 0,
                           .per_column = !scalar && kind == EpilogueOperand::row ? size : 0});
    }
    std::vector<char> needed;
    for (std::size_t r = 0; r < program_.results.size(); ++r) {
      const OperandSpec& spec = request.outputs[r + 1];
      needed.push_back(request.has_output(r + 1));
      result_size_.push_back(static_cast<std::ptrdiff_t>(dtype_size(spec.dtype)));
      if (product_in_ < 0 && needed.back() && spec.dtype == product.dtype) {
        product_in_ = static_cast<int>(r) + 1;
      }
    }
    if (request.has_output(0)) product_in_ = 0;
    interpreter_ = std::make_unique<TileInterpreter>(program_, dtypes, scalars, needed);
  }

  /// The output in whose memory the product is summed up; -1 if no output has its dtype.
  int product_in() const { return product_in_; }
  std::size_t scratch() const { return interpreter_->scratch_bytes(); }

  /// `row` is the first row of the tile in the whole result, all products below each other.
  void run(const KernelRun& run, const FinishedTile& tile, std::int64_t row) const {
    const std::int64_t position = row * columns_ + tile.column;
    std::array<const void*, TileProgram::kMaxInputs> in{};
    std::array<std::ptrdiff_t, TileProgram::kMaxInputs> in_stride{};
    std::array<void*, TileProgram::kMaxResults> out{};
    std::array<std::ptrdiff_t, TileProgram::kMaxResults> out_stride{};
    in[0] = tile.c;
    in_stride[0] = tile.c_stride * static_cast<std::ptrdiff_t>(element_size_);
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const Operand& o = operands_[i];
      in[i + 1] = run.in<std::byte>(i + 2) + position * o.per_element + tile.column * o.per_column;
      in_stride[i + 1] = columns_ * o.per_element;
    }
    for (std::size_t r = 0; r < result_size_.size(); ++r) {
      if (run.outputs[r + 1] == nullptr) continue;
      out[r] = run.out<std::byte>(r + 1) + position * result_size_[r];
      out_stride[r] = columns_ * result_size_[r];
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

 private:
  struct Operand {  // bytes from one element, or column, to the next
    std::ptrdiff_t per_element = 0, per_column = 0;
  };

  TileProgram program_;
  std::size_t element_size_ = 0;
  std::int64_t columns_ = 0;
  std::vector<Operand> operands_;
  std::vector<std::ptrdiff_t> result_size_;
  int product_in_ = -1;
  std::unique_ptr<TileInterpreter> interpreter_;
};

Kernel make_kernel(const KernelRequest& request) {
  const auto epilogue = std::make_shared<const Epilogue>(request);
  const OperandSpec& product = request.outputs[0];
  Kernel kernel;
  kernel.slot_scratch = epilogue->scratch();
  const int in = epilogue->product_in();
  if (in < 0) {
    kernel.shared_scratch = static_cast<std::size_t>(product.numel()) * dtype_size(product.dtype);
  }
  ProductShape shape = product_of(request, product);
  const std::int64_t rows = shape.m;
  ProductPhases(kernel).add(
      std::move(shape),
      [in](const KernelRun& run) -> ProductPointers {
        void* const c = in < 0 ? run.shared_scratch : run.outputs[in];
        return {run.inputs[0], run.inputs[1], c};
      },
      [epilogue, rows](const KernelRun& run, const FinishedTile& tile) {
        epilogue->run(run, tile, tile.product * rows + tile.row);
      });
  return kernel;
}

Cost cost(const KernelRequest& request) {
  const auto steps = TileProgram::parse(request.attributes.text("program")).steps.size();
  Cost result{.flops =
                  product_flops(request, request.outputs[0]) +
                  static_cast<double>(request.outputs[0].numel()) * static_cast<double>(steps)};
  for (const auto* operands : {&request.inputs, &request.outputs}) {
    for (const OperandSpec& spec : *operands) {
      if (!spec.present) continue;
      result.bytes +=
          static_cast<double>(spec.numel()) * static_cast<double>(dtype_size(spec.dtype));
    }
  }
  return result;
}

constexpr char kBiasGelu[] = "%2 = add(%0, %1); %3 = gelu_tanh(%2); return %2, %3";
constexpr char kResidual[] = "%4 = add(%0, %1); %5 = mul(%4, %3); %6 = add(%2, %5); return %6";

std::vector<OpSample> samples() {
  std::vector<OpSample> result;
  const auto add = [&](std::vector<Tensor> inputs, const char* program, bool ta = false,
                       bool tb = false) {
    result.push_back(
        {std::move(inputs),
         {{"program", std::string(program)}, {"transpose_a", ta}, {"transpose_b", tb}}});
  };
  const auto x = [](Sizes sizes, std::uint32_t seed) {
    return sample_uniform(std::move(sizes), seed);
  };
  add({x({3, 4}, 1), x({4, 5}, 2), x({5}, 3)}, kBiasGelu);
  add({x({1, 40}, 4), x({40, 130}, 5), x({1, 130}, 6)}, kBiasGelu);
  add({x({70, 30}, 7), x({30, 2}, 8), x({2}, 9)}, kBiasGelu);
  add({x({2, 3, 6}, 10), x({5, 6}, 11), x({5}, 12), x({2, 3, 5}, 13), x({}, 14)}, kResidual, false,
      true);
  add({x({2, 1, 6, 3}, 15), x({2, 6, 4}, 16), x({4}, 17), x({2, 2, 3, 4}, 18), x({1, 1}, 19)},
      kResidual, true);
  add({x({150, 70}, 20), x({70, 290}, 21), x({290}, 22), x({150, 290}, 23), x({1}, 24)}, kResidual);
  add({x({30, 3000}, 25), x({3000, 40}, 26), x({40}, 27)}, kBiasGelu);
  add({x({2, 0}, 28), x({0, 3}, 29), x({3}, 30)}, kBiasGelu);
  add({x({0, 3}, 31), x({3, 4}, 32), x({4}, 33)}, kBiasGelu);
  // No result of the product's dtype; a key.
  add({x({9, 20}, 34), x({20, 33}, 35)}, "%1 = relu(%0); %2 = cast(%1, dtype=bf16); return %2");
  add({x({20, 10}, 36), x({10, 33}, 37), Tensor::of<std::int64_t>({2}, {1234, 56})},
      "%2 = dropout(%0, %1, rate=0x1p-2, stream=9); return %2");
  return result;
}

std::vector<OpErrorSample> errors() {
  const auto f32 = DType::f32;
  const auto attributes = [](const char* text) {
    return Attributes{{"program", std::string(text)}};
  };
  const char* bias = "%2 = add(%0, %1); return %2";
  return {{{{f32, {2, 3}}, {f32, {4, 5}}, {f32, {5}}},
           attributes(bias),
           "the summed axes of a (axis 1) and b (axis 0): 3 and 4 differ"},
          {{{f32, {2, 3}}, {f32, {3, 5}}, {f32, {2, 1}}},
           attributes(bias),
           "%1 must be of the product's shape [2, 5], one element for each of its columns"},
          {{{f32, {2, 3}}, {f32, {3, 5}}, {f32, {4, 2, 5}}},
           attributes(bias),
           "%1 must be of the product's shape [2, 5]"},
          {{{f32, {2, 3}}, {f32, {3, 5}}}, attributes(bias), "the program has 2 inputs, but 1"},
          {{{f32, {2, 3}}, {f32, {3, 5}}},
           attributes("%1 = relu(%0)"),
           "tile program: '; ' is missing"}};
}

}  // namespace

void add_matmul_fused_ops(OpSet& ops) {
  OpRecord r;
  r.name = "matmul_fused";
  r.doc =
      "matmul(a, b) and a tile program (ops/tile_program.h) whose %0 is the product. Further "
      "inputs "
      "of the program have the product's shape, one element for each of its columns, or one. The "
      "same bits as the product and the steps one by one.";
  r.inputs = {{"a"}, {"b"}};
  for (int i = 1; i <= kOperands; ++i) {
    r.inputs.push_back({fmt::format("in{}", i), Arity::optional});
  }
  r.outputs = {"product"};
  for (int o = 0; o < TileProgram::kMaxResults; ++o) r.outputs.push_back(fmt::format("out{}", o));
  r.attributes = {{"program", std::string(), true},
                  {"transpose_a", false},
                  {"transpose_b", false},
                  {"precision", std::string()}};
  r.infer = infer;
  r.kernel = make_kernel;
  r.cost = cost;
  r.gradient = Gradient::none;
  r.no_gradient_reason = "made after differentiation; differentiate the ops that it stands for";
  r.samples = samples;
  r.error_samples = errors;
  ops.add(std::move(r));
}

}  // namespace weft
