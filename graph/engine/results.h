// Options and results of a run.
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
/// Tensor sizes by name, for planning without data.
using NamedSizes = std::vector<std::pair<std::string, Sizes>>;
/// Returns the sizes of all defined tensors, for planning a run that will be fed these tensors
/// (Session::plan).
NamedSizes sizes_of(const NamedTensors& tensors);

/// The outputs and fetched values of a run. The tensors own their memory, which the Session reuses
/// once all handles are gone.
class Results {
 public:
  explicit Results(NamedTensors tensors) : tensors_(std::move(tensors)) {}
  /// Returns a result by name. Throws a GraphError that lists the available names if there is no
  /// such result.
  const Tensor& operator[](std::string_view name) const;
  /// Returns true if there is a result of this name.
  bool contains(std::string_view name) const;
  auto begin() const { return tensors_.begin(); }
  auto end() const { return tensors_.end(); }
  std::size_t size() const { return tensors_.size(); }

 private:
  NamedTensors tensors_;
};

struct RunOptions {
  /// Names of values of the graph to return in addition to the program's outputs.
  std::vector<std::string> fetch = {};
  /// Caller-provided tensors that outputs are written into. Dtypes and sizes must match, and the
  /// tensors must not overlap feeds or one another.
  NamedTensors into = {};
  /// Called between waves until the first write to a variable. If it returns true, the run throws
  /// CancelledError and leaves all variables unchanged. It must not use the Session or its store.
  std::function<bool()> cancel = {};
  /// Called once for each output as soon as the output is complete, while the rest of the program
  /// runs, on the thread that called run(). For sharded programs, it is called for the outputs of
  /// the step. If the callback throws, the run ends with this exception. It must not use the
  /// Session.
  std::function<void(const std::string& output, const Tensor& value)> on_output = {};
  /// Names of streamed outputs, which are passed to `on_output` only. The tensor is valid during
  /// the callback, is not part of Results, and its memory is reused afterwards. Use streaming for
  /// programs that produce many large values one after the other. Streaming an output that is also
  /// in `into`, or without `on_output`, is an ArgumentError.
  std::vector<std::string> streamed = {};
  /// Values of symbols that no input determines.
  DimValues dims = {};
  /// The larger task that the run belongs to ("step 12"), for messages about lost or failed ranks.
  std::string part_of = {};
};

}  // namespace weft
