// The side tables of a graph (names, source locations, frames, scopes) and their use in errors.
#include <fmt/format.h>

#include <cstdlib>

#include "weft/graph/ir/graph.h"

namespace weft {
namespace {

// Returns the declared name of an input or a variable, or "" for other nodes.
std::string declared_name(const Node& node) {
  const bool declared = node.op().name == "input" || node.op().name == "variable";
  return declared ? node.attributes().text("name") : std::string();
}

// As above, looking through alias ops, which only change the shape of the value.
std::string declared_name(Value value) {
  const Node* node = value.node_pointer();
  while (node->op().has(Trait::alias)) node = node->input(0).node_pointer();
  return declared_name(*node);
}

}  // namespace

void Graph::set_name(std::string_view name, Value value, SourceLocation loc) {
  check_owned(value, fmt::format("name '{}'", name), loc);
  // A layer names values in its Scope, but in a body its values belong to the body.
  if (&value.graph() != this) return value.graph().set_name(name, value, loc);
  if (name.empty())
    throw GraphError(fmt::format("a name cannot be empty\n  {}", describe_source(loc)));
  const auto [it, fresh] = names_.emplace(std::string(name), value);
  if (!fresh && it->second != value) {
    throw GraphError(fmt::format("the name '{}' already belongs to another value ({}, {})\n  {}",
                                 name, it->second.type().str(), where(it->second.node()),
                                 describe_source(loc)));
  }
  name_of_.emplace(value, std::string(name));
}

Value Graph::find_named(std::string_view name) const {
  const auto it = names_.find(name);
  return it == names_.end() ? Value() : it->second;
}

std::string Graph::name_of(Value value) const {
  const auto it = name_of_.find(value);
  return it == name_of_.end() ? std::string() : it->second;
}

std::string Graph::frames_text(int frame) const {
  std::string text;
  for (; frame >= 0; frame = frames_[static_cast<std::size_t>(frame)].parent) {
    const FrameRecord& f = frames_[static_cast<std::size_t>(frame)];
    if (!f.function.empty()) text += fmt::format(", in {}", f.function);
    if (f.location.known()) text += fmt::format(" called at {}", f.location.str());
  }
  return text;
}

std::string Graph::describe_source(SourceLocation loc) const {
  if (override_location_) loc = location_;
  return "at " + (loc.known() ? loc.str() : std::string("unknown line")) + frames_text(frame_);
}

std::string Graph::where(const Node& node) const {
  const SourceInfo& p = source_infos_[node.id()];
  return (p.location.known() ? p.location.str() : std::string("unknown line")) +
         frames_text(p.frame);
}

SourceLocation Graph::location(const Node& node) const { return source_infos_[node.id()].location; }

SourceLocation Graph::origin(const Node& node) const {
  SourceLocation outermost = source_infos_[node.id()].location;
  for (int f = source_infos_[node.id()].frame; f >= 0;
       f = frames_[static_cast<std::size_t>(f)].parent) {
    const FrameRecord& record = frames_[static_cast<std::size_t>(f)];
    if (record.location.known()) outermost = record.location;
  }
  return outermost;
}

std::optional<double> Graph::unrounded(const Node& constant) const {
  const auto it = unrounded_.find(constant.id());
  return it == unrounded_.end() ? std::nullopt : std::optional(it->second);
}

std::string_view Graph::scope_of(const Node& node) const {
  for (int f = source_infos_[node.id()].frame; f >= 0;
       f = frames_[static_cast<std::size_t>(f)].parent) {
    const FrameRecord& record = frames_[static_cast<std::size_t>(f)];
    if (!record.scope.empty()) return record.scope;
  }
  return {};
}

SourceLocation Graph::with_owned_file(SourceLocation loc) {
  // Search backwards: the most recent file name is the most likely match.
  for (auto known = file_names_.rbegin(); known != file_names_.rend(); ++known) {
    if (*known == loc.file) return {known->c_str(), loc.line};
  }
  return {file_names_.emplace_back(loc.file).c_str(), loc.line};
}

void Graph::set_source_info(const Node& node, SourceLocation location, std::string_view scope) {
  int frame = -1;
  if (!scope.empty()) {
    frame = static_cast<int>(frames_.size());
    frames_.push_back({-1, "", {}, std::string(scope)});
  }
  source_infos_[node.id()] = {with_owned_file(location), frame};
}

void Graph::copy_source_info(const Node& from, const Node& to) {
  const Graph& source = from.graph();
  const SourceInfo& info = source.source_infos_[from.id()];
  if (const std::optional<double> number = source.unrounded(from)) {
    if (from.type(0) == to.type(0)) unrounded_.emplace(to.id(), *number);
  }
  if (&source == this) {
    source_infos_[to.id()] = info;
    return;
  }
  source_infos_[to.id()] = {with_owned_file(info.location), copy_frames(source, info.frame)};
}

int Graph::copy_frames(const Graph& source, int frame) {
  // Many nodes share a few frames, so each frame is copied only once.
  std::vector<int> chain;
  for (int f = frame; f >= 0; f = source.frames_[static_cast<std::size_t>(f)].parent) {
    chain.push_back(f);
  }
  int parent = -1;
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    const auto key = std::make_pair(static_cast<const void*>(&source), *it);
    const auto known = copied_frames_.find(key);
    if (known != copied_frames_.end()) {
      parent = known->second;
      continue;
    }
    FrameRecord record = source.frames_[static_cast<std::size_t>(*it)];
    record.parent = parent;
    record.location = with_owned_file(record.location);
    parent = static_cast<int>(frames_.size());
    frames_.push_back(std::move(record));
    copied_frames_.emplace(key, parent);
  }
  return parent;
}

Graph::Frame::Frame(Graph& graph, std::string_view function, SourceLocation loc,
                    std::string_view scope)
    : graph_(graph), previous_(graph.frame_) {
  graph.frames_.push_back(
      {graph.frame_, std::string(function), graph.with_owned_file(loc), std::string(scope)});
  graph.frame_ = static_cast<int>(graph.frames_.size()) - 1;
  if (graph.body_ != nullptr) inside_ = std::make_unique<Frame>(*graph.body_, function, loc, scope);
}

Graph::Frame::~Frame() { graph_.frame_ = previous_; }

Graph::Body::Body(Graph& outer, Graph& body, std::string_view function, SourceLocation loc,
                  Captures* captures)
    : outer_(outer), body_(body), previous_(outer.body_) {
  outer.body_ = &body;
  body.outer_ = &outer;
  body.body_name_ = function;
  body.captures_ = captures;
  body.open_ = true;
  if (outer.frame_ < 0) return;
  body.frames_.push_back({body.copy_frames(outer, outer.frame_), std::string(function),
                          body.with_owned_file(loc), ""});
  body.frame_ = static_cast<int>(body.frames_.size()) - 1;
}

Graph::Body::~Body() {
  outer_.body_ = previous_;
  body_.captures_ = nullptr;
  body_.open_ = false;
  body_.frame_ = -1;
}

Graph::InheritedSourceInfo::InheritedSourceInfo(Graph& graph, const Node& node, std::string what)
    : graph_(graph),
      previous_(graph.frame_),
      previous_override_(graph.override_location_),
      previous_location_(graph.location_) {
  int parent = -1;
  if (&node.graph() == &graph) {
    const SourceInfo& info = graph.source_infos_[node.id()];
    parent = info.frame;
    graph.location_ = info.location;
  } else {
    graph.location_ = graph.with_owned_file(node.graph().location(node));
  }
  graph.frames_.push_back({parent, std::move(what), {}, ""});
  graph.frame_ = static_cast<int>(graph.frames_.size()) - 1;
  graph.override_location_ = true;
}

Graph::InheritedSourceInfo::~InheritedSourceInfo() {
  graph_.frame_ = previous_;
  graph_.override_location_ = previous_override_;
  graph_.location_ = previous_location_;
}

std::string Graph::operands_text(std::string_view op, const std::vector<Value>& inputs,
                                 bool declared_names) const {
  std::string operands;
  const OpRecord* record = ops_->find(op);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    std::string label;
    if (record != nullptr && !record->inputs.empty()) {
      const InputSpec& spec = record->inputs[std::min(i, record->inputs.size() - 1)];
      label = spec.arity == Arity::variadic ? fmt::format("{}[{}]", spec.name, i) : spec.name;
      label += ": ";
    }
    std::string name = inputs[i].graph().name_of(inputs[i]);
    if (name.empty() && declared_names) name = declared_name(inputs[i]);
    operands += fmt::format("{}{}{}{}", operands.empty() ? "" : ", ", label, inputs[i].type().str(),
                            name.empty() ? "" : " '" + name + "'");
  }
  return operands.empty() ? "" : "operands " + operands + "\n  ";
}

void Graph::fail(const Error& error, const Node& node) const {
  const std::string_view scope = scope_of(node);
  const std::string name = declared_name(node);
  error.rethrow_as(fmt::format(
      "{}{}: {}\n  {}{}{}", node.op().name, name.empty() ? "" : fmt::format(" '{}'", name),
      error.what(), operands_text(node.op().name, node.inputs(), true),
      scope.empty() ? "" : fmt::format("in scope {}\n  ", scope), where(node)));
  std::abort();  // not reached: rethrow_as throws, which g++ 12 cannot see through devirtualisation
}

void Graph::fail(const Error& error, std::string_view op, const std::vector<Value>& inputs,
                 SourceLocation loc) const {
  error.rethrow_as(fmt::format("{}: {}\n  {}{}", op, error.what(), operands_text(op, inputs),
                               describe_source(loc)));
  std::abort();  // not reached: rethrow_as throws, which g++ 12 cannot see through devirtualisation
}

}  // namespace weft
