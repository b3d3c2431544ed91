// What goes into a run and what comes out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/graph/plan/bind.h"

namespace WEFT_API weft {

/// Tensors by name.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
/// Sizes by name, to plan without data.
using NamedSizes = std::vector<std::pair<std::string, Sizes>>;
/// Sizes of tensors, but for undefined ones: to plan what they will be fed to (Session::plan).
NamedSizes sizes_of(const NamedTensors& tensors);

/// The outputs of a run and what was fetched. The tensors own their memory; a Session uses it again
/// when all handles are gone.
class Results {
 public:
  explicit Results(NamedTensors tensors) : tensors_(std::move(tensors)) {}
  /// Throws GraphError that lists the names there are.
  const Tensor& operator[](std::string_view name) const;
  /// Whether there is an output of this name.
  bool contains(std::string_view name) const;
  auto begin() const { return tensors_.begin(); }
  auto end() const { return tensors_.end(); }
  std::size_t size() const { return tensors_.size(); }

 private:
  NamedTensors tensors_;
};

struct RunOptions {
  /// Names of values of the graph to return besides the program's outputs.
  std::vector<std::string> fetch = {};
  /// Caller's tensors to write outputs into: dtype and sizes must fit, and they must not overlap
  /// feeds.
  NamedTensors into = {};
  /// Asked between waves until the first write into a variable; true ends the run with
  /// CancelledError and leaves all variables as they were. It must not use the Session or its
  /// store.
  std::function<bool()> cancel = {};
  /// Is told an output as soon as it is complete, while the rest of the program runs; once for
  /// each, on the thread that runs. Programs with shards: of their step. What it throws ends the
  /// run. It must not use the Session.
  std::function<void(const std::string& output, const Tensor& value)> on_output = {};
  /// Outputs that `on_output` alone is told: what it is given is there until it returns, and is no
  /// result of the run, which needs no memory for it behind that. For what is made of many large
  /// values, one after the other. Without `on_output`, or in `into`, an ArgumentError.
  std::vector<std::string> passing = {};
  /// Values of symbols that no input shows.
  DimValues dims = {};
  /// What the run is a part of, for lines about ranks that are lost or fail: "step 12".
  std::string part_of = {};
};

}  // namespace weft
