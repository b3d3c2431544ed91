
#include <algorithm>
#include <unordered_set>

#include "weft/core/excerpt.h"
#include "weft/serialization/graph_proto.h"

namespace weft {
namespace {

// Maximum size of constants that are stored in the message itself.
constexpr std::size_t kInlineBytes = 4096;
// Size at which a record of nodes is closed and the next one begins.
constexpr std::size_t kNodesBytes = std::size_t{8} << 20;

void put(const Shape& shape, v1::Shape& out) {
  for (const Dim& d : shape) out.add_dims(d.str());
}

void put(const ValueType& type, v1::Type& out) {
  out.set_dtype(static_cast<std::uint32_t>(type.dtype));
  put(type.shape, *out.mutable_shape());
}

std::vector<Node*> all_nodes(const Graph& g) {
  std::vector<Node*> nodes;
  for (std::size_t id = 0; id < g.node_count(); ++id) nodes.push_back(&g.node(id));
  return nodes;
}

/// Returns the nodes in file order. Reading a graph first creates all variables, and for each
/// random key the node that advances it. These nodes are therefore written before all others,
/// wherever they are in `g`; the other nodes keep their order. Saving a loaded graph thus produces
/// the same file as saving the original graph.
std::vector<Node*> in_file_order(const Graph& g, std::vector<Node*> nodes) {
  std::unordered_set<const Node*> advanced;
  for (const Variable& v : g.variables()) {
    if (const Value next = g.advanced_key(v); next.defined()) advanced.insert(&next.node());
  }
  std::stable_partition(nodes.begin(), nodes.end(),
                        [&](const Node* n) { return advanced.contains(n); });
  return nodes;
}

template <class Key>
std::uint32_t number_of(std::map<Key, std::uint32_t>& table, const Key& key) {
  return table.emplace(key, static_cast<std::uint32_t>(table.size())).first->second;
}

}  // namespace

std::uint64_t DataList::add(Tensor tensor) {
  const void* data = tensor.raw();
  const std::size_t bytes = tensor.bytes();
  items_.push_back({data, bytes, std::move(tensor)});
  return items_.size();
}

std::uint64_t DataList::add(const std::string& bytes) {
  items_.push_back({bytes.data(), bytes.size(), {}});
  return items_.size();
}

void DataList::write(ContainerWriter& writer) const {
  for (const Item& item : items_) writer.add(RecordType::data, item.data, item.bytes);
}

void GraphWriter::write(const Graph& g, const std::vector<Node*>& nodes) {
  graph(g, nodes, nullptr, 0, main_);
}

void GraphWriter::graph(const Graph& g, const std::vector<Node*>& nodes, const Function* function,
                        std::uint32_t parent, Numbers& numbers) {
  const std::uint32_t id = next_id_++;
  // Bodies own their functions, so the recursion is only as deep as definitions are nested.
  for (const Function& f : g.functions()) {
    Numbers own;
    graph(*f.body, all_nodes(*f.body), &f, id, own);
  }
  v1::Graph message;
  message.set_id(id);
  for (const SymbolPtr& s : g.symbols()) message.add_symbols(s->name);
  for (const DimEquation& e : g.requirements()) {
    v1::Equation& out = *message.add_requirements();
    out.set_left(e.left.str());
    out.set_right(e.right.str());
  }
  const auto count = [&](const Value& v) {
    numbers.emplace(v, static_cast<std::uint32_t>(numbers.size() + 1));
  };
  for (const Value& v : g.inputs()) {
    v1::Input& out = *message.add_inputs();
    out.set_name(v.node().attributes().text("name"));
    put(v.type(), *out.mutable_type());
    count(v);
  }
  for (Node* n : nodes) {
    if (n->op().name == "variable") count(n->output(0));
  }

  std::map<std::pair<std::string, int>, std::uint32_t> ops;
  std::map<std::string, std::uint32_t> strings = {{"", 0}};
  std::vector<std::string> chunks;
  v1::Nodes chunk;
  std::size_t chunk_bytes = 0;
  std::uint64_t written = 0;
  for (Node* n : in_file_order(g, nodes)) {
    if (n->op().name == "input" || n->op().name == "variable") continue;
    v1::Node& out = *chunk.add_nodes();
    node(*n, numbers, ops, strings, out);
    for (int i = 0; i < n->output_count(); ++i) count(n->output(i));
    ++written;
    chunk_bytes += out.ByteSizeLong();
    if (chunk_bytes > kNodesBytes) {
      chunks.push_back(message_bytes(chunk));
      chunk.Clear();
      chunk_bytes = 0;
    }
  }
  if (chunk.nodes_size() > 0) chunks.push_back(message_bytes(chunk));
  message.set_node_count(written);

  std::vector<const std::pair<std::string, int>*> op_list(ops.size());
  for (const auto& [op, index] : ops) op_list[index] = &op;
  for (const auto* op : op_list) {
    v1::Op& out = *message.add_ops();
    out.set_name(op->first);
    out.set_version(static_cast<std::uint32_t>(op->second));
  }
  std::vector<const std::string*> string_list(strings.size());
  for (const auto& [text, index] : strings) string_list[index] = &text;
  for (const std::string* text : string_list) message.add_strings(*text);
  for (const auto& [name, value] : g.names()) {
    if (!numbers.contains(value)) continue;
    v1::ValueName& out = *message.add_names();
    out.set_name(name);
    out.set_value(numbers.at(value));
  }
  if (function != nullptr) {
    v1::Function& out = *message.mutable_function();
    out.set_name(function->name);
    out.set_gradient(function->gradient);
    out.set_parent(parent);
    for (const Value& v : function->inputs) out.add_inputs(numbers.at(v));
    for (const Value& v : function->outputs) out.add_outputs(numbers.at(v));
  }
  writer_.add(RecordType::graph, message_bytes(message));
  for (const std::string& bytes : chunks) writer_.add(RecordType::nodes, bytes);
}

void GraphWriter::node(const Node& n, const Numbers& numbers,
                       std::map<std::pair<std::string, int>, std::uint32_t>& ops,
                       std::map<std::string, std::uint32_t>& strings, v1::Node& out) {
  out.set_op(number_of(ops, std::pair(n.op().name, n.op().version)));
  for (const Value& v : n.inputs()) out.add_inputs(v.defined() ? numbers.at(v) : 0);
  for (const auto& [name, value] : n.attributes()) {
    v1::Attribute& a = *out.add_attributes();
    a.set_name(name);
    attribute(value, a);
  }
  out.set_instance(n.instance());
  out.set_outputs(static_cast<std::uint32_t>(n.output_count()));
  // Store the source line in the user's code, not the frames of library functions.
  const SourceLocation place = n.graph().origin(n);
  if (place.known()) {
    // Paths may contain any bytes, but strings in messages must be UTF-8.
    out.set_file(number_of(strings, as_utf8(place.file)));
    out.set_line(static_cast<std::uint32_t>(place.line));
  }
  out.set_scope(number_of(strings, std::string(n.graph().scope_of(n))));
}

void GraphWriter::attribute(const Attribute& value, v1::Attribute& out) {
  struct Visitor {
    GraphWriter& writer;
    v1::Attribute& out;
    void operator()(bool v) const { out.set_flag(v); }
    void operator()(std::int64_t v) const { out.set_integer(v); }
    void operator()(double v) const { out.set_real(v); }
    void operator()(const std::string& v) const { out.set_text(v); }
    void operator()(DType v) const { out.set_dtype(static_cast<std::uint32_t>(v)); }
    void operator()(const std::vector<std::int64_t>& v) const {
      v1::Integers& list = *out.mutable_integers();
      for (const std::int64_t x : v) list.add_values(x);
    }
    void operator()(const std::vector<double>& v) const {
      v1::Reals& list = *out.mutable_reals();
      for (const double x : v) list.add_values(x);
    }
    void operator()(const Dim& v) const { out.set_dim(v.str()); }
    void operator()(const Shape& v) const { put(v, *out.mutable_shape()); }
    void operator()(const Tensor& v) const {
      v1::Constant& c = *out.mutable_tensor();
      c.set_dtype(static_cast<std::uint32_t>(v.dtype()));
      for (const std::int64_t n : v.sizes()) c.add_sizes(n);
      if (v.bytes() <= kInlineBytes) {
        c.set_content(v.raw(), v.bytes());
      } else {
        c.set_data(writer.data_.add(v));
      }
    }
  };
  std::visit(Visitor{*this, out}, value);
}

v1::Variable GraphWriter::variable(const VariableInfo& info) {
  v1::Variable out;
  out.set_name(info.name);
  out.set_kind(static_cast<std::uint32_t>(info.kind));
  out.set_trainable(info.trainable);
  put(info.type, *out.mutable_type());
  out.mutable_initializer()->set_kind(static_cast<std::uint32_t>(info.initializer.kind));
  out.mutable_initializer()->set_a(info.initializer.a);
  out.mutable_initializer()->set_b(info.initializer.b);
  for (const std::string& alias : info.aliases) out.add_aliases(alias);
  return out;
}

v1::Program GraphWriter::program(const Program& p) const {
  v1::Program out;
  out.set_name(p.name());
  if (p.precision()) out.set_precision(static_cast<std::uint32_t>(*p.precision()));
  out.set_batch_invariant(p.is_batch_invariant());
  if (p.shards().count > 1) {
    out.set_shards(static_cast<std::uint32_t>(p.shards().count));
    out.set_shard_axis(p.shards().axis);
  }
  for (const auto& [name, value] : p.outputs()) {
    v1::Output& o = *out.add_outputs();
    o.set_name(name);
    o.set_value(main_.at(value));
  }
  for (const auto& [variable, value] : p.updates()) {
    v1::Update& u = *out.add_updates();
    u.set_variable(main_.at(variable.value()));
    u.set_value(main_.at(value));
  }
  return out;
}

}  // namespace weft
