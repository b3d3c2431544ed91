// Graph::Undo: restores the state of a graph after a builder has failed.
#include "weft/graph/ir/graph.h"

namespace weft {

Graph::Undo::Undo(Graph& graph)
    : graph_(graph),
      nodes_(graph.nodes_.size()),
      inputs_(graph.inputs_.size()),
      variables_(graph.variables_.size()),
      functions_(graph.functions_.size()),
      captures_(graph.captures_ == nullptr ? 0 : graph.captures_->values.size()),
      enclosing_(graph.enclosing() == nullptr ? nullptr
                                              : std::make_unique<Undo>(*graph.enclosing())) {}

void Graph::Undo::keep() {
  kept_ = true;
  if (enclosing_ != nullptr) enclosing_->keep();
}

Graph::Undo::~Undo() {
  if (kept_) return;
  Graph& g = graph_;
  const auto is_removed = [this](const Node& n) { return n.id() >= nodes_; };
  const auto at_or_after = [](std::size_t mark) {
    return [mark](const auto& entry) { return entry.second >= mark; };
  };
  std::erase_if(g.captured_, [&](const auto& entry) { return is_removed(entry.second.node()); });
  if (g.captures_ != nullptr) g.captures_->values.resize(captures_);
  std::erase_if(g.names_, [&](const auto& entry) { return is_removed(entry.second.node()); });
  std::erase_if(g.name_of_, [&](const auto& entry) { return is_removed(entry.first.node()); });
  std::erase_if(g.interned_, [&](const auto& entry) { return is_removed(*entry.second); });
  std::erase_if(g.variable_of_read_, at_or_after(variables_));
  std::erase_if(g.variable_index_, at_or_after(variables_));
  std::erase_if(g.input_index_, at_or_after(inputs_));
  std::erase_if(g.function_index_, at_or_after(functions_));
  g.variable_reads_.resize(variables_);
  g.advanced_keys_.resize(variables_);
  g.variables_.erase(g.variables_.begin() + static_cast<std::ptrdiff_t>(variables_),
                     g.variables_.end());
  g.inputs_.resize(inputs_);
  g.functions_.erase(g.functions_.begin() + static_cast<std::ptrdiff_t>(functions_),
                     g.functions_.end());
  std::erase_if(g.unrounded_, [this](const auto& entry) { return entry.first >= nodes_; });
  g.source_infos_.resize(nodes_);
  g.nodes_.resize(nodes_);
}

}  // namespace weft
