// Matching of the tensors in an adapter folder with the parameters of a model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/graph/engine/nonfinite.h"
#include "weft/graph/weights/matrices.h"
#include "weft/models/hf/adapters/adapter_folder.h"
#include "weft/serialization/match_tensors.h"

namespace weft::hf {
namespace {

constexpr std::string_view kBaseFront = "base_model.model.", kWeight = ".weight";
constexpr std::string_view kProductA = ".lora_A.weight", kProductB = ".lora_B.weight";
constexpr std::string_view kTableA = ".lora_embedding_A", kTableB = ".lora_embedding_B";

std::string_view module_of(std::string_view parameter) {
  const std::size_t dot = parameter.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : parameter.substr(0, dot);
}

/// The pieces of one adapter, and the names of its tensors in the file.
struct Found {
  LoraAdapters::Adapter adapter;
  std::string a_name, b_name;
};
using FoundByModule = std::map<std::string, Found, std::less<>>;

/// Matches one folder with one model. Collects all problems.
class Matcher {
 public:
  Matcher(const AdapterFolder& folder, const ParameterNames& names,
          const std::vector<Program>& programs, const VariableStore& store)
      : folder_(folder), config_(folder.config), names_(names), store_(store) {
    Graph& graph = common_graph(programs, "programs to adapt");
    graph_ = &graph;
    for (WeightMatrix& matrix :
         weight_matrices(graph, programs, {.embeddings = true, .quantized = true}))
      matrices_.emplace(matrix.name, std::move(matrix));
    for (const auto& [theirs, ours] : names) ++uses_[ours];
  }

  TrainedAdapters match(const std::string& model) {
    result_.options = config_.options;
    result_.values.scale = config_.options.scale();
    read_tensors();
    add_adapters(products_, false);
    add_adapters(tables_, true);
    add_parameters();
    add_biases();
    find_missing();
    if (result_.values.adapters.empty() && result_.values.lookups.empty() && problems_.empty())
      problems_.push_back("there are no adapters");
    if (!problems_.empty()) {
      constexpr std::size_t kMost = 30;
      const std::size_t more = problems_.size() > kMost ? problems_.size() - kMost : 0;
      problems_.resize(problems_.size() - more);
      if (more > 0) problems_.push_back(fmt::format("and {} more", more));
      throw FormatError(fmt::format("the adapters in {} do not fit {}:\n  {}", folder_.path, model,
                                    fmt::join(problems_, "\n  ")));
    }
    return std::move(result_);
  }

 private:
  /// Returns the name of a parameter in the model. Files may have been written for a class that
  /// has, or lacks, the prefix of the base model.
  std::string resolved(const std::string& name) const {
    if (names_.contains(name)) return name;
    constexpr std::string_view kPrefixes[] = {"model.",      "transformer.",
                                              "bert.",       "roberta.",
                                              "distilbert.", "albert.",
                                              "electra.",    "deberta.",
                                              "gpt_neox.",   "vit.",
                                              "deit.",       "mpnet.",
                                              "ernie.",      "roformer.",
                                              "longformer.", "nomic_bert.",
                                              "new.",        "gte.",
                                              "beit.",       "data2vec_vision.",
                                              "dinov2.",     "dinov2_with_registers.",
                                              "swin."};
    for (const std::string_view prefix : kPrefixes) {
      if (std::string longer = std::string(prefix) + name; names_.contains(longer)) return longer;
      if (!name.starts_with(prefix)) continue;
      if (std::string shorter = name.substr(prefix.size()); names_.contains(shorter))
        return shorter;
    }
    return name;
  }

  void read_tensors() {
    for (const auto& [full, tensor] : folder_.tensors) {
      std::string name = full;
      if (name.starts_with(kBaseFront)) name.erase(0, kBaseFront.size());
      const auto piece = [&, &full = full, &tensor = tensor](FoundByModule& found,
                                                             std::string_view end, bool is_a) {
        if (!name.ends_with(end)) return false;
        const std::string parameter =
            resolved(name.substr(0, name.size() - end.size()) + std::string(kWeight));
        Found& entry = found[std::string(module_of(parameter))];
        (is_a ? entry.a_name : entry.b_name) = full;
        (is_a ? entry.adapter.a : entry.adapter.b) = floats(full, tensor);
        return true;
      };
      if (piece(products_, kProductA, true) || piece(products_, kProductB, false) ||
          piece(tables_, kTableA, true) || piece(tables_, kTableB, false))
        continue;
      for (const std::string_view wrapper : {".base_layer", ".modules_to_save"}) {
        if (const std::size_t at = name.find(std::string(wrapper) + "."); at != std::string::npos)
          name.erase(at, wrapper.size());
      }
      name = resolved(name);
      if (!names_.contains(name)) {
        unexpected(full, "the model has no such module or parameter");
      } else if (!parameters_.emplace(name, std::pair(full, floats(full, tensor))).second) {
        unexpected(full, "another tensor has the same meaning");
      }
    }
  }

  Tensor floats(const std::string& name, const Tensor& tensor) {
    const DType dtype = tensor.dtype();
    if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16 && dtype != DType::f64) {
      problems_.push_back(
          fmt::format("'{}' is {}, not a floating-point tensor", excerpt(name), dtype_name(dtype)));
      return Tensor::zeros(DType::f32, tensor.sizes());
    }
    Tensor wide = tensor.to(DType::f32);
    if (first_nonfinite(wide))
      problems_.push_back(fmt::format("'{}' holds values that are not finite", excerpt(name)));
    return wide;
  }

  void unexpected(const std::string& name, std::string_view why) {
    problems_.push_back(fmt::format("unexpected: '{}': {}", excerpt(name), why));
  }

  /// Adds adapters of products, or of lookups.
  void add_adapters(const FoundByModule& found, bool lookups) {
    LoraOptions& options = result_.options;
    for (const auto& [module, entry] : found) {
      const std::string& given = entry.a_name.empty() ? entry.b_name : entry.a_name;
      if (entry.a_name.empty() || entry.b_name.empty()) {
        missing(other_half(given));
        continue;
      }
      const auto known = names_.find(module + std::string(kWeight));
      if (known == names_.end()) {
        unexpected(given, "the model has no such module" +
                              did_you_mean(module + std::string(kWeight), all_names()));
        continue;
      }
      const std::string& ours = known->second;
      const auto matrix = matrices_.find(ours);
      if (matrix == matrices_.end() ||
          !(lookups ? matrix->second.looked_up : matrix->second.multiplied)) {
        unexpected(given, lookups ? "this module is not an embedding table that the model looks up"
                                  : "this module is not a linear layer that the model uses");
        continue;
      }
      if (lookups && looked_up_modules(ours) > 1) {
        unexpected(given,
                   "several modules share this embedding table, but PEFT adapts only one of them");
        continue;
      }
      if (config_.target && !config_.targets(module)) {
        unexpected(given,
                   "the config does not select this module (target_modules, "
                   "exclude_modules, layers_to_transform, modules_to_save)");
        continue;
      }
      const LoraShape shape = config_.shape(module);
      const WeightMatrix& w = matrix->second;
      const std::int64_t inputs = lookups ? w.rows() : w.inputs();
      const std::int64_t outputs = lookups ? w.columns() : w.outputs();
      check_sizes(entry.a_name, entry.adapter.a, {shape.rank, inputs});
      check_sizes(entry.b_name, entry.adapter.b, {outputs, shape.rank});
      auto& adapters = lookups ? result_.values.lookups : result_.values.adapters;
      const auto added = adapters.emplace(ours, entry.adapter);
      if (!added.second) {
        unexpected(given, "another adapter changes the same matrix");
        continue;
      }
      if (shape != LoraShape{options.rank, options.alpha} || lookups)
        added.first->second.scale = options.scale(shape);
      if (lookups) {
        options.lookups.emplace(ours, shape);
      } else if (added.first->second.scale) {
        options.shapes.emplace(ours, shape);
      }
      if (config_.ties_embeddings && w.looked_up)
        unexpected(given, "ensure_weight_tying is true, but shared adapters are not supported");
    }
  }

  void check_sizes(const std::string& name, const Tensor& tensor, const Sizes& wanted) {
    if (tensor.sizes() == wanted) return;
    problems_.push_back(fmt::format("'{}' has the sizes {}, but the rank and the model require {}",
                                    excerpt(name), to_string(tensor.sizes()), to_string(wanted)));
  }

  /// Returns the number of modules whose lookups read a table, for tables of an encoder-decoder.
  std::size_t looked_up_modules(const std::string& table) const {
    return static_cast<std::size_t>(
        std::count_if(names_.begin(), names_.end(), [&](const auto& name) {
          return name.second == table && name.first.ends_with("embed_tokens.weight");
        }));
  }

  static std::string other_half(std::string name) {
    const std::size_t at = name.rfind("_A"), b = name.rfind("_B");
    const bool is_a = at != std::string::npos && (b == std::string::npos || at > b);
    name[(is_a ? at : b) + 1] = is_a ? 'B' : 'A';
    return name;
  }

  void missing(const std::string& name) {
    problems_.push_back(fmt::format("missing: '{}'", excerpt(name, 200)));
  }

  std::vector<std::string> all_names() const {
    std::vector<std::string> names;
    for (const auto& [theirs, ours] : names_) names.push_back(theirs);
    return names;
  }

  /// Adds the parameters that are stored as a whole.
  void add_parameters() {
    std::map<std::string, std::set<std::string>> given;  // file names by variable
    for (const auto& [name, entry] : parameters_) {
      const auto& [full, tensor] = entry;
      const std::string& ours = names_.at(name);
      const auto matrix = matrices_.find(ours);
      const bool declared = graph_->has_variable(ours);
      const Sizes wanted = matrix != matrices_.end() ? matrix->second.value.shape().evaluate({})
                           : declared ? graph_->find_variable(ours).info().type.shape.evaluate({})
                                      : tensor.sizes();
      if (tensor.sizes() != wanted) {
        problems_.push_back(fmt::format(
            "'{}' has the sizes {}, but the model has {}{}", excerpt(full),
            to_string(tensor.sizes()), to_string(wanted),
            matrix != matrices_.end() && matrix->second.looked_up
                ? " (if the vocabulary was resized for training, resize that of the base model)"
                : ""));
        continue;
      }
      // PEFT also stores unchanged embeddings if they have adapters.
      const bool trained = config_.saves(module_of(name)) || config_.is_saved_head(name);
      if (!trained && declared && store_.contains(ours) &&
          bitwise_equal(store_.tensor(ours), tensor))
        continue;
      const auto before = result_.parameters.find(ours);
      if (before != result_.parameters.end() && !bitwise_equal(before->second, tensor)) {
        unexpected(full,
                   "the model shares this parameter with another one, but the folder has "
                   "different values for them");
        continue;
      }
      result_.parameters.insert_or_assign(ours, tensor);
      given[ours].insert(name);
    }
    for (const auto& [ours, names] : given) {
      if (names.size() == uses_.at(ours) || config_.ties_embeddings) continue;
      std::vector<std::string> others;
      for (const auto& [theirs, variable] : names_) {
        if (variable == ours && !names.contains(theirs)) others.push_back(theirs);
      }
      unexpected(parameters_.at(*names.begin()).first,
                 fmt::format("the model shares this parameter with {}, but the folder changes only "
                             "one of them",
                             list_names(others)));
    }
  }

  /// Adds the biases that the config trains and the folder lacks, as they are.
  void add_biases() {
    if (config_.bias == "none") return;
    for (const auto& [theirs, ours] : names_) {
      const bool chosen = config_.bias == "all" || products_.contains(module_of(theirs));
      if (!chosen || !theirs.ends_with(".bias") || !store_.contains(ours)) continue;
      if (graph_->find_variable(ours).info().kind == VariableKind::parameter)
        result_.parameters.emplace(ours, store_.tensor(ours));
    }
  }

  /// Adds a problem for each tensor that the config requires and the folder lacks.
  void find_missing() {
    for (const auto& [theirs, ours] : names_) {
      const std::string module(module_of(theirs));
      const bool buffer = graph_->has_variable(ours) &&
                          graph_->find_variable(ours).info().kind != VariableKind::parameter;
      if (!buffer && config_.saves(module) && !parameters_.contains(theirs))
        missing(std::string(kBaseFront) + theirs);
      const auto matrix = matrices_.find(ours);
      if (matrix == matrices_.end() || !theirs.ends_with(kWeight) || !config_.target) continue;
      // Whether a module of a tied matrix has adapters of products or of lookups is unknown.
      const bool tied = matrix->second.multiplied && matrix->second.looked_up;
      if (tied || !config_.targets(module)) continue;
      const bool lookup = matrix->second.looked_up;
      if ((lookup ? tables_ : products_).contains(module)) continue;
      missing(fmt::format("{}{}{}", kBaseFront, module, lookup ? kTableA : kProductA));
    }
  }

  const AdapterFolder& folder_;
  const AdapterConfig& config_;
  const ParameterNames& names_;
  const VariableStore& store_;
  Graph* graph_ = nullptr;
  std::map<std::string, WeightMatrix> matrices_;
  std::map<std::string, std::size_t> uses_;  // number of names by variable
  FoundByModule products_, tables_;
  std::map<std::string, std::pair<std::string, Tensor>> parameters_;  // by parameter name
  TrainedAdapters result_;
  std::vector<std::string> problems_;
};

}  // namespace

TrainedAdapters match_adapters(const AdapterFolder& folder, const ParameterNames& names,
                               const std::vector<Program>& programs, const VariableStore& store,
                               const std::string& model) {
  return Matcher(folder, names, programs, store).match(model);
}

}  // namespace weft::hf
