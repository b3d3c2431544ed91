// Rules that translate tensor names of a file into variable names of a model.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

/// Pairs of old and new names; see MatchOptions::rename.
using RenameRules = std::vector<std::pair<std::string, std::string>>;

/// A tensor with its name in the file.
struct RenamedTensor {
  std::string file_name;
  Tensor tensor;
};
/// Tensors by their new names.
using RenamedTensors = std::map<std::string, RenamedTensor, std::less<>>;

/// Applies the first rule that matches `name`. Returns `name` itself if no rule matches. `used`, if
/// not null, is set to the index of the rule that was applied. Throws ArgumentError if the new name
/// of a rule has more stars than its old name.
std::string renamed(const RenameRules& rules, const std::string& name, std::size_t* used = nullptr);

/// Renames all tensors. Throws ArgumentError if a rule matches no tensor (the message lists the
/// tensors), or if two tensors are renamed to the same name.
RenamedTensors renamed(const RenameRules& rules, const TensorMap& tensors);

}  // namespace weft
