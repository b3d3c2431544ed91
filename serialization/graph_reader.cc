#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "weft/core/error.h"
#include "weft/graph/ir/draws.h"
#include "weft/serialization/files/checked_size.h"
#include "weft/serialization/graph_proto.h"

namespace weft {
namespace {

Dim read_dim(Graph& graph, const std::string& text) {
  return Dim::parse(text, [&](std::string_view name) {
    if (SymbolPtr known = graph.find_symbol(name)) return known;
    throw FormatError(
        fmt::format("dimension '{}' contains the undeclared symbol '{}'", text, name));
  });
}

Shape read_shape(Graph& graph, const v1::Shape& shape) {
  Shape result;
  for (const std::string& d : shape.dims()) result.push_back(read_dim(graph, d));
  return result;
}

template <class E>
E read_enum(std::uint32_t number, std::uint32_t last, std::string_view what) {
  if (number < 1 || number > last) {
    throw FormatError(fmt::format("{} {} is unknown to this program", what, number));
  }
  return static_cast<E>(number);
}

Initializer read_initializer(const v1::Initializer& message) {
  return {read_enum<Initializer::Kind>(message.kind(), 5, "initializer"), message.a(), message.b()};
}

}  // namespace

DType GraphReader::dtype(std::uint32_t number) { return read_enum<DType>(number, 9, "dtype"); }

VariableKind GraphReader::kind(std::uint32_t number) {
  return read_enum<VariableKind>(number, 5, "variable kind");
}

ValueType GraphReader::type(Graph& graph, const v1::Type& type) {
  return {dtype(type.dtype()), read_shape(graph, type.shape())};
}

Value GraphReader::value(const std::vector<Value>& values, std::uint32_t number) {
  if (number > values.size()) {
    throw FormatError(fmt::format("value {} is used before it is defined", number));
  }
  return number == 0 ? Value() : values[number - 1];
}

std::unique_ptr<Graph> GraphReader::read(const v1::Variables& manifest) {
  const std::vector<Record>& records = file_.records();
  std::unique_ptr<Graph> main;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!records[i].is(RecordType::graph)) continue;
    const auto message = parse_record<v1::Graph>(file_, records[i]);
    std::vector<const Record*> nodes;
    const std::uint64_t offset = records[i].offset;
    while (i + 1 < records.size() && records[i + 1].is(RecordType::nodes)) {
      nodes.push_back(&records[++i]);
    }
    offset_ = offset;
    try {
      if (main != nullptr) throw FormatError("the file has a graph after the main graph");
      std::vector<Value> values;
      auto graph =
          build(message, std::move(nodes), message.has_function() ? nullptr : &manifest, values);
      if (!message.has_function()) {
        main = std::move(graph);
        main_ = std::move(values);
        continue;
      }
      Function f;
      f.name = message.function().name();
      f.gradient = message.function().gradient();
      f.body = std::move(graph);
      for (const std::uint32_t v : message.function().inputs())
        f.inputs.push_back(value(values, v));
      for (const std::uint32_t v : message.function().outputs())
        f.outputs.push_back(value(values, v));
      if (message.function().parent() == message.id()) {
        throw FormatError(fmt::format("function '{}' is its own parent", f.name));
      }
      functions_[message.function().parent()].push_back(std::move(f));
    } catch (const Error& e) {
      if (std::string_view(e.what()).find("at byte") != std::string_view::npos) throw;
      file_.fail(offset_, e.what());
    }
  }
  if (main == nullptr) file_.fail(file_.bytes(), "the file has no graph");
  graph_ = main.get();
  return main;
}

std::unique_ptr<Graph> GraphReader::build(const v1::Graph& message,
                                          std::vector<const Record*> node_records,
                                          const v1::Variables* manifest,
                                          std::vector<Value>& values) {
  auto graph = std::make_unique<Graph>(ops_);
  for (const std::string& s : message.symbols()) {
    if (!Dim::is_symbol_name(s)) {
      throw FormatError(fmt::format("'{}' cannot be the name of a symbol", s));
    }
    graph->dim(s);
  }
  for (const v1::Equation& e : message.requirements()) {
    graph->require(read_dim(*graph, e.left()) == read_dim(*graph, e.right()), {});
  }
  for (const v1::Input& in : message.inputs()) {
    values.push_back(graph->input(in.name(), type(*graph, in.type()), {}));
  }
  if (manifest != nullptr) {
    for (const v1::Variable& v : manifest->variables()) {
      const VariableKind kind = GraphReader::kind(v.kind());
      const Variable variable = graph->variable(v.name(), type(*graph, v.type()),
                                                {.kind = kind,
                                                 .trainable = v.trainable(),
                                                 .initializer = read_initializer(v.initializer())},
                                                {});
      for (const std::string& alias : v.aliases()) graph->alias(alias, variable, {});
      values.push_back(variable.value());
    }
  }
  if (const auto it = functions_.find(message.id()); it != functions_.end()) {
    for (Function& f : it->second) graph->add_function(std::move(f), {});
    functions_.erase(it);
  }
  std::uint64_t count = 0;
  for (const Record* record : node_records) nodes(*graph, message, *record, values, count);
  if (count != message.node_count()) {
    throw FormatError(
        fmt::format("the graph has {} nodes, but declares {}", count, message.node_count()));
  }
  for (const v1::ValueName& n : message.names()) {
    graph->set_name(n.name(), value(values, n.value()), {});
  }
  return graph;
}

void GraphReader::nodes(Graph& graph, const v1::Graph& message, const Record& record,
                        std::vector<Value>& values, std::uint64_t& count) {
  offset_ = record.offset;
  const auto chunk = parse_record<v1::Nodes>(file_, record);
  for (const v1::Node& n : chunk.nodes()) {
    try {
      node(graph, message, n, values);
    } catch (const Error& e) {
      file_.fail(offset_, fmt::format("node {}: {}", count, e.what()));
    }
    ++count;
  }
}

void GraphReader::node(Graph& graph, const v1::Graph& message, const v1::Node& n,
                       std::vector<Value>& values) {
  const auto index = [](std::uint32_t i, int size, std::string_view what) {
    if (i >= static_cast<std::uint32_t>(size)) {
      throw FormatError(
          fmt::format("{} {} is out of range: the list has {} entries", what, i, size));
    }
    return static_cast<int>(i);
  };
  const v1::Op& stored_op = message.ops(index(n.op(), message.ops_size(), "op"));
  const OpRecord* op = stored_op.version() <= std::numeric_limits<int>::max()
                           ? ops_->find(stored_op.name(), static_cast<int>(stored_op.version()))
                           : nullptr;
  if (op == nullptr) {
    throw FormatError(fmt::format("this program does not know op '{}' version {}{}",
                                  stored_op.name(), stored_op.version(),
                                  ops_->find(stored_op.name()) == nullptr
                                      ? "; pass an OpSet that contains it in LoadOptions::ops"
                                      : fmt::format(" (the newest known version is {})",
                                                    ops_->find(stored_op.name())->version)));
  }
  if (op->has(Trait::leaf) && op->name != "constant") {
    throw FormatError(fmt::format("op '{}' is not allowed in the list of nodes", op->name));
  }
  std::vector<Value> inputs;
  for (const std::uint32_t v : n.inputs()) inputs.push_back(value(values, v));
  Attributes attributes;
  for (const v1::Attribute& a : n.attributes()) {
    attributes.set(a.name(), attribute(graph, a));
    if (is_stream(*op, a.name()) && (a.integer() < 0 || a.integer() > kMaxStream)) {
      throw FormatError(fmt::format("random stream {} is out of range", a.integer()));
    }
  }
  Node& made = graph.apply(*op, std::move(inputs), std::move(attributes), {}, n.instance());
  if (static_cast<std::uint32_t>(made.output_count()) != n.outputs()) {
    throw FormatError(fmt::format("op '{}' has {} outputs, but the file declares {}", op->name,
                                  made.output_count(), n.outputs()));
  }
  const std::string& file = message.strings(index(n.file(), message.strings_size(), "string"));
  const std::string& scope = message.strings(index(n.scope(), message.strings_size(), "string"));
  graph.set_source_info(made, {file.c_str(), static_cast<int>(n.line() & 0x7fffffffu)}, scope);
  for (int i = 0; i < made.output_count(); ++i) values.push_back(made.output(i));
}

Attribute GraphReader::attribute(Graph& graph, const v1::Attribute& message) {
  switch (message.value_case()) {
    case v1::Attribute::kFlag: return message.flag();
    case v1::Attribute::kInteger: return std::int64_t{message.integer()};
    case v1::Attribute::kReal: return message.real();
    case v1::Attribute::kText: return message.text();
    case v1::Attribute::kDtype: return dtype(message.dtype());
    case v1::Attribute::kIntegers: {
      const auto& list = message.integers().values();
      return std::vector<std::int64_t>(list.begin(), list.end());
    }
    case v1::Attribute::kReals: {
      const auto& list = message.reals().values();
      return std::vector<double>(list.begin(), list.end());
    }
    case v1::Attribute::kDim: return read_dim(graph, message.dim());
    case v1::Attribute::kShape: return read_shape(graph, message.shape());
    case v1::Attribute::kTensor: return constant(message.tensor());
    case v1::Attribute::VALUE_NOT_SET: break;
  }
  throw FormatError(
      fmt::format("attribute '{}' has a type that this program does not know", message.name()));
}

Tensor GraphReader::constant(const v1::Constant& message) {
  const DType d = dtype(message.dtype());
  const Sizes sizes(message.sizes().begin(), message.sizes().end());
  if (message.data() != 0) return file_.tensor(d, sizes, message.data(), "a constant", offset_);
  const std::uint64_t bytes = checked_tensor_bytes(d, sizes);
  if (bytes != message.content().size()) {
    throw FormatError(fmt::format("a constant {}{} needs {} bytes, but has {} bytes", dtype_name(d),
                                  to_string(sizes), bytes, message.content().size()));
  }
  Tensor t = Tensor::empty(d, sizes);
  const std::string& content = message.content();
  if (d == DType::boolean &&
      std::any_of(content.begin(), content.end(), [](char c) { return c != 0 && c != 1; })) {
    throw FormatError("a bool constant has an element that is neither 0 nor 1");
  }
  if (bytes > 0) std::memcpy(t.mutable_raw(), content.data(), bytes);
  return t;
}

std::vector<Program> GraphReader::programs() {
  std::vector<Program> result;
  for (const Record& record : file_.records()) {
    if (!record.is(RecordType::programs)) continue;
    const auto message = parse_record<v1::Programs>(file_, record);
    try {
      for (const v1::Program& p : message.programs()) {
        const bool known = std::any_of(result.begin(), result.end(),
                                       [&](const Program& q) { return q.name() == p.name(); });
        if (known) throw FormatError(fmt::format("there are two programs called '{}'", p.name()));
        Program program(p.name());
        if (p.precision() != 0) {
          program.precision(read_enum<Precision>(p.precision(), 3, "precision"));
        }
        program.batch_invariant(p.batch_invariant());
        if (p.shards() != 0) {
          constexpr std::uint32_t kMost = 1 << 30;  // Program::shards() rejects larger counts
          program.shards({static_cast<int>(std::min(p.shards(), kMost)), p.shard_axis()});
        }
        for (const v1::Output& o : p.outputs())
          program.output(o.name(), value(main_, o.value()), {});
        for (const v1::Update& u : p.updates()) {
          const Value read = value(main_, u.variable());
          if (!read.defined() || read.node().op().name != "variable") {
            throw FormatError(
                fmt::format("program '{}' updates a value that is not a variable", p.name()));
          }
          program.update(Variable(read), value(main_, u.value()), {});
        }
        result.push_back(std::move(program));
      }
    } catch (const Error& e) {
      file_.fail(record.offset, e.what());
    }
  }
  return result;
}

}  // namespace weft
