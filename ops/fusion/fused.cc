// The records of `fused`, which runs several elementwise ops in one pass over memory, and of
// `fused_reduce`. The pass `fuse` creates these ops after differentiation; users need not create
// them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "weft/ops/builtin.h"
#include "weft/ops/elementwise.h"
#include "weft/ops/fusion/fused_kernel.h"
#include "weft/ops/fusion/tile_program.h"

namespace weft {
namespace {

std::vector<ValueType> infer_fused(const InferContext& context) {
  const TileProgram program =
      TileProgram::parse(context.attributes().text("program"), context.ops());
  const std::vector<ValueType> types =
      infer_values(program, operands_from(context, 0), ContextFacts(context));
  std::vector<ValueType> results;
  for (const int v : program.results) results.push_back(types[static_cast<std::size_t>(v)]);
  return results;
}

constexpr const char* kReductions[] = {"sum", "mean", "max", "min"};

std::vector<ValueType> infer_fused_reduce(const InferContext& context) {
  const Attributes& attributes = context.attributes();
  const std::string& reduction = attributes.text("reduction");
  if (std::find(std::begin(kReductions), std::end(kReductions), reduction) ==
      std::end(kReductions)) {
    throw ArgumentError(
        fmt::format("reduction must be sum, mean, max or min, but is '{}'", reduction));
  }
  const std::vector<ValueType> rows = infer_fused(context);
  if (rows.size() != 1) {
    throw ArgumentError(fmt::format("the program must have 1 result, but has {}", rows.size()));
  }
  const DType dtype = rows[0].dtype;
  if (dtype != DType::f32 && dtype != DType::f64) {
    throw DTypeError(
        fmt::format("reductions are fused for f32 and f64, but the result is {}", rows[0].str()));
  }
  const ContextFacts facts(context);
  const Attributes over{{"axes", attributes.integers("axes")},
                        {"keepdims", attributes.flag("keepdims")}};
  const std::shared_ptr<const OpSet> own =
      context.ops() == nullptr ? builtin_ops_if_linked() : nullptr;
  const OpSet none;
  const OpSet& ops = context.ops() != nullptr ? *context.ops() : own != nullptr ? *own : none;
  auto result = ops.at(reduction).infer(InferContext(reduction, {&rows[0]}, over, facts));
  const auto& axes = attributes.integers("axes");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[axes.size() - 1 - i] != rows[0].shape.rank() - 1 - static_cast<std::int64_t>(i)) {
      throw ArgumentError(fmt::format("axes [{}] must be the last ones", fmt::join(axes, ", ")));
    }
  }
  return result;
}

void add_program_inputs(OpRecord& r) {
  for (int i = 0; i < TileProgram::kMaxInputs; ++i) {
    r.inputs.push_back({fmt::format("in{}", i), i == 0 ? Arity::required : Arity::optional});
  }
}

}  // namespace

void FusedOps::add(OpSet& ops) {
  OpRecord reduce;
  reduce.name = "fused_reduce";
  reduce.doc =
      "Runs a tile program, as in fused, with a single result, which is reduced over its last axes "
      "and never stored. Returns the same bits as running the steps and the reduction separately.";
  add_program_inputs(reduce);
  reduce.attributes = {{"program", std::string(), true},
                       {"reduction", std::string(), true},
                       {"axes", std::vector<std::int64_t>(), true},
                       {"keepdims", false}};
  reduce.infer = infer_fused_reduce;
  reduce.kernel = make_fused_reduce_kernel;
  reduce.cost = fused_reduce_cost;
  reduce.gradient = Gradient::none;
  reduce.no_gradient_reason = "created after differentiation; differentiate the unfused ops";
  ops.add(std::move(reduce));

  OpRecord r;
  r.name = "fused";
  r.doc =
      "Runs elementwise ops in one pass over memory: a tile program (ops/fusion/tile_program.h) on "
      "inputs that broadcast to its results. Returns the same bits as running its steps "
      "separately.";
  add_program_inputs(r);
  r.outputs.clear();
  for (int o = 0; o < TileProgram::kMaxResults; ++o) {
    r.outputs.push_back(fmt::format("out{}", o));
    for (int i = 0; i < TileProgram::kMaxInputs; ++i) r.inplace.emplace_back(o, i);
  }
  r.attributes = {{"program", std::string(), true}};
  r.infer = infer_fused;
  r.kernel = make_fused_kernel;
  r.cost = fused_cost;
  r.gradient = Gradient::none;
  r.no_gradient_reason = "created after differentiation; differentiate the unfused ops";
  ops.add(std::move(r));
}

}  // namespace weft
