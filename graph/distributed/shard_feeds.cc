#include "weft/graph/distributed/shard_feeds.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/graph/ir/graph.h"

namespace weft {
namespace {

std::string name_of(const Value& input) { return input.node().attributes().text("name"); }

// Throws ArgumentError if the symbol in Shards::axis appears to be wrong, that is, if no input
// would be sliced although inputs have another symbol as their first axis. Every shard would then
// process the whole batch.
void reject_unsliced_feeds(const Program& program, const NamedTensors& feeds) {
  std::vector<std::string> axes, inputs;
  for (const auto& [name, tensor] : feeds) {
    const Value input = program.graph()->find_input(name);
    if (!input.defined() || input.rank() == 0 || input.shape()[0].is_constant()) continue;
    axes.push_back(input.shape()[0].str());
    inputs.push_back(fmt::format("'{}' {}", name, input.type().str()));
  }
  if (inputs.empty()) return;
  const std::string& axis = program.shards().axis;
  throw ArgumentError(
      fmt::format("program '{}' splits its batch along '{}', but no fed input has this symbol as "
                  "its first axis{}: {}; set Shards::axis to the right symbol, or feed each shard "
                  "separately (Session::run_shards)",
                  program.name(), axis, did_you_mean(axis, axes), list_names(inputs)));
}

}  // namespace

std::vector<std::string> input_names(const Program& part) {
  std::vector<std::string> names;
  for (const Value& v : part.inputs()) names.push_back(name_of(v));
  return names;
}

bool has_name(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_unknown_input(const Program& program, const std::string& name) {
  return !program.graph()->find_input(name).defined();
}

void add_dims(const Program& program, const Program& stage, const NamedSizes& fed,
              DimValues& dims) {
  std::vector<std::string> known;
  for (const auto& [name, size] : dims) known.push_back(name);
  const auto each_symbol = [](const Value& input, const auto& body) {
    for (int axis = 0; axis < input.rank(); ++axis) {
      if (const SymbolPtr symbol = input.shape()[axis].as_symbol()) body(symbol->name, axis);
    }
  };
  for (const Value& input : stage.inputs()) {
    each_symbol(input, [&](const std::string& name, int) { known.push_back(name); });
  }
  for (const auto& [fed_name, sizes] : fed) {
    const Value input = program.graph()->find_input(fed_name);
    if (!input.defined() || std::ssize(sizes) != input.rank()) continue;
    each_symbol(input, [&, &of_input = sizes](const std::string& name, int axis) {
      if (has_name(known, name)) return;
      dims.emplace_back(name, of_input[static_cast<std::size_t>(axis)]);
      known.push_back(name);
    });
  }
}

StageSizes sizes_of_stage(const Program& program, const Program& stage, const NamedSizes& feeds,
                          const DimValues& dims) {
  StageSizes result{.feeds = {}, .dims = dims};
  const std::vector<std::string> wanted = input_names(stage);
  for (const auto& entry : feeds) {
    if (has_name(wanted, entry.first) || is_unknown_input(program, entry.first))
      result.feeds.push_back(entry);
  }
  for (const Value& input : stage.inputs()) {
    if (is_unknown_input(program, name_of(input)))
      result.feeds.emplace_back(name_of(input), input.shape().constant());
  }
  add_dims(program, stage, feeds, result.dims);
  return result;
}

NamedTensors slice_feeds(const Program& program, const NamedTensors& feeds, int shard) {
  const Shards& shards = program.shards();
  NamedTensors result;
  bool any_cut = false;
  for (const auto& [name, tensor] : feeds) {
    const Value input = program.graph()->find_input(name);
    const bool is_cut = input.defined() && tensor.defined() && tensor.rank() > 0 &&
                        input.rank() > 0 && input.shape()[0].str() == shards.axis;
    if (!is_cut) {
      result.emplace_back(name, tensor);
      continue;
    }
    any_cut = true;
    const std::int64_t rows = tensor.size(0);
    if (rows % shards.count != 0) {
      throw ShapeError(fmt::format(
          "'{}' has {} rows along '{}', which cannot be divided into {} equal shards; feed a "
          "multiple of {} rows, or feed each shard separately (Session::run_shards)",
          name, rows, shards.axis, shards.count, shards.count));
    }
    Sizes sizes = tensor.sizes();
    sizes[0] = rows / shards.count;
    const std::size_t bytes = tensor.bytes() / static_cast<std::size_t>(shards.count);
    result.emplace_back(
        name, Tensor::view(tensor.dtype(), sizes, tensor.buffer(),
                           tensor.byte_offset() + bytes * static_cast<std::size_t>(shard)));
  }
  if (!any_cut) reject_unsliced_feeds(program, feeds);
  return result;
}

}  // namespace weft
