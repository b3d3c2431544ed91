// Arguments of the model builders. Internal to hf.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/config_writer.h"
#include "weft/models/hf/model.h"

namespace weft::hf {

/// The graph, config, class and inputs for building a model.
class Request {
 public:
  Request(Graph& graph, const std::string& config, InputTypes inputs,
          const std::string& architecture);
  Request(Graph& graph, const std::string& config, const InputValues& inputs,
          const std::string& architecture);

  Graph& graph;
  ConfigReader config;
  std::string architecture;

  /// Returns the input with this name as a value of the graph, or an undefined value if the request
  /// does not include it. If this call declares it, `axes` are the names of its symbolic axes; ""
  /// keeps the concrete size of an axis. Throws ShapeError if the input has a different rank.
  Value input(const std::string& name, std::initializer_list<std::string_view> axes);
  /// Like input(), but throws ArgumentError if the request does not include the input.
  Value required(const std::string& name, std::initializer_list<std::string_view> axes);
  /// Returns the rank of an input, or -1 if the request does not include it.
  int rank(const std::string& name) const;
  /// Returns the size of an axis of an input. It is 1 for values of a graph.
  std::int64_t size(const std::string& name, std::size_t axis) const {
    const auto it = inputs_.find(name);
    return it == inputs_.end() || axis >= it->second.second.size() ? 1 : it->second.second[axis];
  }
  DType dtype(const std::string& name) const { return inputs_.at(name).first; }
  /// Throws an ArgumentError that names the first input that was not used.
  void finish() const;

  /// Returns the architecture without the prefix of the model type ("BertForMaskedLM" ->
  /// "ForMaskedLM"). Throws ArgumentError if it has a different prefix.
  std::string task() const;
  /// Throws the ArgumentError for an unsupported class.
  [[noreturn]] void unsupported_architecture() const;

 private:
  InputTypes inputs_;
  InputValues values_;  // inputs that are already values of the graph
  std::set<std::string> used_;
};

/// Adds the hidden states to the outputs under the names <prefix><i>.
void put_hidden(Model& model, const std::string& prefix, const std::vector<Value>& hidden);

/// A supported model_type of config.json.
struct ModelType {
  std::string name;    // for example "bert"
  std::string prefix;  // prefix of its class names, for example "Bert"
  /// Builds the requested model.
  std::function<Model(Request&)> build;
  /// Writes the config keys for this type so that `build` can read them.
  std::function<void(ConfigWriter&, const FamilyConfig&, const HeadFacts&)> write;
  /// The ending and the name of a class with another prefix than the others; or empty.
  std::string special_ending = {}, special_class = {};

  /// Returns the name of the class with this ending, for example "BertForMaskedLM".
  std::string class_name(const std::string& ending) const {
    return !special_class.empty() && ending == special_ending ? special_class : prefix + ending;
  }
};
using ModelTypes = std::vector<ModelType>;

/// Returns the model type with this name, or null if it is not supported.
const ModelType* find_model_type(const std::string& name);
/// Returns the model types of a family, in the order in which they are tried if a model did not
/// originate from a Hugging Face folder. `family` is an index of FamilyConfig.
const ModelTypes& model_types(std::size_t family);

/// Returns why a well-known decoder is not supported, and the nearest supported type, as a clause
/// for messages; or "".
std::string why_unsupported(std::string_view model_type);

// The model types that each file defines, in this order.
ModelTypes gpt_model_types();
ModelTypes bert_model_types();
ModelTypes albert_model_types();
ModelTypes distilbert_model_types();
ModelTypes deberta_model_types();
ModelTypes mpnet_model_types();
ModelTypes modernbert_model_types();
ModelTypes nomic_model_types();
ModelTypes longformer_model_types();
ModelTypes t5_model_types();
ModelTypes bart_model_types();
ModelTypes t5gemma_model_types();
ModelTypes whisper_model_types();
ModelTypes vit_model_types();
ModelTypes dinov2_model_types();
ModelTypes beit_model_types();
ModelTypes mae_model_types();
ModelTypes swin_model_types();
ModelTypes image_text_model_types();

/// Returns the smallest inputs of a class of CLIP or SigLIP, see minimal_inputs().
InputTypes image_text_inputs(ConfigReader& config);

}  // namespace weft::hf
