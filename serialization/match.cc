// Which tensor belongs to which variable.
#include <fmt/format.h>

#include <set>

#include "weft/core/error.h"
#include "weft/serialization/checkpoint.h"

namespace weft {
namespace {

bool fits(const VariableInfo& info, const Tensor& t) {
  if (t.dtype() != info.type.dtype || t.rank() != info.type.shape.rank()) return false;
  for (int i = 0; i < t.rank(); ++i) {
    const Dim& d = info.type.shape[i];
    if (d.is_constant() && d.constant() != t.size(i)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::pair<Variable, Tensor>> match_variables(const std::vector<Variable>& variables,
                                                         const TensorMap& tensors,
                                                         std::string_view source,
                                                         const MatchOptions& options) {
  std::vector<std::pair<Variable, Tensor>> result;
  std::set<std::string, std::less<>> used;
  std::string problems;
  for (const Variable& v : variables) {
    const VariableInfo& info = v.info();
    std::vector<std::string> names = {info.name};
    names.insert(names.end(), info.aliases.begin(), info.aliases.end());
    const Tensor* found = nullptr;
    for (const std::string& name : names) {
      const auto it = tensors.find(name);
      if (it == tensors.end()) continue;
      used.insert(name);
      if (!fits(info, it->second)) {
        problems += fmt::format("\n  misshapen: '{}' is {}, the variable {}", name,
                                it->second.type_str(), info.type.str());
      } else if (found != nullptr && !bitwise_equal(*found, it->second)) {
        problems += fmt::format(
            "\n  contradiction: '{}' and '{}' are one variable, but their values differ", info.name,
            name);
      }
      if (found == nullptr) found = &it->second;
    }
    if (found != nullptr) {
      result.emplace_back(v, *found);
    } else if (!options.allow_missing) {
      problems += fmt::format("\n  missing: '{}' {}", info.name, info.type.str());
    }
  }
  if (!options.allow_unexpected) {
    for (const auto& [name, tensor] : tensors) {
      if (used.count(name) == 0) {
        problems += fmt::format("\n  unexpected: '{}' {}", name, tensor.type_str());
      }
    }
  }
  if (!problems.empty()) {
    throw FormatError(
        fmt::format("the tensors of {} do not fit the variables:{}", source, problems));
  }
  return result;
}

}  // namespace weft
