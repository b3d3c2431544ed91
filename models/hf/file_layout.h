// Parameters that files store in another form than as one tensor: as a list of tensors, or as a
// part of a larger tensor.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {
namespace hf {

/// How a file stores one parameter.
struct FileLayout {
  std::string ours;  // name of the parameter
  /// Name of the tensor. If it contains a star, the parameter is a stack of tensors: the star is
  /// the index along the first axis ("mlp.experts.*.up_proj.weight").
  std::string theirs;
  /// If `parts` is not 1, the parameter is one of this many equal parts of the last axis of a
  /// tensor: the features part, part + parts, ... if interleaved, otherwise consecutive features.
  std::int64_t part = 0, parts = 1;
  bool interleaved = false;
  /// The parts are consecutive rows (the first axis) instead: those of the matrices [out, in] and
  /// biases [out] of linear layers that files store as one layer.
  bool rows = false;
  /// If not 0, the tensor in the file lacks this many leading axes of the parameter, which have
  /// size 1.
  int squeezed = 0;

  bool is_stack() const { return parts == 1 && squeezed == 0; }
  /// Returns the name of a tensor of a stack.
  std::string member(std::int64_t index) const;
  /// Returns a name for the parameter in messages about files. `absent` are the indices of the
  /// tensors of a stack that the file lacks.
  std::string label(const std::vector<std::int64_t>& absent = {}) const;

  friend bool operator==(const FileLayout&, const FileLayout&) = default;
};

/// The layouts of all parameters of a model that need one.
class FileLayouts {
 public:
  void add(FileLayout layout);
  bool empty() const { return layouts_.empty(); }
  const FileLayout* find(std::string_view ours) const;
  /// Returns the names of the tensors that contain the parameter, which must have a layout.
  std::vector<std::string> file_names(const Variable& variable) const;

  /// Replaces the tensors of a file by the parameters that they contain. The parameters are copies,
  /// in the dtype of the file (f32 if a stack mixes dtypes), and are called by their labels.
  /// Returns the labels by variable name. Stacks with missing tensors or wrong sizes are left to
  /// the matcher: their labels name these tensors.
  std::map<std::string, std::string> join(const std::vector<Variable>& variables,
                                          TensorMap& tensors) const;
  /// The inverse: replaces parameters, keyed by our names, by the tensors of a file. A part is
  /// left out if other parts of its tensor are missing.
  void split(TensorMap& ours, TensorMap& theirs) const;

 private:
  std::map<std::string, FileLayout, std::less<>> layouts_;
};

}  // namespace hf
}  // namespace weft
