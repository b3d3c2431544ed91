// Names of tensors in one file as the names of variables in another model.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

/// Rules of what to call a name, see MatchOptions::rename.
using RenameRules = std::vector<std::pair<std::string, std::string>>;

/// A tensor with its name in the file.
struct RenamedTensor {
  std::string file_name;
  Tensor tensor;
};
/// By the names that rules gave.
using RenamedTensors = std::map<std::string, RenamedTensor, std::less<>>;

/// What `name` becomes by the first rule that fits it; itself where none does. `used`, if given, is
/// the number of that rule. Throws ArgumentError for a rule with more stars behind than in front.
std::string renamed(const RenameRules& rules, const std::string& name, std::size_t* used = nullptr);

/// All tensors by their new names. Throws ArgumentError, listing what is there, for a rule that
/// fits none, and where two tensors get one name.
RenamedTensors renamed(const RenameRules& rules, const TensorMap& tensors);

}  // namespace weft
