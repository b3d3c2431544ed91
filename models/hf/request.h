// What a family's builder is given. Internal to hf.
#pragma once

#include "weft/models/hf/config_reader.h"
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

  /// What follows `prefix` in the architecture ("BertForMaskedLM" -> "ForMaskedLM"); ArgumentError
  /// if it starts otherwise.
  std::string task(std::string_view prefix) const;
  /// The error of a class without a builder.
  [[noreturn]] void unsupported_architecture() const;

 private:
  InputTypes inputs_;
  InputValues values_;  // of inputs that are not declared, but given
  std::set<std::string> used_;
};

/// Names hidden.<i> in the outputs.
void put_hidden(Model& model, const std::string& prefix, const std::vector<Value>& hidden);

using Builder = Model (*)(Request&);
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

}  // namespace weft::hf
