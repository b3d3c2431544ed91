// What a family's builder is given. Internal to hf.
#pragma once

#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/config_writer.h"
#include "weft/models/hf/model.h"

namespace weft::hf {

class Request {
 public:
  Request(Graph& graph, const std::string& config, InputTypes inputs,
          const std::string& architecture);
  Request(Graph& graph, const std::string& config, const InputValues& inputs,
          const std::string& architecture);

  Graph& graph;
  ConfigReader config;
  std::string architecture;

  /// The input of this name as a value of the graph; undefined where it is not given. An axis is
  /// the name of a symbol, or "" for the size it has; a value that was given keeps its own. Throws
  /// ShapeError for another rank.
  Value input(const std::string& name, std::initializer_list<std::string_view> axes);
  /// The same, but it must be given (ArgumentError).
  Value required(const std::string& name, std::initializer_list<std::string_view> axes);
  /// Rank of an input, or -1 where it is not given.
  int rank(const std::string& name) const;
  DType dtype(const std::string& name) const { return inputs_.at(name).first; }
  /// Throws ArgumentError naming an input that nobody asked for.
  void finish() const;

  /// What follows the prefix of the model type's classes in the architecture ("BertForMaskedLM" ->
  /// "ForMaskedLM"); ArgumentError if it starts otherwise.
  std::string task() const;
  /// The error of a class without a builder.
  [[noreturn]] void unsupported_architecture() const;

 private:
  InputTypes inputs_;
  InputValues values_;  // of inputs that are not declared, but given
  std::set<std::string> used_;
};

/// Names hidden.<i> in the outputs.
void put_hidden(Model& model, const std::string& prefix, const std::vector<Value>& hidden);

/// What there is of a model type, by the name that config.json gives it.
struct ModelType {
  std::string prefix;  // of its classes: "Bert"
  /// Builds what is asked for.
  Model (*build)(Request&);
  /// Writes the keys of a config of this type: those that `build` reads.
  void (*write)(ConfigWriter&, const std::string& type, const FamilyConfig&, const HeadFacts&);
};
/// Null where there is none of this name.
const ModelType* find_model_type(const std::string& name);

Model build_bart(Request&);
Model build_bert(Request&);
Model build_roberta(Request&);
Model build_distilbert(Request&);
Model build_albert(Request&);
Model build_electra(Request&);
Model build_deberta(Request&);
Model build_deberta_v2(Request&);
Model build_deit(Request&);
Model build_gpt(Request&);
Model build_marian(Request&);
Model build_mbart(Request&);
Model build_pegasus(Request&);
Model build_t5(Request&);
Model build_vit(Request&);

void write_bart(ConfigWriter&, const std::string&, const FamilyConfig&, const HeadFacts&);
void write_bert(ConfigWriter&, const std::string&, const FamilyConfig&, const HeadFacts&);
void write_distilbert(ConfigWriter&, const std::string&, const FamilyConfig&, const HeadFacts&);
void write_albert(ConfigWriter&, const std::string&, const FamilyConfig&, const HeadFacts&);
void write_electra(ConfigWriter&, const std::string&, const FamilyConfig&, const HeadFacts&);
void write_deberta(ConfigWriter&, const std::string&, const FamilyConfig&, const HeadFacts&);
void write_gpt(ConfigWriter&, const std::string&, const FamilyConfig&, const HeadFacts&);
void write_t5(ConfigWriter&, const std::string&, const FamilyConfig&, const HeadFacts&);
void write_vit(ConfigWriter&, const std::string&, const FamilyConfig&, const HeadFacts&);

}  // namespace weft::hf
