#include "weft/serialization/saved_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <set>

#include "weft/core/error.h"
#include "weft/graph/text/literal.h"
#include "weft/serialization/checkpoint_files.h"
#include "weft/serialization/graph_proto.h"

namespace weft {
namespace {

std::string type_text(const v1::Type& type) {
  const auto& dims = type.shape().dims();
  return fmt::format("{}[{}]", dtype_name(GraphReader::dtype(type.dtype())),
                     fmt::join(dims.begin(), dims.end(), ", "));
}

std::string attribute_text(const v1::Attribute& a) {
  switch (a.value_case()) {
    case v1::Attribute::kFlag: return a.flag() ? "true" : "false";
    case v1::Attribute::kInteger: return std::to_string(a.integer());
    case v1::Attribute::kReal: return float_text(a.real());
    case v1::Attribute::kText: return quote(a.text());
    case v1::Attribute::kDtype: return std::string(dtype_name(GraphReader::dtype(a.dtype())));
    case v1::Attribute::kIntegers:
      return fmt::format("[{}]", fmt::join(a.integers().values(), ", "));
    case v1::Attribute::kReals: {
      std::vector<std::string> numbers;
      for (const double x : a.reals().values()) numbers.push_back(float_text(x));
      return fmt::format("[{}]", fmt::join(numbers, ", "));
    }
    case v1::Attribute::kDim: return a.dim();
    case v1::Attribute::kShape: return fmt::format("[{}]", fmt::join(a.shape().dims(), ", "));
    case v1::Attribute::kTensor:
      return fmt::format("{}[{}]", dtype_name(GraphReader::dtype(a.tensor().dtype())),
                         fmt::join(a.tensor().sizes(), ", "));
    case v1::Attribute::VALUE_NOT_SET: break;
  }
  return "?";
}

// Lists the main graph as text. Values have the same numbers and names as in the output of
// to_text().
class Lister {
 public:
  Lister(const Container& file, const OpSet& ops, SavedFile& result)
      : file_(file), ops_(ops), result_(result) {}

  void list() {
    const std::vector<Record>& records = file_.records();
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (records[i].is(RecordType::programs)) programs(records[i]);
      if (!records[i].is(RecordType::graph)) continue;
      const Record& record = records[i];
      const auto graph = parse_record<v1::Graph>(file_, record);
      const bool main = !graph.has_function();
      try {
        find_unknown_ops(graph);
        if (main) leaves(graph);
      } catch (const Error& e) {
        file_.fail(record.offset, e.what());
      }
      while (i + 1 < records.size() && records[i + 1].is(RecordType::nodes)) {
        ++i;
        if (main) nodes(graph, records[i]);
      }
    }
  }

 private:
  void find_unknown_ops(const v1::Graph& graph) {
    for (const v1::Op& op : graph.ops()) {
      const bool known = op.version() <= std::numeric_limits<int>::max() &&
                         ops_.find(op.name(), static_cast<int>(op.version())) != nullptr;
      if (known || !unknown_.insert({op.name(), op.version()}).second) continue;
      result_.unknown_ops.push_back(fmt::format("{} version {}", op.name(), op.version()));
    }
  }

  void leaves(const v1::Graph& graph) {
    for (const v1::Input& in : graph.inputs()) {
      result_.inputs.push_back(fmt::format("{}: {}", in.name(), type_text(in.type())));
      values_.push_back(fmt::format("%{}", quote_if_needed(in.name())));
    }
    for (const SavedVariable& v : result_.variables) {
      values_.push_back(fmt::format("@{}", quote_if_needed(v.name)));
    }
  }

  void nodes(const v1::Graph& graph, const Record& record) {
    const auto chunk = parse_record<v1::Nodes>(file_, record);
    for (const v1::Node& n : chunk.nodes()) {
      try {
        result_.nodes.push_back(node(graph, n));
      } catch (const Error& e) {
        file_.fail(record.offset, e.what());
      }
    }
  }

  std::string node(const v1::Graph& graph, const v1::Node& n) {
    if (n.op() >= static_cast<std::uint32_t>(graph.ops_size())) {
      throw FormatError(
          fmt::format("op {} is out of range: the file lists {} ops", n.op(), graph.ops_size()));
    }
    constexpr std::uint32_t kMostOutputs = 1000;
    if (n.outputs() > kMostOutputs) {
      throw FormatError(fmt::format("a node has {} outputs, which is too many", n.outputs()));
    }
    const v1::Op& op = graph.ops(static_cast<int>(n.op()));
    std::vector<std::string> inputs, attributes, outputs;
    for (const std::uint32_t v : n.inputs()) inputs.push_back(value(v));
    for (const v1::Attribute& a : n.attributes()) {
      attributes.push_back(fmt::format("{} = {}", a.name(), attribute_text(a)));
    }
    for (std::uint32_t i = 0; i < n.outputs(); ++i) {
      outputs.push_back(fmt::format("%{}", next_++));
      values_.push_back(outputs.back());
    }
    std::string text =
        fmt::format("{} = {}({})", fmt::join(outputs, ", "), op.name(), fmt::join(inputs, ", "));
    if (!attributes.empty()) text += fmt::format(" {{{}}}", fmt::join(attributes, ", "));
    const std::string scope = string_of(graph, n.scope()), place = string_of(graph, n.file());
    if (!scope.empty() || !place.empty()) text += "  //";
    if (!scope.empty()) text += " " + scope;
    if (!place.empty()) text += fmt::format(" {}:{}", place, n.line());
    return text;
  }

  void programs(const Record& record) {
    const auto message = parse_record<v1::Programs>(file_, record);
    try {
      for (const v1::Program& p : message.programs()) {
        SavedProgram program{.name = p.name()};
        for (const v1::Output& o : p.outputs()) {
          program.outputs.push_back(
              fmt::format("{} = {}", quote_if_needed(o.name()), value(o.value())));
        }
        for (const v1::Update& u : p.updates()) {
          program.updates.push_back(fmt::format("{} = {}", value(u.variable()), value(u.value())));
        }
        result_.programs.push_back(std::move(program));
      }
    } catch (const Error& e) {
      file_.fail(record.offset, e.what());
    }
  }

  std::string value(std::uint32_t number) const {
    if (number > values_.size()) {
      throw FormatError(fmt::format("value {} is used before it is defined", number));
    }
    return number == 0 ? "_" : values_[number - 1];
  }

  static std::string string_of(const v1::Graph& graph, std::uint32_t i) {
    return i < static_cast<std::uint32_t>(graph.strings_size()) ? graph.strings(static_cast<int>(i))
                                                                : std::string();
  }

  const Container& file_;
  const OpSet& ops_;
  SavedFile& result_;
  std::vector<std::string> values_;
  std::size_t next_ = 0;
  std::set<std::pair<std::string, std::uint32_t>> unknown_;
};

}  // namespace

SavedFile read_saved_file(const std::string& path, const std::shared_ptr<const OpSet>& ops) {
  SavedFile result;
  result.variables = saved_variables(path);  // checks the header
  const CheckpointFiles files(path);
  files.check_data(parse_record<v1::Variables>(files.main(), variables_record(files.main())));
  result.producer = files.producer();
  Lister(files.main(), *ops, result).list();
  return result;
}

}  // namespace weft
