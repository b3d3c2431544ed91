#include "weft/serialization/match_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/graph/weights/matrices.h"
#include "weft/serialization/rename.h"

namespace weft {
namespace {

bool has_sizes(const VariableInfo& info, const Tensor& t) {
  if (t.rank() != info.type.shape.rank()) return false;
  for (int i = 0; i < t.rank(); ++i) {
    const Dim& d = info.type.shape[i];
    if (d.is_constant() && d.constant() != t.size(i)) return false;
  }
  return true;
}

/// Splits a name at its dots.
std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t dot = name.find('.');
    parts.push_back(name.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    name.remove_prefix(dot + 1);
  }
}

/// Returns the prefixes in which two names differ: {"bert.", "encoder."} for bert.a.b and
/// encoder.a.b. Returns empty strings if the last parts differ.
std::pair<std::string, std::string> prefixes(const std::string& file, const std::string& graph) {
  const auto a = parts_of(file), b = parts_of(graph);
  std::size_t same = 0;
  while (same < std::min(a.size(), b.size()) && a[a.size() - 1 - same] == b[b.size() - 1 - same])
    ++same;
  std::size_t behind = 0;  // bytes of the common suffix, including its dots
  for (std::size_t i = 0; i < same; ++i) behind += a[a.size() - 1 - i].size() + (i > 0 ? 1 : 0);
  if (same == 0) return {};
  return {file.substr(0, file.size() - behind), graph.substr(0, graph.size() - behind)};
}

/// A variable without a tensor, or a tensor without a variable.
struct Unmatched {
  std::string name;
  std::string type;
  Sizes sizes;
};

/// Suggests the rule for MatchOptions::rename that would resolve the most missing variables, or
/// returns "".
std::string rename_advice(const std::vector<Unmatched>& missing,
                          const std::vector<Unmatched>& unexpected) {
  constexpr std::size_t kMostPairs = 1'000'000;
  if (missing.size() * unexpected.size() > kMostPairs) return {};
  std::map<std::pair<std::string, std::string>, std::size_t> rules;
  for (const Unmatched& variable : missing) {
    std::set<std::pair<std::string, std::string>> possible;
    for (const Unmatched& tensor : unexpected) {
      if (tensor.sizes != variable.sizes) continue;
      const auto rule = prefixes(tensor.name, variable.name);
      if (rule.first != rule.second) possible.insert(rule);
    }
    for (const auto& rule : possible) ++rules[rule];
  }
  const auto best = std::max_element(
      rules.begin(), rules.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (best == rules.end() || best->second < 2) return {};
  const auto& [from, to] = best->first;
  return fmt::format(".rename = {{{{\"{}\", \"{}\"}}}} would resolve {} of the {} missing tensors",
                     from, to, best->second, missing.size());
}

class Matcher {
 public:
  Matcher(const TensorMap& tensors, const MatchOptions& options)
      : options_(options), tensors_(renamed(options.rename, tensors)) {}

  Match match(const std::vector<Variable>& variables) {
    check_only(variables);
    for (const Variable& variable : variables) {
      if (wanted(variable.name())) match(variable);
    }
    list_unexpected();
    // Suggest the nearest names only if there are few; for hundreds, a rename rule is more useful.
    constexpr std::size_t kMostPairs = 10'000;
    std::vector<std::string> others;
    if (missing_.size() * unexpected_.size() <= kMostPairs) {
      for (const Unmatched& tensor : unexpected_) others.push_back(tensor.name);
    }
    for (const Unmatched& variable : missing_) {
      result_.problems.push_back(fmt::format("missing: '{}' {}{}", variable.name, variable.type,
                                             did_you_mean(variable.name, others)));
    }
    for (const std::string& line : forbidden_) result_.problems.push_back(line);
    if (options_.rename.empty() && !options_.file_name)
      result_.advice = rename_advice(missing_, unexpected_);
    return std::move(result_);
  }

 private:
  bool stays_bf16(const VariableInfo& info, const Tensor& stored) const {
    return stored.dtype() == DType::bf16 && options_.keep_bf16.contains(info.name);
  }

  bool wanted(const std::string& name) const {
    return options_.only.empty() || matches_any(options_.only, name);
  }

  void check_only(const std::vector<Variable>& variables) const {
    for (const std::string& pattern : options_.only) {
      std::vector<std::string> names;
      for (const Variable& variable : variables) names.push_back(variable.name());
      if (std::none_of(names.begin(), names.end(),
                       [&](const std::string& name) { return matches(pattern, name); })) {
        throw ArgumentError(fmt::format("only: no variable matches '{}'; the variables are: {}",
                                        pattern, list_names(names)));
      }
    }
  }

  void match(const Variable& variable) {
    const VariableInfo& info = variable.info();
    std::vector<std::string> names = {info.name};
    names.insert(names.end(), info.aliases.begin(), info.aliases.end());
    if (options_.file_name)
      std::transform(names.begin(), names.end(), names.begin(), options_.file_name);
    const bool reinit = matches_any(options_.reinit, info.name);
    Tensor found;
    bool converted = false;
    for (const std::string& name : names) {
      const auto it = tensors_.find(name);
      if (it == tensors_.end()) continue;
      used_.insert(name);
      const Tensor& stored = it->second.tensor;
      taken_.insert(stored.raw());
      const bool cast = options_.convert && is_floating(stored.dtype()) &&
                        is_floating(info.type.dtype) && stored.dtype() != info.type.dtype &&
                        !stays_bf16(info, stored);
      const Tensor tensor = cast && !reinit ? stored.to(info.type.dtype) : stored;
      if (!reinit) check(info, names.front(), it->second, tensor, found);
      if (!found.defined()) found = tensor, converted = cast;
    }
    LoadReport& report = result_.report;
    if (!found.defined()) {
      report.missing.push_back(info.name);
      if (!reinit && !matches_any(options_.allow_missing, info.name)) {
        missing_.push_back({names.front(), info.type.str(),
                            info.type.shape.is_constant() ? info.type.shape.constant() : Sizes()});
      }
    } else if (reinit) {
      report.reinitialised.push_back(info.name);
    } else {
      report.loaded.push_back(info.name);
      if (converted) report.converted.push_back(info.name);
      result_.pairs.emplace_back(variable, found);
    }
  }

  /// Checks that `tensor` (as stored in the file, or converted) has the dtype and sizes of the
  /// variable, and equals `found`, the tensor that was found under another name of the variable.
  void check(const VariableInfo& info, const std::string& first, const RenamedTensor& in_file,
             const Tensor& tensor, const Tensor& found) {
    const std::string& name = in_file.file_name;
    const bool has_dtype = tensor.dtype() == info.type.dtype || stays_bf16(info, tensor);
    if (!has_dtype || !has_sizes(info, tensor)) {
      const bool convertible =
          has_sizes(info, tensor) && is_floating(tensor.dtype()) && is_floating(info.type.dtype);
      result_.problems.push_back(
          fmt::format("mismatched: '{}' is {}, but the variable {}is {}{}", name,
                      in_file.tensor.type_str(), name == first ? "" : "'" + info.name + "' ",
                      info.type.str(), convertible ? " (.convert = true converts it)" : ""));
    } else if (found.defined() && found.raw() != tensor.raw() && !bitwise_equal(found, tensor)) {
      result_.problems.push_back(fmt::format(
          "conflict: '{}' and '{}' are the same variable, but their values differ", first, name));
    }
  }

  void list_unexpected() {
    for (const auto& [name, entry] : tensors_) {
      const bool other_name = entry.tensor.bytes() > 0 && taken_.contains(entry.tensor.raw());
      if (used_.contains(name) || other_name || !wanted(name)) continue;
      result_.report.unexpected.push_back(entry.file_name);
      unexpected_.push_back({entry.file_name, entry.tensor.type_str(), entry.tensor.sizes()});
      if (matches_any(options_.allow_unexpected, entry.file_name)) continue;
      forbidden_.push_back(
          fmt::format("unexpected: '{}' {}", entry.file_name, entry.tensor.type_str()));
    }
  }

  const MatchOptions& options_;
  const RenamedTensors tensors_;
  Match result_;
  std::set<std::string, std::less<>> used_;
  std::set<const std::byte*> taken_;  // memory of the tensors that are matched to a variable
  std::vector<Unmatched> missing_, unexpected_;
  std::vector<std::string> forbidden_;
};

}  // namespace

std::vector<std::string> LoadReport::newly_initialised() const {
  std::vector<std::string> all = missing;
  all.insert(all.end(), reinitialised.begin(), reinitialised.end());
  return all;
}

std::string LoadReport::str() const {
  std::string text = fmt::format("{} parameters loaded", loaded.size());
  if (!converted.empty())
    text += fmt::format(" ({} converted from another dtype)", converted.size());
  const std::vector<std::string> fresh = newly_initialised();
  if (!fresh.empty()) text += fmt::format("; {} new: {}", fresh.size(), first_of(fresh));
  if (!unexpected.empty())
    text += fmt::format("; {} not used: {}", unexpected.size(), first_of(unexpected));
  return text;
}

Match find_matches(const std::vector<Variable>& variables, const TensorMap& tensors,
                   const MatchOptions& options) {
  return Matcher(tensors, options).match(variables);
}

Match match_variables(const std::vector<Variable>& variables, const TensorMap& tensors,
                      std::string_view source, const MatchOptions& options,
                      std::string_view wanted) {
  Match match = find_matches(variables, tensors, options);
  if (!match.problems.empty()) {
    throw FormatError(fmt::format("the tensors of {} do not match {}:\n  {}{}{}", source, wanted,
                                  fmt::join(match.problems, "\n  "),
                                  match.advice.empty() ? "" : "\n  ", match.advice));
  }
  return match;
}

std::vector<Variable> weight_variables(const Graph& graph) {
  std::vector<Variable> weights;
  for (const Variable& v : graph.variables()) {
    const VariableKind kind = v.info().kind;
    if (kind == VariableKind::parameter || kind == VariableKind::buffer) weights.push_back(v);
  }
  return weights;
}

std::string first_of(const std::vector<std::string>& names) { return list_names(names, 8); }

}  // namespace weft
