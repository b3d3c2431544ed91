#include <fmt/format.h>

#include <limits>
#include <optional>
#include <unordered_map>

#include "weft/core/error.h"
#include "weft/graph/text/inline_constants.h"
#include "weft/graph/text/literal.h"
#include "weft/graph/text/scanner.h"
#include "weft/graph/text/terms.h"
#include "weft/graph/text/text.h"

namespace weft {
namespace {

// Limits the recursion, so that hostile text cannot exhaust the stack.
constexpr int kMaxNesting = 32;

class Parser {
 public:
  Parser(std::string_view text, const ParseOptions& options)
      : options_(options), scan_(text, options.file) {}

  Module parse() {
    scan_.expect("weft text");
    const std::size_t at = scan_.position();
    const std::string_view version = scan_.number("a version");
    if (version != "1") {
      scan_.fail_at(at,
                    fmt::format("text version {} is not supported; the only supported version is 1",
                                version));
    }
    Module module{std::make_unique<Graph>(options_.ops), Program("")};
    Names names;
    statements(*module.graph, names, 0);
    if (scan_.take_word("program")) program(module, names);
    if (!scan_.at_end()) scan_.expected("the end of the text");
    return module;
  }

 private:
  struct Names {
    std::unordered_map<std::string, Value> values;  // keys: "%4", "%tokens", "@net.weight"
  };

  SourceLocation here(std::size_t position) const {
    return {options_.file.c_str(), scan_.line_of(position)};
  }
  void note_source(Graph& g, const Value& v, std::size_t position) {
    if (!g.location(v.node()).known()) g.set_source_info(v.node(), here(position), {});
  }

  void statements(Graph& g, Names& names, int depth) {
    for (;;) {
      const std::size_t at = scan_.position();
      if (scan_.take_word("dim")) {
        do {
          const std::string name = scan_.name("the name of a symbol");
          terms_.guard(at, [&] { return g.dim(name); });
        } while (scan_.take(","));
      } else if (scan_.take_word("require")) {
        const Dim left = terms_.dim(g, "=");
        scan_.expect("==");
        const Dim right = terms_.dim(g, "");
        terms_.guard(at, [&] { g.require(left == right, {}); });
      } else if (scan_.take_word("input")) {
        scan_.expect("%");
        const std::string name = scan_.name("the name of an input");
        scan_.expect(":");
        const ValueType t = terms_.type(g);
        const Value v = terms_.guard(at, [&] { return g.input(name, t, {}); });
        note_source(g, v, at);
        if (!names.values.emplace(fmt::format("%{}", name), v).second) {
          scan_.fail_at(at, fmt::format("%{} is defined twice", name));
        }
      } else if (scan_.take_word("variable")) {
        variable(g, names, at);
      } else if (scan_.take_word("func")) {
        function(g, at, depth);
      } else if (scan_.take_word("name")) {
        const std::string name = scan_.name("a name");
        scan_.expect("=");
        const Value v = value(names);
        terms_.guard(at, [&] { g.set_name(name, v, {}); });
      } else if (scan_.peek() == '%') {
        node(g, names);
      } else {
        return;
      }
    }
  }

  void variable(Graph& g, Names& names, std::size_t at) {
    scan_.expect("@");
    const std::string name = scan_.name("the name of a variable");
    scan_.expect(":");
    VariableOptions options;
    const std::size_t kind_at = scan_.position();
    const std::string_view kind = scan_.word("the kind of the variable");
    options.kind = terms_.guard(kind_at, [&] { return parse_variable_kind(kind); });
    options.trainable = !scan_.take_word("frozen");
    const ValueType t = terms_.type(g);
    scan_.expect("=");
    options.initializer = initializer();
    const Variable v = terms_.guard(at, [&] { return g.variable(name, t, options, {}); });
    note_source(g, v.value(), at);
    names.values.emplace(fmt::format("@{}", name), v.value());
    if (scan_.take_word("alias")) {
      do {
        scan_.expect("@");
        const std::size_t alias_at = scan_.position();
        const std::string alias = scan_.name("another name of the variable");
        terms_.guard(alias_at, [&] { g.alias(alias, v, {}); });
      } while (scan_.take(","));
    }
  }

  Initializer initializer() {
    static constexpr std::pair<std::string_view, Initializer::Kind> kKinds[] = {
        {"constant", Initializer::Kind::constant},
        {"normal", Initializer::Kind::normal},
        {"uniform", Initializer::Kind::uniform},
        {"truncated_normal", Initializer::Kind::truncated_normal},
        {"key", Initializer::Kind::key}};
    const std::size_t at = scan_.position();
    const std::string_view word = scan_.word("an initializer");
    for (const auto& [name, kind] : kKinds) {
      if (name != word) continue;
      Initializer result{kind, 0, 0};
      scan_.expect("(");
      if (kind != Initializer::Kind::key) result.a = terms_.real();
      if (kind != Initializer::Kind::key && kind != Initializer::Kind::constant) {
        scan_.expect(",");
        result.b = terms_.real();
      }
      scan_.expect(")");
      return result;
    }
    scan_.fail_at(at, fmt::format("expected constant, normal, uniform, truncated_normal or key, "
                                  "found {}",
                                  quote(word)));
  }

  void function(Graph& g, std::size_t at, int depth) {
    if (depth >= kMaxNesting) {
      scan_.fail_at(at, fmt::format("functions are nested deeper than {}", kMaxNesting));
    }
    Function f;
    scan_.expect("@");
    f.name = scan_.name("the name of a function");
    std::vector<std::pair<std::size_t, std::string>> inputs;
    scan_.expect("(");
    if (!scan_.take(")")) {
      do {
        scan_.expect("%");
        const std::size_t name_at = scan_.position();
        inputs.emplace_back(name_at, scan_.name("the name of an input"));
      } while (scan_.take(","));
      scan_.expect(")");
    }
    if (scan_.take_word("gradient")) {
      scan_.expect("@");
      f.gradient = scan_.name("the name of a function");
    }
    scan_.expect("{");
    f.body = std::make_unique<Graph>(options_.ops);
    Names names;
    statements(*f.body, names, depth + 1);
    for (const auto& [name_at, name] : inputs) {
      const auto it = names.values.find(fmt::format("%{}", name));
      if (it == names.values.end()) {
        scan_.fail_at(name_at, fmt::format("the function does not declare input %{}", name));
      }
      f.inputs.push_back(it->second);
    }
    if (!scan_.take_word("return")) scan_.expected("a statement or \"return\"");
    do {
      f.outputs.push_back(value(names));
    } while (scan_.take(","));
    scan_.expect("}");
    terms_.guard(at, [&] {
      g.add_function(std::move(f), {});
      return 0;
    });
  }

  void node(Graph& g, Names& names) {
    std::vector<std::pair<std::size_t, std::string>> outputs;
    do {
      const std::size_t at = scan_.position();
      scan_.expect("%");
      outputs.emplace_back(at, fmt::format("%{}", scan_.word("the name of a value")));
    } while (scan_.take(","));
    scan_.expect("=");
    const std::size_t at = scan_.position();
    if (terms_.at_tensor()) {
      define(names, outputs, constant(g, at).node(), "a constant", at);
      return;
    }
    const OpRecord& op = record();
    std::vector<Value> operands = this->operands(g, names);
    Attributes attributes;
    if (scan_.take("{")) {
      do {
        attribute(g, op, attributes);
      } while (scan_.take(","));
      scan_.expect("}");
    }
    std::uint32_t instance = 0;
    if (scan_.take_word("instance")) {
      instance = static_cast<std::uint32_t>(
          terms_.whole(0, std::numeric_limits<std::uint32_t>::max() - 1));
    }
    check_function(g, op, attributes, at);
    Node& made = terms_.guard(at, [&]() -> std::reference_wrapper<Node> {
      return std::ref(g.apply(op, std::move(operands), std::move(attributes), {}, instance));
    });
    note_source(g, made.output(0), at);
    define(names, outputs, made, op.name, at);
    if (!scan_.take(":")) return;
    for (int i = 0; i < made.output_count(); ++i) {
      if (i > 0) scan_.expect(",");
      const std::size_t type_at = scan_.position();
      const ValueType declared = terms_.type(g);
      if (declared == made.type(i)) continue;
      scan_.fail_at(type_at, fmt::format("{} returns {}, but the text declares {}", op.name,
                                         made.type(i).str(), declared.str()));
    }
  }

  void define(Names& names, const std::vector<std::pair<std::size_t, std::string>>& outputs,
              Node& made, std::string_view what, std::size_t at) {
    if (made.output_count() != static_cast<int>(outputs.size())) {
      scan_.fail_at(at, fmt::format("{} has {} outputs, but {} are named", what,
                                    made.output_count(), outputs.size()));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto& [name_at, name] = outputs[i];
      if (names.values.emplace(name, made.output(static_cast<int>(i))).second) continue;
      scan_.fail_at(name_at, fmt::format("{} is defined twice", name));
    }
  }

  Value constant(Graph& g, std::size_t at) {
    const Tensor value = terms_.tensor(g);
    const Value made = terms_.guard(at, [&] { return g.constant(value, {}); });
    note_source(g, made, at);
    return made;
  }

  // An operand in parentheses: a value, or a number, which is converted to the dtype of the other
  // operands.
  struct Operand {
    std::size_t at = 0;
    Value value;
    std::string_view number;
  };

  std::vector<Value> operands(Graph& g, const Names& names) {
    std::vector<Operand> found;
    scan_.expect("(");
    if (!scan_.take(")")) {
      do {
        found.push_back(operand(g, names));
      } while (scan_.take(","));
      scan_.expect(")");
    }
    std::vector<Value> values;
    for (const Operand& o : found) values.push_back(o.value);
    const std::optional<DType> like = literal_dtype(values);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i].number.empty()) values[i] = number(g, found[i], like);
    }
    return values;
  }

  Operand operand(Graph& g, const Names& names) {
    Operand result{scan_.position(), {}, {}};
    const char first = scan_.peek();
    if (first == '%' || first == '@') {
      result.value = value(names);
    } else if (terms_.at_tensor()) {
      result.value = constant(g, result.at);
    } else if (!scan_.take_word("_")) {
      const bool number =
          first == '-' || (first >= '0' && first <= '9') || (first >= 'a' && first <= 'z');
      if (!number) scan_.expected("a value (%...), a variable (@...) or a number");
      result.number = scan_.number("a number");
    }
    return result;
  }

  Value number(Graph& g, const Operand& operand, std::optional<DType> like) {
    const bool truth = operand.number == "true" || operand.number == "false";
    if (!truth && !like) {
      scan_.fail_at(operand.at,
                    fmt::format("the dtype of {0} cannot be inferred from another operand; write "
                                "the number with its type: f32[] {{{0}}}",
                                operand.number));
    }
    const DType dtype = truth ? DType::boolean : *like;
    Tensor value = Tensor::empty(dtype, {});
    if (!parse_element(operand.number, value, 0)) {
      scan_.fail_at(operand.at,
                    fmt::format("expected a number of dtype {} like the other operands, found {}",
                                dtype_name(dtype), quote(operand.number)));
    }
    const Value made = g.constant(value, {});
    note_source(g, made, operand.at);
    return made;
  }

  static constexpr std::string_view kCustomOpsHint = " (pass custom ops in ParseOptions::ops)";

  const OpRecord& record() {
    const std::size_t at = scan_.position();
    const std::string_view name = scan_.word("the name of an op");
    const OpRecord* op = nullptr;
    if (scan_.take("!")) {
      const std::int64_t version = terms_.whole(1, std::numeric_limits<int>::max());
      op = options_.ops->find(name, static_cast<int>(version));
      if (op == nullptr) {
        scan_.fail_at(at, fmt::format("unknown op {} version {}{}", name, version, kCustomOpsHint));
      }
    } else {
      op = options_.ops->find(name);
      if (op == nullptr) {
        try {
          options_.ops->at(name);  // throws an error that suggests the closest name
        } catch (const Error& e) {
          scan_.fail_at(at, fmt::format("{}{}", e.what(), kCustomOpsHint));
        }
      }
    }
    if (op->has(Trait::leaf) && op->name != "constant") {
      scan_.fail_at(
          at, fmt::format("{0} cannot be applied like an op; write \"{0} ...\" instead", op->name));
    }
    return *op;
  }

  // Graph::apply() would fail too, but this message names the function and its position in the
  // text.
  void check_function(const Graph& g, const OpRecord& op, const Attributes& attributes,
                      std::size_t at) {
    for (const std::string& attribute : op.bodies) {
      const Attribute* body = attributes.find(attribute);
      const auto* name = body == nullptr ? nullptr : std::get_if<std::string>(body);
      if (name != nullptr && !g.has_function(*name)) {
        scan_.fail_at(at, fmt::format("function @{} is not defined", quote_if_needed(*name)));
      }
    }
  }

  void attribute(Graph& g, const OpRecord& op, Attributes& attributes) {
    const std::size_t at = scan_.position();
    const std::string_view name = scan_.word("the name of an attribute");
    if (attributes.find(name) != nullptr) {
      scan_.fail_at(at, fmt::format("attribute {} is given twice", name));
    }
    for (const AttributeSpec& spec : op.attributes) {
      if (spec.name != name) continue;
      scan_.expect("=");
      attributes.set(name, terms_.attribute(g, spec.default_value, op, name));
      return;
    }
    std::string known;
    for (const AttributeSpec& spec : op.attributes) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", spec.name);
    }
    scan_.fail_at(at, fmt::format("op {} has no attribute {}; it has: {}", op.name, name,
                                  known.empty() ? "none" : known));
  }

  void program(Module& module, Names& names) {
    module.program = Program(scan_.name("the name of the program"));
    scan_.expect("{");
    for (;;) {
      const std::size_t at = scan_.position();
      if (scan_.take_word("precision")) {
        const std::size_t word_at = scan_.position();
        const std::string_view word = scan_.word("a precision");
        module.program.precision(terms_.guard(word_at, [&] { return parse_precision(word); }));
      } else if (scan_.take_word("batch_invariant")) {
        module.program.batch_invariant();
      } else if (scan_.take_word("shards")) {
        Shards shards{.count = static_cast<int>(terms_.whole(1, std::numeric_limits<int>::max()))};
        if (!scan_.take_word("along")) scan_.expected("\"along\" and the symbol of an axis");
        shards.axis = scan_.name("the symbol of an axis");
        terms_.guard(at, [&] { module.program.shards(shards); });
      } else if (scan_.take_word("output")) {
        const std::string name = scan_.name("the name of an output");
        scan_.expect("=");
        const Value v = value(names);
        terms_.guard(at, [&] { module.program.output(name, v, {}); });
      } else if (scan_.take_word("update")) {
        if (scan_.peek() != '@') scan_.expected("a variable");
        const Value variable = value(names);
        scan_.expect("=");
        const Value v = value(names);
        terms_.guard(at, [&] { module.program.update(Variable(variable), v, {}); });
      } else {
        break;
      }
    }
    if (!scan_.take("}")) {
      scan_.expected("precision, batch_invariant, shards, output, update or \"}\"");
    }
  }

  Value value(const Names& names) {
    const std::size_t at = scan_.position();
    std::string key;
    if (scan_.take("@")) {
      key = fmt::format("@{}", scan_.name("the name of a variable"));
    } else {
      if (!scan_.take("%")) scan_.expected("a value (%...) or a variable (@...)");
      const bool number = scan_.peek() >= '0' && scan_.peek() <= '9';
      const std::string name =
          number ? std::string(scan_.word("a number")) : scan_.name("the name of a value");
      key = fmt::format("%{}", name);
    }
    const auto it = names.values.find(key);
    if (it == names.values.end()) scan_.fail_at(at, fmt::format("{} is not defined", key));
    return it->second;
  }

  const ParseOptions& options_;
  Scanner scan_;
  Terms terms_{scan_, options_};
};

}  // namespace

Module parse_text(std::string_view text, const ParseOptions& options) {
  return Parser(text, options).parse();
}

}  // namespace weft
